// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults_test

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// omit removes the fields that are not compared, unless a manifest sets them.
func omit(obj, manifest map[string]any) {
	for _, path := range append(serverFields(), admissionFields()...) {
		remove(obj, manifest, strings.Split(path, "."))
	}
	if spec, _ := manifest["spec"].(map[string]any); spec["serviceAccountName"] == nil && spec["serviceAccount"] == nil {
		unstructured.RemoveNestedField(obj, "spec", "serviceAccountName") // the plugin ServiceAccount sets it
		unstructured.RemoveNestedField(obj, "spec", "serviceAccount")
	}
	for _, name := range []string{"metadata.finalizers", "spec.tolerations", "spec.taints", "spec.volumes"} {
		path := strings.Split(name, ".")
		if list, ok, _ := unstructured.NestedSlice(obj, path...); ok {
			list = slices.DeleteFunc(list, isAdmitted)
			if len(list) == 0 {
				unstructured.RemoveNestedField(obj, path...)
			} else {
				_ = unstructured.SetNestedSlice(obj, list, path...) // its parents are objects
			}
		}
	}
}

// serverFields returns the fields that differ between two requests, or that kubetest sets elsewhere.
func serverFields() []string {
	return []string{
		"metadata.creationTimestamp", "metadata.generation", "metadata.managedFields", "metadata.resourceVersion",
		"metadata.uid", "status.conditions[].lastTransitionTime", "status.lastPhaseTransitionTime",
		"spec.devices[].taints[].timeAdded", "spec.taint.timeAdded",
		// of the user of the request
		"spec.username", "spec.uid", "spec.groups", "spec.extra",
	}
}

// admissionFields returns the fields that admission plugins or allocators set.
func admissionFields() []string {
	return []string{
		// the plugins ServiceAccount and Priority
		"spec.priority", "spec.preemptionPolicy",
		"spec.containers[].volumeMounts", "spec.initContainers[].volumeMounts",
		// the plugin DefaultStorageClass
		"spec.storageClassName",
		// the allocators of services
		"spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy", "spec.healthCheckNodePort",
		"spec.ports[].nodePort",
	}
}

// isAdmitted returns whether an admission plugin has added an element of a list.
func isAdmitted(element any) bool {
	switch element := element.(type) {
	case string: // StorageObjectInUseProtection
		return strings.HasPrefix(element, "kubernetes.io/") && strings.HasSuffix(element, "-protection")
	case map[string]any: // DefaultTolerationSeconds, TaintNodesByCondition, ServiceAccount
		key, _ := element["key"].(string)
		name, _ := element["name"].(string)
		return strings.HasPrefix(key, "node.kubernetes.io/") || strings.HasPrefix(name, "kube-api-access-")
	default:
		return false
	}
}

// remove removes a field that a manifest does not set. The suffix [] of a name means each element of a list.
func remove(obj, manifest map[string]any, path []string) {
	name, isList := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		if _, ok := manifest[name]; !ok {
			delete(obj, name)
		}
		return
	}
	if !isList {
		child, _ := obj[name].(map[string]any)
		other, _ := manifest[name].(map[string]any)
		remove(child, other, path[1:])
		return
	}
	list, _ := obj[name].([]any)
	others, _ := manifest[name].([]any)
	for i, element := range list {
		child, _ := element.(map[string]any)
		var other map[string]any
		if i < len(others) {
			other, _ = others[i].(map[string]any)
		}
		remove(child, other, path[1:])
	}
}
