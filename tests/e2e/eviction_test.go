// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// testEviction checks that the error of a rejected eviction names the disruption budget, and that the eviction succeeds
// when the budget permits it.
func testEviction(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods, budgets := kube.Namespaced[corev1.Pod](c, ns), kube.Namespaced[policyv1.PodDisruptionBudget](c, ns)
	labels := map[string]string{"app": "web"}
	one := intstr.FromInt32(1)
	selector := &metav1.LabelSelector{MatchLabels: labels}
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: selector},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "web-0", Labels: labels}
	startPod(t, pods, &corev1.Pod{ObjectMeta: meta, Spec: podSpec(nodeOf(t, c))})
	_, err = kube.Await(limit(t), budgets, "guard", func(b *policyv1.PodDisruptionBudget) error {
		if b.Status.CurrentHealthy != 1 {
			return errors.New("the budget does not count the pod yet")
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	err = podVerbs(pods).Evict(limit(t), "web-0", nil)
	budget, ok := errors.AsType[*pod.BudgetError](err)
	if !ok || !errors.Is(err, kube.ErrTooManyRequests) || budget.Budget != "guard" {
		t.Fatalf("eviction against the budget: %v", err)
	}
	want := "evict pods " + ns + "/web-0: disruption budget guard: needs 1 healthy pods and has 1 currently"
	if err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	err = podVerbs(pods).Evict(limit(t), "web-1", nil)
	if want := "evict pods " + ns + "/web-1: not found"; !errors.Is(err, kube.ErrNotFound) || err.Error() != want {
		t.Errorf("eviction of a missing pod: %v, want %s", err, want)
	}
	none := intstr.FromInt32(0)
	_, err = budgets.Modify(limit(t), "guard", func(b *policyv1.PodDisruptionBudget) error {
		b.Spec.MinAvailable = &none
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the budget permits the eviction", func(ctx context.Context) error {
		return podVerbs(pods).Evict(ctx, "web-0", &request.EvictOptions{GracePeriod: new(time.Second)})
	})
	if err := kube.AwaitGone(limit(t), pods, "web-0", "", nil); err != nil {
		t.Error(err)
	}
}
