// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/wait"
)

func TestReadyKnowsTheRulesOfKinds(t *testing.T) {
	const (
		deployment = `"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}`
		replicas   = `"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generation": 2}`
		set        = `"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 2}`
		daemons    = `"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 2}`
		controller = `"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"generation": 2}`
		job        = `"apiVersion": "batch/v1", "kind": "Job"`
		pod        = `"apiVersion": "v1", "kind": "Pod"`
		claim      = `"apiVersion": "v1", "kind": "PersistentVolumeClaim"`
		service    = `"apiVersion": "v1", "kind": "Service"`
		definition = `"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"`
		widget     = `"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generation": 2}`
	)
	for _, tt := range []struct{ name, in, want string }{
		{
			"a deleted object", `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}`,
			"it is being deleted",
		},
		{"a kind without a status", `{"kind": "ConfigMap", "apiVersion": "v1"}`, ""},
		{
			"an old status", `{` + deployment + `, "status": {"observedGeneration": 1}}`,
			"the status is of generation 1, but the object has generation 2",
		},
		{"a new deployment", `{` + deployment + `}`, "its controller has not observed it"},
		{"a deployment without replicas", `{` + deployment + `, "status": {"observedGeneration": 2}}`, "0 of 1 replicas are updated"},
		{
			"a deployment that is updated",
			`{` + deployment + `, "spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 2}}`,
			"2 of 3 replicas are updated",
		},
		{
			"a deployment with old replicas",
			`{` + deployment + `, "spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 4, "updatedReplicas": 3}}`,
			"1 old replicas are being deleted",
		},
		{
			"a deployment that starts",
			`{` + deployment + `, "spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3,
				"availableReplicas": 1}}`,
			"1 of 3 replicas are available",
		},
		{
			"a deployment that has failed",
			`{` + deployment + `, "status": {"observedGeneration": 2, "conditions": [{"type": "Progressing", "status": "False",
				"reason": "ProgressDeadlineExceeded"}]}}`,
			"condition Progressing is False: ProgressDeadlineExceeded: 0 of 1 replicas are updated",
		},
		{
			"a paused deployment",
			`{` + deployment + `, "spec": {"paused": true}, "status": {"observedGeneration": 2, "conditions": [
				{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}}`,
			"it is paused: 0 of 1 replicas are updated",
		},
		{
			"a deployment that was paused when it was complete",
			`{` + deployment + `, "spec": {"paused": true}, "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1,
				"availableReplicas": 1}}`,
			"",
		},
		{
			"a deployment beyond its quota",
			`{` + deployment + `, "status": {"observedGeneration": 2, "conditions": [{"type": "ReplicaFailure", "status": "True",
				"reason": "FailedCreate", "message": "exceeded quota"}]}}`,
			"0 of 1 replicas are updated: condition ReplicaFailure is True: FailedCreate: exceeded quota",
		},
		{
			"a deployment that is scaled down",
			`{` + deployment + `, "spec": {"replicas": 1}, "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3,
				"availableReplicas": 3}}`,
			"2 surplus replicas are being deleted",
		},
		{
			"a deployment that is ready",
			`{` + deployment + `, "spec": {"replicas": 1}, "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1,
				"availableReplicas": 1}}`,
			"",
		},
		{
			"a deployment of 0 replicas", `{` + deployment + `, "spec": {"replicas": 0}, "status": {"observedGeneration": 2}}`, "",
		},
		{"a new stateful set", `{` + set + `}`, "its controller has not observed it"},
		{
			"a stateful set that is updated",
			`{` + set + `, "spec": {"replicas": 3}, "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1,
				"availableReplicas": 3, "currentRevision": "a", "updateRevision": "b"}}`,
			"1 of 3 replicas are updated",
		},
		{
			"a stateful set with a partition",
			`{` + set + `, "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
				"status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 3,
				"currentRevision": "a", "updateRevision": "b"}}`,
			"",
		},
		{
			"a stateful set that is updated by hand",
			`{` + set + `, "spec": {"updateStrategy": {"type": "OnDelete"}}, "status": {"observedGeneration": 2, "replicas": 1,
				"availableReplicas": 1, "currentRevision": "a", "updateRevision": "b"}}`,
			"",
		},
		{
			"a stateful set with too many replicas",
			`{` + set + `, "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}}`,
			"2 surplus replicas are being deleted",
		},
		{
			"a stateful set that starts", `{` + set + `, "spec": {"replicas": 2}, "status": {"observedGeneration": 2, "replicas": 2,
				"updatedReplicas": 2, "availableReplicas": 1}}`,
			"1 of 2 replicas are available",
		},
		{
			"a stateful set with a replica of a revision that was rolled back",
			`{` + set + `, "spec": {"replicas": 2}, "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1,
				"availableReplicas": 2, "currentRevision": "a", "updateRevision": "a"}}`,
			"1 of 2 replicas are updated",
		},
		{
			"a stateful set that updates no replica",
			`{` + set + `, "spec": {"updateStrategy": {"rollingUpdate": {"partition": 7}}}, "status": {"observedGeneration": 2,
				"replicas": 1, "availableReplicas": 1}}`,
			"",
		},
		{"a new replica set", `{` + replicas + `}`, "its controller has not observed it"},
		{
			"a replica set that starts",
			`{` + replicas + `, "spec": {"replicas": 2}, "status": {"observedGeneration": 2, "replicas": 2, "availableReplicas": 1}}`,
			"1 of 2 replicas are available",
		},
		{
			"a replica set that is scaled down", `{` + replicas + `, "spec": {"replicas": 0}, "status": {"observedGeneration": 2, "replicas": 2}}`,
			"2 surplus replicas are being deleted",
		},
		{
			"a replica set that is ready",
			`{` + replicas + `, "status": {"observedGeneration": 2, "replicas": 1, "availableReplicas": 1}}`, "",
		},
		{
			"a replica set whose replicas do not have its labels",
			`{` + replicas + `, "status": {"observedGeneration": 2, "replicas": 1, "fullyLabeledReplicas": 0,
				"availableReplicas": 1}}`,
			"",
		},
		{
			"a replication controller that starts",
			`{` + controller + `, "spec": {"replicas": 2}, "status": {"observedGeneration": 2, "replicas": 2,
				"availableReplicas": 1}}`,
			"1 of 2 replicas are available",
		},
		{
			"a replication controller that is scaled down",
			`{` + controller + `, "spec": {"replicas": 0}, "status": {"observedGeneration": 2, "replicas": 1}}`,
			"1 surplus replicas are being deleted",
		},
		{
			"a replication controller that is ready",
			`{` + controller + `, "status": {"observedGeneration": 2, "replicas": 1, "availableReplicas": 1}}`, "",
		},
		{"a new daemon set", `{` + daemons + `}`, "its controller has not observed it"},
		{
			"a daemon set that is updated",
			`{` + daemons + `, "status": {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1}}`,
			"1 of 2 replicas are updated",
		},
		{
			"a daemon set that starts",
			`{` + daemons + `, "status": {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2,
				"numberAvailable": 1}}`,
			"1 of 2 replicas are available",
		},
		{
			"a daemon set that is updated by hand",
			`{` + daemons + `, "spec": {"updateStrategy": {"type": "OnDelete"}}, "status": {"observedGeneration": 2,
				"desiredNumberScheduled": 2, "numberAvailable": 2}}`,
			"",
		},
		{
			"a daemon set with a replica on a node that should have none",
			`{` + daemons + `, "status": {"observedGeneration": 2, "currentNumberScheduled": 1, "desiredNumberScheduled": 1,
				"updatedNumberScheduled": 1, "numberAvailable": 1, "numberMisscheduled": 1}}`,
			"",
		},
		{"a job that runs", `{` + job + `, "status": {"active": 1}}`, "it is not complete"},
		{"a job that is complete", `{` + job + `, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}`, ""},
		{
			"a job that has failed",
			`{` + job + `, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}}`,
			"condition Failed is True: BackoffLimitExceeded",
		},
		{
			"a job that is suspended",
			`{` + job + `, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}`, "it is suspended",
		},
		{
			"a job that was resumed and is complete",
			`{` + job + `, "status": {"conditions": [{"type": "Suspended", "status": "False"}, {"type": "Complete", "status": "True"}]}}`,
			"",
		},
		{"a new pod", `{` + pod + `, "status": {"phase": "Pending"}}`, "condition Ready is missing"},
		{
			"a pod that starts",
			`{` + pod + `, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False",
				"reason": "ContainersNotReady"}]}}`,
			"condition Ready is False: ContainersNotReady",
		},
		{"a pod that is ready", `{` + pod + `, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`, ""},
		{"a pod that has succeeded", `{` + pod + `, "status": {"phase": "Succeeded"}}`, ""},
		{"a pod that has failed", `{` + pod + `, "status": {"phase": "Failed", "message": "evicted"}}`, `phase is "Failed": evicted`},
		{"a claim", `{` + claim + `, "status": {"phase": "Pending"}}`, `phase is "Pending"`},
		{"a claim that is bound", `{` + claim + `, "status": {"phase": "Bound"}}`, ""},
		{"a service", `{` + service + `, "spec": {"type": "ClusterIP"}}`, ""},
		{"a load balancer", `{` + service + `, "spec": {"type": "LoadBalancer"}}`, "the load balancer has no address"},
		{
			"a load balancer with an address",
			`{` + service + `, "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}`, "",
		},
		{"a definition", `{` + definition + `}`, "condition Established is missing"},
		{
			"a definition that is being installed",
			`{` + definition + `, "status": {"conditions": [{"type": "NamesAccepted", "status": "True"},
				{"type": "Established", "status": "False", "reason": "Installing"}]}}`,
			"condition Established is False: Installing",
		},
		{
			"a definition with names that another one has",
			`{` + definition + `, "status": {"conditions": [{"type": "Established", "status": "False", "reason": "NotAccepted"},
				{"type": "NamesAccepted", "status": "False", "reason": "KindConflict", "message": "is already in use"}]}}`,
			"condition NamesAccepted is False: KindConflict: is already in use",
		},
		{
			"a definition that is established",
			`{` + definition + `, "status": {"conditions": [{"type": "Established", "status": "True"}]}}`, "",
		},
		{
			"a definition with new names that another one has",
			`{` + definition + `, "status": {"conditions": [{"type": "Established", "status": "True"},
				{"type": "NamesAccepted", "status": "False", "reason": "KindConflict", "message": "is already in use"}]}}`,
			"condition NamesAccepted is False: KindConflict: is already in use",
		},
		{"a custom resource without a status", `{` + widget + `}`, ""},
		{
			"a custom resource with another condition",
			`{` + widget + `, "status": {"conditions": [{"type": "Synced", "status": "False"}]}}`, "",
		},
		{
			"a custom resource that is not ready",
			`{` + widget + `, "status": {"conditions": [{"type": "Available", "status": "True"}, {"type": "Ready", "status": "False"}]}}`,
			"condition Ready is False",
		},
		{
			"a custom resource that is not available",
			`{` + widget + `, "status": {"conditions": [{"type": "Available", "status": "Unknown", "message": "no endpoints"}]}}`,
			"condition Available is Unknown: no endpoints",
		},
		{
			"a custom resource with an old condition",
			`{` + widget + `, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}}`,
			"condition Ready was observed of generation 1, but the object has generation 2",
		},
		{
			"a custom resource that is being reconciled",
			`{` + widget + `, "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Reconciling", "status": "True",
				"reason": "Progressing"}]}}`,
			"condition Reconciling is True: Progressing",
		},
		{
			"a custom resource that was reconciled for an older generation",
			`{` + widget + `, "status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 2},
				{"type": "Stalled", "status": "True", "observedGeneration": 1}]}}`,
			"",
		},
		{
			"a custom resource that is stalled",
			`{` + widget + `, "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "True"}]}}`,
			"condition Stalled is True",
		},
		{
			"a custom resource with other meanings of the fields of workloads",
			`{` + widget + `, "spec": {"type": 1, "replicas": "many"}, "status": {"phase": {}, "replicas": []}}`, "",
		},
		{
			"a deployment with a spec of another shape", `{` + deployment + `, "spec": {"replicas": "many"}}`,
			"read the spec and the status: spec.replicas: want an int64, not a string",
		},
		{
			"a custom resource with conditions of another shape", `{` + widget + `, "status": {"conditions": 7}}`,
			"read the conditions: status.conditions: want an array, not a number",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := decode[unstructured.Unstructured](t, tt.in)
			if got := message(wait.Ready(u)); got != tt.want {
				t.Errorf("Ready = %q, want %q", got, tt.want)
			}
			if typed := readyOfType(t, u.GetKind(), tt.in); typed != nil && message(typed()) != tt.want {
				t.Errorf("Ready of a struct = %q, want %q", message(typed()), tt.want)
			}
		})
	}
}

