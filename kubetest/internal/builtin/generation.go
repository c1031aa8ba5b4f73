// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// generations lists the kinds of objects whose metadata.generation the server increments, as Kind.group, and the fields
// whose changes increment it. The source is the method PrepareForUpdate of each strategy in
// k8s.io/kubernetes/pkg/registry. CSIDriver is the only kind of them without a generation in new objects.
const generations = `
CronJob.batch: spec
CSIDriver.storage.k8s.io: spec
CustomResourceDefinition.apiextensions.k8s.io: spec
DaemonSet.apps: spec
Deployment.apps: spec metadata.annotations
DeviceClass.resource.k8s.io: spec
DeviceTaintRule.resource.k8s.io: spec
EndpointSlice.discovery.k8s.io: addressType endpoints ports metadata.labels
FlowSchema.flowcontrol.apiserver.k8s.io: spec
HorizontalPodAutoscaler.autoscaling: spec
Ingress.networking.k8s.io: spec
IngressClass.networking.k8s.io: spec
Job.batch: spec
MutatingAdmissionPolicy.admissionregistration.k8s.io: spec
MutatingAdmissionPolicyBinding.admissionregistration.k8s.io: spec
MutatingWebhookConfiguration.admissionregistration.k8s.io: webhooks
NetworkPolicy.networking.k8s.io: spec
Pod: spec
PodDisruptionBudget.policy: spec
PodTemplate: template
PriorityClass.scheduling.k8s.io:
PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io: spec
ReplicaSet.apps: spec
ReplicationController: spec
ResourceSlice.resource.k8s.io: spec
StatefulSet.apps: spec
ValidatingAdmissionPolicy.admissionregistration.k8s.io: spec
ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io: spec
ValidatingWebhookConfiguration.admissionregistration.k8s.io: webhooks
`

// desired is the table generations.
//
//nolint:gochecknoglobals // a cache
var desired = sync.OnceValue(func() map[schema.GroupKind][]string {
	fields := map[schema.GroupKind][]string{}
	for line := range strings.Lines(strings.TrimSpace(generations)) {
		kind, names, _ := strings.Cut(line, ":")
		fields[schema.ParseGroupKind(kind)] = strings.Fields(names)
	}
	return fields
})

// HasGeneration reports whether the server sets metadata.generation to 1 in new objects of a kind. In new objects of
// other kinds it keeps the generation that the client sends.
func HasGeneration(gvk schema.GroupVersionKind) bool {
	_, ok := desired()[gvk.GroupKind()]
	return ok && gvk.Kind != "CSIDriver"
}

// Changed reports whether an update from one object to another increments metadata.generation. Values that are equal
// for the server are not a change, such as a missing list and an empty list, or 1 and 1000m CPUs. Updates of the
// subresource status never increment the generation; don't call Changed for them.
func Changed(gvk schema.GroupVersionKind, before, after map[string]any) bool {
	fields, s := desired()[gvk.GroupKind()], model(gvk)
	if len(fields) == 0 || s == nil {
		return false
	}
	return !same(s, before, after, fields)
}

// SameField reports whether a field, such as spec.template, has the same value in two objects. It is false for a kind
// that is not built in.
func SameField(gvk schema.GroupVersionKind, before, after map[string]any, field string) bool {
	s := model(gvk)
	return s != nil && same(s, before, after, []string{field})
}

func same(s *spec.Schema, before, after map[string]any, fields []string) bool {
	before, after = normalObject(s, before), normalObject(s, after)
	for _, field := range fields {
		path := strings.Split(field, ".")
		a, _, _ := unstructured.NestedFieldNoCopy(before, path...)
		b, _, _ := unstructured.NestedFieldNoCopy(after, path...)
		if !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}
