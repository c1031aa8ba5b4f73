// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/rollout"
	"github.com/kube-go/sdk/kube"
)

// testRestart checks that a restart replaces the pods of a stateful set and of a daemon set.
func testRestart(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	template := func(name string) corev1.PodTemplateSpec {
		labels := map[string]string{"app": name}
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")}
	}
	selects := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	sets, daemons := kube.Namespaced[appsv1.StatefulSet](c, ns), kube.Namespaced[appsv1.DaemonSet](c, ns)
	_, err := sets.Create(limit(t), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec:       appsv1.StatefulSetSpec{Replicas: new(int32(1)), Selector: selects("db"), Template: template("db")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = daemons.Create(limit(t), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selects("agent"), Template: template("agent")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	setDone := func(s *appsv1.StatefulSet) bool {
		return s.Status.ObservedGeneration == s.Generation && s.Status.CurrentRevision == s.Status.UpdateRevision &&
			s.Status.AvailableReplicas == 1
	}
	await := func() map[string]bool {
		awaitRollout(t, sets, "db", setDone)
		awaitRollout(t, daemons, "agent", daemonSetDone)
		uids := map[string]bool{}
		for pod, err := range kube.Namespaced[corev1.Pod](c, ns).All(limit(t), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if pod.DeletionTimestamp == nil {
				uids[string(pod.UID)] = true
			}
		}
		return uids
	}
	before := await()
	if _, err := rollout.Restart(limit(t), sets, "db", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rollout.Restart(limit(t), daemons, "agent", nil); err != nil {
		t.Fatal(err)
	}
	after := await()
	for uid := range after {
		if before[uid] {
			t.Errorf("the restart has not replaced pod %s", uid)
		}
	}
	if len(before) < 2 || len(after) != len(before) {
		t.Errorf("%d pods before, %d after; want the same number, and at least one of each set", len(before), len(after))
	}
}