// readyOfType returns a call of Ready with the struct of a kind of k8s.io/api, or nil if it does not have the kind or
// if the object does not decode. The object has no apiVersion and kind, as in lists.
func readyOfType(t *testing.T, kind, data string) func() error {
	t.Helper()
	switch kind {
	case "ConfigMap":
		return typed[corev1.ConfigMap](data)
	case "Deployment":
		return typed[appsv1.Deployment](data)
	case "StatefulSet":
		return typed[appsv1.StatefulSet](data)
	case "DaemonSet":
		return typed[appsv1.DaemonSet](data)
	case "ReplicaSet":
		return typed[appsv1.ReplicaSet](data)
	case "Job":
		return typed[batchv1.Job](data)
	case "Pod":
		return typed[corev1.Pod](data)
	case "PersistentVolumeClaim":
		return typed[corev1.PersistentVolumeClaim](data)
	case "Service":
		return typed[corev1.Service](data)
	}
	return nil
}

func typed[K any, P core.ObjectPtr[K]](data string) func() error {
	obj := P(new(K))
	if err := wire.UnmarshalJSON([]byte(data), obj); err != nil {
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return func() error { return wait.Ready((*K)(obj)) }
}

// rollout is a lean type for Deployments with all fields that matter, and its relatives lack one of them.
type (
	rollout struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Paused   bool   `json:"paused,omitempty"`
			Replicas *int32 `json:"replicas,omitempty"`
		} `json:"spec"`
		Status rolloutStatus `json:"status"`
	}
	rolloutWithoutSpec struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Status            rolloutStatus `json:"status"`
	}
	rolloutStatus struct {
		ObservedGeneration int64                        `json:"observedGeneration,omitempty"`
		Replicas           int32                        `json:"replicas,omitempty"`
		UpdatedReplicas    int32                        `json:"updatedReplicas,omitempty"`
		AvailableReplicas  int32                        `json:"availableReplicas,omitempty"`
		Conditions         []appsv1.DeploymentCondition `json:"conditions,omitempty"`
	}
)

