// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// testDrainRefusals checks that a drain reports the pods that it refuses to delete and the pods that block it, and that
// it deletes them only with the matching option: pods of daemon sets, pods with an emptyDir volume, pods without a
// controller, and pods that a disruption budget never permits to evict.
func testDrainRefusals(t *testing.T, c *kube.Client) {
	ns, node := newNamespace(t, c), nodeOf(t, c)
	awaitPods(t, c, ns)
	t.Cleanup(func() {
		if _, err := nodeverbs.New(c).Uncordon(context.WithoutCancel(t.Context()), node, nil); err != nil {
			t.Error(err)
		}
	})
	startGuests(t, c, ns)
	selector := "drained-by=" + ns
	drainNode := func(ctx context.Context, o drain.Options) (map[string]drain.State, error) {
		o.PodSelector, o.GracePeriod = selector, new(time.Second)
		report, err := drain.Node(ctx, c, node, &o)
		states := map[string]drain.State{}
		if report != nil {
			for _, p := range report.Pods {
				owner, _, _ := strings.Cut(p.Ref.Name, "-")
				states[owner] = p.State
			}
		}
		return states, err
	}
	check := func(step string, got map[string]drain.State, err error, want map[string]drain.State, in ...string) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", step, got, want)
		}
		for _, part := range in {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error = %v, want it to contain %q", step, err, part)
			}
		}
		if err != nil && len(in) == 0 {
			t.Errorf("%s: %v", step, err)
		}
	}

	states, err := drainNode(limit(t), drain.Options{})
	check("a drain without options", states, err,
		map[string]drain.State{"agent": drain.Refused, "cache": drain.Refused, "guarded": drain.Pending},
		"2 pods remain", "daemon set agent would recreate it: set IgnoreDaemonSets",
		"it has an emptyDir volume: set DeleteEmptyDirData")

	blocked, cancel := context.WithCancelCause(limit(t))
	defer cancel(nil)
	enough, reached := errors.New("nothing else to do"), map[string]bool{}
	states, err = drainNode(blocked, drain.Options{
		IgnoreDaemonSets: true, DeleteEmptyDirData: true,
		Progress: func(p drain.Pod) { // the budget blocks the drain forever, so end it when all other pods are deleted
			reached[string(p.State)] = true
			if reached[string(drain.Gone)] && reached[string(drain.Blocked)] {
				cancel(enough)
			}
		},
	})
	check("a drain against a budget", states, err,
		map[string]drain.State{"agent": drain.Skipped, "cache": drain.Gone, "guarded": drain.Blocked},
		enough.Error(), "1 pod remains: "+ns+"/guarded-", "disruption budget never")
	if !errors.Is(err, enough) {
		t.Errorf("a drain against a budget: %v, want the context's cause", err)
	}

	// The pods that replaced the deleted ones are pending for lack of another node.
	states, err = drainNode(limit(t), drain.Options{IgnoreDaemonSets: true, DisableEviction: true})
	check("a drain without evictions", states, err,
		map[string]drain.State{"agent": drain.Skipped, "guarded": drain.Gone})

	orphan := &kube.DeleteOptions{Propagation: metav1.DeletePropagationOrphan}
	if err := kube.DeleteAndWait(limit(t), kube.Namespaced[appsv1.DaemonSet](c, ns), "agent", orphan); err != nil {
		t.Fatal(err)
	}
	// The pods of the daemon set have no owner now.
	states, err = drainNode(limit(t), drain.Options{IgnoreDaemonSets: true})
	check("a drain of a pod without an owner", states, err, map[string]drain.State{"agent": drain.Refused},
		"no controller recreates it: set Force")
	states, err = drainNode(limit(t), drain.Options{Force: true})
	check("a forced drain", states, err, map[string]drain.State{"agent": drain.Gone})
	states, err = drainNode(limit(t), drain.Options{})
	check("a drain of an empty node", states, err, map[string]drain.State{})
}

// startGuests creates a pod of each sort that needs an option to be drained, and waits until the pods are ready.
func startGuests(t *testing.T, c *kube.Client, ns string) {
	t.Helper()
	template := func(name string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name, "drained-by": ns}}, Spec: podSpec(""),
		}
	}
	selects := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	none := intstr.FromInt32(0)
	_, err := kube.Namespaced[policyv1.PodDisruptionBudget](c, ns).Create(limit(t), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "never"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: selects("guarded")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.Namespaced[appsv1.DaemonSet](c, ns).Create(limit(t), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selects("agent"), Template: template("agent")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	deployments := kube.Namespaced[appsv1.Deployment](c, ns)
	for _, name := range []string{"cache", "guarded"} {
		dep := deployment(name)
		dep.Spec.Replicas, dep.Spec.Template = new(int32(1)), template(name)
		if name == "cache" {
			emptyDir := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			dep.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: emptyDir}}
		}
		if _, err := deployments.Create(limit(t), dep, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"cache", "guarded"} {
		awaitAvailable(t, deployments, name, 1)
	}
	awaitRollout(t, kube.Namespaced[appsv1.DaemonSet](c, ns), "agent", daemonSetDone)
}

// daemonSetDone reports whether all pods of a daemon set are available and use its latest template.
func daemonSetDone(d *appsv1.DaemonSet) bool {
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.DesiredNumberScheduled > 0 &&
		s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled
}

// awaitRollout waits until the rollout of an object is done.
func awaitRollout[K any, P interface {
	*K
	kube.Object
}](t *testing.T, api *kube.API[K], name string, done func(*K) bool) {
	t.Helper()
	_, err := kube.Await[K, P](limit(t), api, name, func(obj *K) error {
		if !done(obj) {
			return fmt.Errorf("the rollout of %s is not done", name)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}
