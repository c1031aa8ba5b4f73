// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

func TestNewObjectsOfSomeKindsHaveAGeneration(t *testing.T) {
	tests := []struct {
		kind schema.GroupVersionKind
		want bool
	}{
		{pod, true},
		{deployment, true},
		{definition, true},
		{schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}, true},
		{schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"}, false},
		{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, false},
		{schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, true},
		{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Pod"}, false},
	}
	for _, test := range tests {
		if got := builtin.HasGeneration(test.kind); got != test.want {
			t.Errorf("HasGeneration(%s) = %v, want %v", test.kind, got, test.want)
		}
	}
}

// The wanted values are those of kube-apiserver 1.37.2.
func TestChangesOfTheDesiredStateIncrementTheGeneration(t *testing.T) {
	slice := schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
	webhook := schema.GroupVersionKind{
		Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration",
	}
	tests := []struct {
		name          string
		kind          schema.GroupVersionKind
		before, after string
		want          bool
	}{
		{"the spec", pod, `{"spec":{}}`, `{"spec":{"activeDeadlineSeconds":1}}`, true},
		{"the status", pod, `{"status":{}}`, `{"status":{"phase":"Running"}}`, false},
		{"labels", pod, `{"metadata":{}}`, `{"metadata":{"labels":{"a":"b"}}}`, false},
		{"annotations", pod, `{"metadata":{}}`, `{"metadata":{"annotations":{"a":"b"}}}`, false},
		{"annotations of a deployment", deployment, `{"metadata":{}}`, `{"metadata":{"annotations":{"a":"b"}}}`, true},
		{"labels of a deployment", deployment, `{"metadata":{}}`, `{"metadata":{"labels":{"a":"b"}}}`, false},
		{"labels of an endpoint slice", slice, `{"metadata":{}}`, `{"metadata":{"labels":{"a":"b"}}}`, true},
		{"annotations of an endpoint slice", slice, `{"metadata":{}}`, `{"metadata":{"annotations":{"a":"b"}}}`, false},
		{"endpoints", slice, `{"endpoints":[]}`, `{"endpoints":[{"addresses":["10.0.0.1"]}]}`, true},
		{"no ports", slice, `{}`, `{"ports":[]}`, false},
		{"webhooks", webhook, `{"webhooks":[]}`, `{"webhooks":[{"name":"a"}]}`, true},
		{
			"the template of a pod template",
			schema.GroupVersionKind{Version: "v1", Kind: "PodTemplate"},
			`{}`, `{"template":{"metadata":{"labels":{"a":"b"}}}}`, true,
		},
		{
			"a priority class",
			schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
			`{}`, `{"description":"x"}`, false,
		},
		{
			"a CSI driver",
			schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"},
			`{"spec":{}}`, `{"spec":{"requiresRepublish":true}}`, true,
		},
		{
			"an autoscaler",
			schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
			`{"spec":{"maxReplicas":1}}`, `{"spec":{"maxReplicas":2}}`, true,
		},
		{
			"a device taint rule",
			schema.GroupVersionKind{Group: "resource.k8s.io", Version: "v1", Kind: "DeviceTaintRule"},
			`{"spec":{}}`, `{"spec":{"deviceSelector":{"driver":"d"}}}`, true,
		},
		{"a config map", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, `{}`, `{"data":{"a":"b"}}`, false},
		{
			"a kind that is not built in",
			schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
			`{}`, `{"spec":{"a":"b"}}`, false,
		},

		{"an empty list", pod, `{"spec":{}}`, `{"spec":{"tolerations":[]}}`, false},
		{"an empty map", pod, `{"spec":{}}`, `{"spec":{"nodeSelector":{}}}`, false},
		{"an empty string", pod, `{"spec":{}}`, `{"spec":{"hostname":""}}`, false},
		{"an empty value in a map", pod, `{"spec":{}}`, `{"spec":{"nodeSelector":{"a":""}}}`, true},
		{"null", pod, `{"spec":{}}`, `{"spec":{"affinity":null}}`, false},
		{"a pointer to an empty struct", pod, `{"spec":{}}`, `{"spec":{"affinity":{}}}`, true},
		{
			"an empty struct", pod, `{"spec":{"containers":[{"name":"c"}]}}`,
			`{"spec":{"containers":[{"name":"c","resources":{"limits":{}}}]}}`, false,
		},
		{"zero is a number", deployment, `{"spec":{}}`, `{"spec":{"replicas":0}}`, true},
		{"a number as a float", deployment, `{"spec":{"replicas":3}}`, `{"spec":{"replicas":3.0}}`, false},
		{
			"an equal quantity", pod, `{"spec":{"overhead":{"cpu":"1","memory":"1Ki"}}}`,
			`{"spec":{"overhead":{"cpu":"1000m","memory":1024}}}`, false,
		},
		{"another quantity", pod, `{"spec":{"overhead":{"cpu":"1"}}}`, `{"spec":{"overhead":{"cpu":"1001m"}}}`, true},
		{"an invalid quantity", pod, `{"spec":{"overhead":{"cpu":"1"}}}`, `{"spec":{"overhead":{"cpu":"x"}}}`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := object(t, test.before), object(t, test.after)
			if got := builtin.Changed(test.kind, before, after); got != test.want {
				t.Errorf("Changed(%s, %s) = %v, want %v", test.before, test.after, got, test.want)
			}
			if got := text(t, before); got != text(t, object(t, test.before)) {
				t.Errorf("Changed() changes the object to %s", got)
			}
		})
	}
}
