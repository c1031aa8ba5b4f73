// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// ready returns a ready pod that the budget of budget selects.
func ready(name string) *corev1.Pod {
	p := pod(name)
	p.UID, p.Labels = "", map[string]string{"app": "web"}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// budget returns a disruption budget, with a status as its controller writes it.
func budget(name string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 1, DisruptionsAllowed: allowed, DesiredHealthy: 1, CurrentHealthy: 1 + allowed,
		},
	}
}

func TestBudgetsLimitEvictions(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{ready("a"), ready("b"), budget("web", 1)}}).Client(nil)
	if err := kube.Pods(c, "shop").Evict(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	budgets := kube.Namespaced[policyv1.PodDisruptionBudget](c, "shop")
	b, err := budgets.Get(t.Context(), "web", nil)
	if err != nil || b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 1 {
		t.Errorf("budget = %+v, %v; want that the eviction is counted", b, err)
	}
	evicted, err := kube.Namespaced[corev1.Pod](c, "shop").Get(t.Context(), "a", nil)
	if err != nil || evicted.DeletionTimestamp == nil {
		t.Fatalf("pod = %+v, %v; want that it is terminating", evicted, err)
	}
	if last := evicted.Status.Conditions[len(evicted.Status.Conditions)-1]; last.Type != corev1.DisruptionTarget {
		t.Errorf("conditions = %+v, want DisruptionTarget", evicted.Status.Conditions)
	}
	if _, err := budgets.Status().Patch(t.Context(), "web", kube.MergePatch(map[string]any{
		"status": map[string]any{"currentHealthy": 1},
	}), nil); err != nil {
		t.Fatal(err)
	}
	err = kube.Pods(c, "shop").Evict(t.Context(), "b", nil)
	be, ok := errors.AsType[*kube.BudgetError](err)
	if !ok || be.Budget != "web" || be.Detail != "needs 1 healthy pods and has 1 currently" {
		t.Errorf("Evict = %v, want a BudgetError with the numbers of pods", err)
	}
}

func TestEvictionsWithoutADecisionOfABudget(t *testing.T) {
	unhealthy, pending := ready("a"), ready("a")
	unhealthy.Status.Conditions[0].Status = corev1.ConditionFalse
	pending.Status.Phase = corev1.PodPending
	unobserved := budget("web", 1)
	unobserved.Status.ObservedGeneration = 0
	for _, tt := range []struct {
		name    string
		objects []kube.Object
		want    string
	}{
		{"no budget", []kube.Object{ready("a")}, ""},
		{"the pod is pending", []kube.Object{pending, budget("web", 0)}, ""},
		{"the pod is not ready, and enough others are", []kube.Object{unhealthy, budget("web", 0)}, ""},
		{"two budgets", []kube.Object{ready("a"), budget("web", 1), budget("other", 1)}, "evict pods shop/a: internal error: server " +
			"said: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
		{"a budget without a current status", []kube.Object{ready("a"), unobserved}, "evict pods shop/a: disruption budget web: " +
			"is still being processed by the server; try again in 10s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := kubetest.Start(t, &kubetest.Options{Objects: tt.objects}).Client(&kube.ClientOptions{
					Retry: &kube.RetryOptions{MaxElapsedTime: time.Second},
				})
				got := ""
				if err := kube.Pods(c, "shop").Evict(t.Context(), "a", nil); err != nil {
					got = err.Error()
				}
				if got != tt.want {
					t.Errorf("Evict = %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestABudgetThatAllowsLessThanNothingIsTheCause(t *testing.T) {
	c := kubetest.Start(t, &kubetest.Options{Objects: []kube.Object{ready("a"), budget("web", -1)}}).Client(nil)
	err := kube.Pods(c, "shop").Evict(t.Context(), "a", nil)
	status, ok := errors.AsType[*kube.StatusError](err)
	if !ok || !errors.Is(err, kube.ErrForbidden) || len(status.Causes()) != 1 {
		t.Fatalf("Evict = %v, want that it is forbidden, with a cause", err)
	}
	const want = "The disruption budget web does not allow evicting pods currently: pdb disruptions allowed is negative"
	if cause := status.Causes()[0]; cause.Type != policyv1.DisruptionBudgetCause || cause.Message != want {
		t.Errorf("the cause is %+v, want %q", cause, want)
	}
}