func (*rollout) KubeResource() core.Resource            { return deployments() }
func (*rolloutWithoutSpec) KubeResource() core.Resource { return deployments() }

func deployments() core.Resource {
	return core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Namespaced: true}
}

// TestReadyNeedsTheFieldsOfTheKind checks that a type without a field that matters is an error, and not always or never
// ready.
func TestReadyNeedsTheFieldsOfTheKind(t *testing.T) {
	const complete = `{"metadata": {"generation": 2}, "spec": {"replicas": 3},
		"status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}}`
	lean := decode[rollout](t, complete)
	if err := wait.Ready(lean); err != nil {
		t.Errorf("Ready of a lean type = %v, want nil", err)
	}
	lean.Status.AvailableReplicas = 1
	if got := message(wait.Ready(lean)); got != "1 of 3 replicas are available" {
		t.Errorf("Ready of a lean type = %q", got)
	}
	kind := metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"no spec", wait.Ready(decode[rolloutWithoutSpec](t, complete)), "the type wait_test.rolloutWithoutSpec declares no spec.replicas: "},
		{"metadata", wait.Ready(&metav1.PartialObjectMetadata{TypeMeta: kind}), "the type v1.PartialObjectMetadata declares no status.observedGeneration: "},
		{"a custom kind without conditions", wait.Ready(&bare{}), "the type wait_test.bare declares no status.conditions: "},
		{"an unknown kind", wait.Ready(&metav1.PartialObjectMetadata{}), "the kind of the v1.PartialObjectMetadata is unknown: set its apiVersion and kind: "},
		{"not an object", wait.Ready(new(int)), "the type int is not a kind of objects"},
	} {
		if !strings.HasPrefix(message(tt.err), tt.want) {
			t.Errorf("%s: Ready = %v, want %q", tt.name, tt.err, tt.want)
		}
	}
}

