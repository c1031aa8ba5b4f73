// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// separate gives an object of a built-in kind the fields that a write of its subresource does not change. It returns an
// error for each one that the write may not change. live is nil for a new object.
func (w *write) separate(obj, live *unstructured.Unstructured) field.ErrorList {
	if live == nil {
		w.separateNew(obj)
		return nil
	}
	live = live.DeepCopy() // the object gets parts of it, which the rules of its kind change
	switch {
	case w.subresource == "status":
		keepOthers(obj, live, "status")
		w.keepMetadata(obj, live)
		if isSigningRequest(w.kind) {
			return separateConditions(obj, live)
		}
	case w.subresource == "approval":
		return separateApproval(obj, live)
	case w.subresource == "resize":
		return separateResize(obj, live)
	case w.subresource == "ephemeralcontainers":
		separateEphemeral(obj, live)
	case isSigningRequest(w.kind):
		obj.Object["spec"], obj.Object["status"] = live.Object["spec"], live.Object["status"]
	case w.kind.has("status"):
		obj.Object["status"] = live.Object["status"]
	}
	return nil
}

// separateNew removes the status of a new object.
func (w *write) separateNew(obj *unstructured.Unstructured) {
	if w.seed || w.kind.Kind == "Node" || !w.kind.has("status") {
		return
	}
	obj.Object["status"] = map[string]any{}
	if isSigningRequest(w.kind) {
		w.setRequester(obj)
	}
}

// keepOthers keeps all fields of live except for the metadata and some more.
func keepOthers(obj, live *unstructured.Unstructured, names ...string) {
	kept := maps.Clone(live.Object)
	for _, name := range append(names, "metadata") {
		kept[name] = obj.Object[name]
	}
	obj.Object = kept
}

// keepMetadata copies the metadata that a write of the status does not change, from the strategies in
// https://github.com/kubernetes/kubernetes/tree/v1.37.2/pkg/registry.
func (w *write) keepMetadata(obj, live *unstructured.Unstructured) {
	switch w.kind.Kind {
	case "Deployment":
		obj.SetLabels(live.GetLabels())
	case "Pod":
		obj.SetOwnerReferences(live.GetOwnerReferences())
	case "CSINode", "DeviceTaintRule", "FlowSchema", "PodCertificateRequest", "PriorityLevelConfiguration",
		"ResourceClaim", "ServiceCIDR", "StorageVersionMigration", "ValidatingAdmissionPolicy", "VolumeAttachment":
		managed := obj.GetManagedFields()
		obj.Object["metadata"] = live.Object["metadata"]
		obj.SetManagedFields(managed)
	}
}

// separateEphemeral keeps everything except for the ephemeral containers of a pod.
func separateEphemeral(obj, live *unstructured.Unstructured) {
	added, ok, _ := unstructured.NestedSlice(obj.Object, "spec", "ephemeralContainers")
	takeSpec(obj, live)
	unstructured.RemoveNestedField(obj.Object, "spec", "ephemeralContainers")
	if ok {
		setNested(obj, added, "spec", "ephemeralContainers")
	}
}

// separateResize keeps everything except for the resources of a pod and its containers, which must be the same ones.
func separateResize(obj, live *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	resized := obj.DeepCopy()
	takeSpec(obj, live)
	copyField(resized.Object, obj.Object, "spec", "resources")
	for _, list := range []string{"containers", "initContainers"} {
		from, _, _ := unstructured.NestedSlice(resized.Object, "spec", list)
		to, _, _ := unstructured.NestedSlice(obj.Object, "spec", list)
		path := field.NewPath("spec", list)
		if len(from) != len(to) {
			errs = append(errs, field.Forbidden(path, list+" may not be added or removed on resize"))
			continue
		}
		for i := range to {
			a, _ := from[i].(map[string]any)
			b, _ := to[i].(map[string]any)
			if a["name"] != b["name"] {
				errs = append(errs, field.Forbidden(path.Index(i).Child("name"), list+" may not be renamed or reordered on resize"))
			}
			copyField(a, b, "resources")
			copyField(a, b, "resizePolicy")
		}
		if len(to) > 0 {
			setNested(obj, to, "spec", list)
		}
	}
	return errs
}

// takeSpec gives a pod the fields of live, except for the managed fields.
func takeSpec(obj, live *unstructured.Unstructured) {
	keepOthers(obj, live)
	metav1.ResetObjectMetaForStatus(obj, live)
}

// copyField sets a field to that of another object, or removes it. Its parents are objects.
func copyField(from, to map[string]any, path ...string) {
	value, ok, _ := unstructured.NestedFieldCopy(from, path...)
	if !ok {
		unstructured.RemoveNestedField(to, path...)
		return
	}
	if err := unstructured.SetNestedField(to, value, path...); err != nil {
		panic(err)
	}
}
