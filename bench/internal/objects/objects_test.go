// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/bench/internal/objects"
)

func TestPodsHaveTheSizeAndVarietyOfRealOnes(t *testing.T) {
	const pods = 2000
	names, nodes, labels, kinds := map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}
	inJSON, inProtobuf, managed := 0, 0, 0
	for i := range pods {
		pod := objects.Pod(i)
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		inJSON += len(text)
		inProtobuf += pod.Size()
		for _, entry := range pod.ManagedFields {
			managed += entry.Size()
			if fields := entry.FieldsV1.GetRawBytes(); !json.Valid(fields) {
				t.Fatalf("pod %d has the invalid managedFields %s", i, fields)
			}
		}
		names[pod.Namespace+"/"+pod.Name] = true
		nodes[pod.Spec.NodeName]++
		kinds[pod.OwnerReferences[0].Kind]++
		for k := range pod.Labels {
			labels[k]++
		}
	}
	t.Logf("a pod has %d bytes of JSON and %d of protobuf, of which %d are managedFields; owners: %v; labels: %v",
		inJSON/pods, inProtobuf/pods, managed/pods, kinds, labels)
	between := func(what string, n, low, high int) {
		if n < low || n > high {
			t.Errorf("%s: %d, want %d to %d", what, n, low, high)
		}
	}
	between("different names", len(names), pods, pods)
	between("nodes", len(nodes), objects.Nodes-1, objects.Nodes)
	between("bytes of JSON", inJSON/pods, 5200, 5800)
	between("bytes of protobuf", inProtobuf/pods, 3400, 3900)
	between("kinds of owners", len(kinds), 4, 4)
	between("pods of StatefulSets", labels["statefulset.kubernetes.io/pod-name"], pods/20, pods/2)
}

func TestTheSameIndexGivesTheSameObject(t *testing.T) {
	for _, i := range []int{0, 7, 1999} {
		if diff := cmp.Diff(objects.Pod(i), objects.Pod(i), cmp.Comparer(sameFields)); diff != "" {
			t.Errorf("pod %d differs:\n%s", i, diff)
		}
		if diff := cmp.Diff(objects.Node(i), objects.Node(i)); diff != "" {
			t.Errorf("node %d differs:\n%s", i, diff)
		}
		if diff := cmp.Diff(objects.ConfigMap(i), objects.ConfigMap(i)); diff != "" {
			t.Errorf("config map %d differs:\n%s", i, diff)
		}
	}
}

func sameFields(a, b *metav1.FieldsV1) bool { return a.Equal(*b) }