// TestObjectsOfTypesWithConditionsNeedOne checks that a new custom object is not ready before its controller has seen it.
// Objects without a declared type may be of kinds that have no conditions.
func TestObjectsOfTypesWithConditionsNeedOne(t *testing.T) {
	for status, want := range map[string]string{
		``: "it has no conditions yet",
		`"conditions": [{"type": "Accepted", "status": "True"}]`: "",
		`"observedGeneration": 1`:                                "",
		`"conditions": [{"type": "Ready", "status": "True"}]`:    "",
		`"conditions": [{"type": "Ready", "status": "False"}]`:   "condition Ready is False",
	} {
		d := decode[document](t, `{"status": {`+status+`}}`)
		if got := message(wait.Ready(d)); got != want {
			t.Errorf("Ready with the status {%s} = %q, want %q", status, got, want)
		}
	}
	if err := wait.Ready(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Document"}}); err != nil {
		t.Errorf("Ready of an object without a type = %v", err)
	}
}

// TestFinalFailuresEndTheWait checks which errors of Ready are final.
func TestFinalFailuresEndTheWait(t *testing.T) {
	const exceeded = `"status": {"observedGeneration": 2, "conditions": [{"type": "Progressing", "status": "False",
		"reason": "ProgressDeadlineExceeded"}]}`
	for _, tt := range []struct {
		name, in string
		final    bool
	}{
		{"a job that has failed", `"kind": "Job", "apiVersion": "batch/v1", "status": {"conditions": [{"type": "Failed", "status": "True"}]}`, true},
		{"a job that has not failed", `"kind": "Job", "apiVersion": "batch/v1", "status": {"conditions": [{"type": "Failed", "status": "False"}]}`, false},
		{"a suspended job", `"kind": "Job", "apiVersion": "batch/v1", "status": {"conditions": [{"type": "Suspended", "status": "True"}]}`, false},
		{"a pod that has failed", `"kind": "Pod", "apiVersion": "v1", "status": {"phase": "Failed"}`, true},
		{"a pod of an unknown state", `"kind": "Pod", "apiVersion": "v1", "status": {"phase": "Unknown"}`, false},
		{"a deployment after its deadline", `"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"generation": 2}, ` + exceeded, true},
		{"a paused deployment after its deadline", `"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"generation": 2}, "spec": {"paused": true}, ` + exceeded, false},
		{"a corrected deployment after its deadline", `"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"generation": 3}, ` + exceeded, false},
		{"a claim that has lost its volume", `"kind": "PersistentVolumeClaim", "apiVersion": "v1", "status": {"phase": "Lost"}`, false},
		{"names in use", `"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1", "status": {"conditions": [{"type": "NamesAccepted", "status": "False"}]}`, false},
		{"stalled", `"kind": "Widget", "apiVersion": "a.com/v1", "status": {"conditions": [{"type": "Stalled", "status": "True", "observedGeneration": 1}]}`, true},
		{"perhaps stalled earlier", `"kind": "Widget", "apiVersion": "a.com/v1", "status": {"conditions": [{"type": "Stalled", "status": "True"}]}`, false},
		{"conditions of another shape", `"kind": "Widget", "apiVersion": "a.com/v1", "status": {"conditions": 7}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.put(doc("u1", ""))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				u := decode[unstructured.Unstructured](t, "{"+tt.in+"}")
				_, err := wait.Await(ctx, s.docs(t), "a", func(*document) error { return wait.Ready(u) }, nil)
				if err == nil || errors.Is(err, context.DeadlineExceeded) == tt.final {
					t.Errorf("Await() = %v; want it to end at once: %v", err, tt.final)
				}
			})
		})
	}
}

// TestAwaitInfersTheTypeOfReady checks that Ready is a condition for an API of any type.
func TestAwaitInfersTheTypeOfReady(t *testing.T) {
	s := &server{}
	ready := doc("u1", "")
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	s.put(ready)
	if _, err := wait.Await(t.Context(), s.docs(t), "a", wait.Ready, nil); err != nil {
		t.Error(err)
	}
}
