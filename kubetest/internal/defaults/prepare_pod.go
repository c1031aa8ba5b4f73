// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// newPod returns the rule of a new pod.
func newPod() rule {
	return all(
		ensure("status", zero("phase", "Pending")),
		within("spec", podResources),
		qualityOfService,
		schedulingGates,
		labelKeys,
		appArmor,
	)
}

// qualityOfService sets the class of a pod, see
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func qualityOfService(pod map[string]any) {
	spec := object(pod, "spec")
	parts := append(objects(spec, "containers"), objects(spec, "initContainers")...)
	if object(spec, "resources") != nil {
		parts = []map[string]any{spec}
	}
	requests, limits := map[string]resource.Quantity{}, map[string]resource.Quantity{}
	guaranteed := true
	for _, part := range parts {
		add(requests, compute(object(part, "resources", "requests")))
		limit := compute(object(part, "resources", "limits"))
		add(limits, limit)
		guaranteed = guaranteed && len(limit) == 2
	}
	class := "Burstable"
	switch {
	case len(requests)+len(limits) == 0:
		class = "BestEffort"
	case guaranteed && sameQuantities(requests, limits):
		class = "Guaranteed"
	}
	within("status", zero("qosClass", class))(pod)
}

// compute returns the positive amounts of CPU and memory.
func compute(list map[string]any) map[string]resource.Quantity {
	result := map[string]resource.Quantity{}
	for name, q := range quantities(list) {
		if q.Sign() > 0 && (name == "cpu" || name == "memory") {
			result[name] = q
		}
	}
	return result
}

func sameQuantities(a, b map[string]resource.Quantity) bool {
	for name, q := range a {
		if other, ok := b[name]; !ok || q.Cmp(other) != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

// schedulingGates sets the condition of a pod that must not be scheduled yet.
func schedulingGates(pod map[string]any) {
	if isZero(object(pod, "spec")["schedulingGates"]) {
		return
	}
	within("status", zero("conditions", []any{map[string]any{
		"type":          "PodScheduled",
		"status":        "False",
		"reason":        "SchedulingGated",
		"message":       "Scheduling is blocked due to non-empty scheduling gates",
		"lastProbeTime": nil,
	}}), within("conditions[]", now("lastTransitionTime")))(pod)
}

// labelKeys adds the labels of a pod whose keys are in matchLabelKeys or mismatchLabelKeys to the selectors in the same
// constraint.
func labelKeys(pod map[string]any) {
	merge := func(constraint map[string]any) {
		selector := object(constraint, "labelSelector")
		if selector == nil {
			return
		}
		labels := object(pod, "metadata", "labels")
		terms, _ := selector["matchExpressions"].([]any)
		terms = append(slices.Clip(terms), requirements(constraint["matchLabelKeys"], "In", labels)...)
		terms = append(terms, requirements(constraint["mismatchLabelKeys"], "NotIn", labels)...)
		if len(terms) > 0 {
			selector["matchExpressions"] = terms
		}
	}
	terms := all(
		within("requiredDuringSchedulingIgnoredDuringExecution[]", merge),
		within("preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm", merge),
	)
	within("spec",
		within("affinity.podAffinity", terms),
		within("affinity.podAntiAffinity", terms),
		within("topologySpreadConstraints[]", merge),
	)(pod)
}

func requirements(keys any, operator string, labels map[string]any) []any {
	list, _ := keys.([]any)
	var result []any
	for _, key := range list {
		name, _ := key.(string)
		if value, ok := labels[name]; ok {
			result = append(result, map[string]any{"key": name, "operator": operator, "values": []any{value}})
		}
	}
	return result
}

// appArmor sets the AppArmor profiles of containers that only have the deprecated annotation.
func appArmor(pod map[string]any) {
	spec := object(pod, "spec")
	if text(object(spec, "os"), "name") == "windows" {
		return
	}
	annotations := object(pod, "metadata", "annotations")
	of := func(container map[string]any) {
		value := text(annotations, "container.apparmor.security.beta.kubernetes.io/"+text(container, "name"))
		profile := appArmorProfile(value)
		if profile == nil || object(container, "securityContext")["appArmorProfile"] != nil ||
			reflect.DeepEqual(profile, object(spec, "securityContext", "appArmorProfile")) {
			return
		}
		ensure("securityContext", unset("appArmorProfile", profile))(container)
	}
	within("spec", within("initContainers[]", of), within("containers[]", of), within("ephemeralContainers[]", of))(pod)
}

// appArmorProfile returns the profile of an annotation, or nil.
func appArmorProfile(annotation string) map[string]any {
	name, local := strings.CutPrefix(annotation, "localhost/")
	switch {
	case annotation == "unconfined":
		return map[string]any{"type": "Unconfined"}
	case annotation == "runtime/default":
		return map[string]any{"type": "RuntimeDefault"}
	case local && name != "" && name == strings.TrimSpace(name) && len(name) <= 4095:
		return map[string]any{"type": "Localhost", "localhostProfile": name}
	default:
		return nil
	}
}
