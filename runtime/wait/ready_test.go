// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/runtime/wait"
)

func TestReadyKnowsTheRulesOfKinds(t *testing.T) {
	const (
		deployment = `"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}`
		set        = `"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 2}`
		daemons    = `"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 2}`
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
			"condition Progressing is False: ProgressDeadlineExceeded",
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
			"a stateful set that starts", `{` + set + `, "spec": {"replicas": 2}, "status": {"observedGeneration": 2}}`,
			"0 of 2 replicas are available",
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
		{"a job that runs", `{` + job + `, "status": {"active": 1}}`, "it is not complete"},
		{"a job that is complete", `{` + job + `, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}`, ""},
		{
			"a job that has failed",
			`{` + job + `, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}}`,
			"condition Failed is True: BackoffLimitExceeded",
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
			"a definition that is established",
			`{` + definition + `, "status": {"conditions": [{"type": "Established", "status": "True"}]}}`, "",
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
			"a custom resource with conditions of another shape", `{` + widget + `, "status": {"conditions": 7}}`,
			"read status.conditions: status.conditions: want an array, not a number",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := message(wait.Ready(decode[unstructured.Unstructured](t, tt.in)))
			if got != tt.want {
				t.Errorf("Ready = %q, want %q", got, tt.want)
			}
		})
	}
}
