// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	nodeverbs "github.com/kube-go/sdk/client/node"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/drain"
)

// testDrain checks that a drain refuses to delete pods without a controller, waits for disruption budgets, and returns
// when all pods are deleted.
func testDrain(t *testing.T, c *kube.Client) {
	ns, node := newNamespace(t, c), nodeOf(t, c)
	awaitPods(t, c, ns)
	nodes, pods := kube.ClusterWide[corev1.Node](c), kube.Namespaced[corev1.Pod](c, ns)
	budgets := kube.Namespaced[policyv1.PodDisruptionBudget](c, ns)
	mark := map[string]string{"drained-by": ns}
	dep := deployment("web")
	dep.Spec.Replicas = new(int32(2))
	dep.Spec.Template.Labels["drained-by"] = ns
	dep.Spec.Template.Spec = podSpec("")
	if _, err := kube.Namespaced[appsv1.Deployment](c, ns).Create(t.Context(), dep, nil); err != nil {
		t.Fatal(err)
	}
	startPod(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "loose", Labels: mark}, Spec: podSpec(node)})
	awaitAvailable(t, kube.Namespaced[appsv1.Deployment](c, ns), "web", 2)
	one := intstr.FromInt32(1)
	_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	selector := "drained-by=" + ns // the node may have pods of other tests
	_, err = drain.Node(limit(t), c, node, &drain.Options{PodSelector: selector})
	want := "drain node " + node + ": 1 pod remains: " + ns +
		"/loose: refused: no controller recreates it: set Force to delete it"
	if err == nil || err.Error() != want {
		t.Fatalf("error = %v, want %s", err, want)
	}
	if n, err := nodes.Get(t.Context(), node, nil); err != nil || n.Spec.Unschedulable {
		t.Errorf("a refused drain cordoned the node, or get failed: %v", err)
	}

	t.Cleanup(func() {
		if _, err := nodeverbs.New(c).Uncordon(context.WithoutCancel(t.Context()), node, nil); err != nil {
			t.Error(err)
		}
	})
	blocked := 0
	report, err := drain.Node(limit(t), c, node, &drain.Options{
		PodSelector: selector, Force: true, GracePeriod: new(time.Second),
		Progress: func(p drain.Pod) {
			t.Log(p)
			if p.State == drain.Blocked && strings.Contains(p.Reason, "disruption budget guard") {
				blocked++
				if err := budgets.Delete(t.Context(), "guard", nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
					t.Error(err)
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Pods {
		if p.State != drain.Gone {
			t.Errorf("after the drain: %v", p)
		}
		if _, err := pods.Get(t.Context(), p.Ref.Name, nil); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("get of pod %v: %v, want ErrNotFound", p, err)
		}
	}
	if len(report.Pods) != 3 || blocked == 0 {
		t.Errorf("the report has %d pods, want 3; %d were blocked by the budget, want at least 1", len(report.Pods), blocked)
	}
	if n, err := nodes.Get(t.Context(), node, nil); err != nil || !n.Spec.Unschedulable {
		t.Errorf("the node is not cordoned: %v", err)
	}
	back, err := nodeverbs.New(c).Uncordon(t.Context(), node, nil)
	if err != nil || back.Spec.Unschedulable {
		t.Errorf("Uncordon = %v, %v", back, err)
	}
}

// awaitAvailable waits until a deployment has n available pods.
func awaitAvailable(t *testing.T, deployments *kube.API[appsv1.Deployment], name string, n int32) {
	t.Helper()
	_, err := kube.Await(limit(t), deployments, name, func(d *appsv1.Deployment) error {
		if d.Status.AvailableReplicas != n {
			return fmt.Errorf("%d of %d pods are available", d.Status.AvailableReplicas, n)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}
