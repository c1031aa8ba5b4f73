// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestVerbsOnNode holds what needs pods that really run. The built-in cluster has no node, so it takes another one.
func TestVerbsOnNode(t *testing.T) {
	c := clusterWithNode(t)
	together(t, map[string]func(*testing.T){
		"Eviction":  func(t *testing.T) { testEviction(t, c) },
		"Ephemeral": func(t *testing.T) { testEphemeral(t, c) },
		"Resize":    func(t *testing.T) { testResize(t, c) },
		"Restart":   func(t *testing.T) { testRestart(t, c) },
		"Proxy":     func(t *testing.T) { testProxyVerb(t, c) },
	})
	t.Run("Drain", func(t *testing.T) { testDrain(t, c) })
	t.Run("Drain refusals", func(t *testing.T) { testDrainRefusals(t, c) })
}

// clusterWithNode returns a client of a cluster that runs containers.
func clusterWithNode(t *testing.T) *kube.Client {
	t.Helper()
	if builtin == nil {
		c := connect(t, nil)
		nodeOf(t, c)
		return c
	}
	needNode(t)
	own, err := withNode()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: own.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, &kube.ClientOptions{Config: cfg})
}

// nodeOf returns the name of a node that is ready and takes pods.
func nodeOf(t *testing.T, c *kube.Client) string {
	t.Helper()
	for node, err := range kube.ClusterWide[corev1.Node](c).All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		ready := kube.StatusCondition[corev1.Node]("Ready", metav1.ConditionTrue)(node) == nil
		if ready && !node.Spec.Unschedulable {
			return node.Name
		}
	}
	t.Skip("needs a node that is ready")
	return ""
}

// podSpec returns what a pod of the test image does until it is told to end, which it does within a second.
func podSpec(node string) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      node,
		TerminationGracePeriodSeconds: new(int64(1)),
		Containers:                    []corev1.Container{{Name: "main", Image: cluster.TestImage, ImagePullPolicy: corev1.PullNever}},
	}
}

// startPod makes a pod and waits until it runs.
func startPod(t *testing.T, pods *kube.API[corev1.Pod], pod *corev1.Pod) {
	t.Helper()
	if _, err := pods.Create(limit(t), pod, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Await(limit(t), pods, pod.Name, kube.StatusCondition[corev1.Pod]("Ready", metav1.ConditionTrue), nil); err != nil {
		t.Fatal(err)
	}
}

// testEphemeral promises that a container can be added to a pod that runs.
func testEphemeral(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	startPod(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: podSpec(nodeOf(t, c))})
	for _, name := range []string{"first", "second"} {
		tools := &corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: name, Image: cluster.TestImage, ImagePullPolicy: corev1.PullNever, Args: []string{"exit", "3"},
		}}
		pod, err := podVerbs(pods).AddEphemeralContainer(limit(t), "web", tools, nil)
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == name })
		if !there {
			t.Errorf("the pod has no container %s: %v", name, pod.Spec.EphemeralContainers)
		}
	}
	_, err := kube.Await(limit(t), pods, "web", func(pod *corev1.Pod) error {
		ended := 0
		for _, s := range pod.Status.EphemeralContainerStatuses {
			if s.State.Terminated != nil && s.State.Terminated.ExitCode == 3 {
				ended++
			}
		}
		if ended != 2 {
			return fmt.Errorf("%d of 2 ephemeral containers have run", ended)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	again := &corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "first", Image: "other"}}
	if _, err := podVerbs(pods).AddEphemeralContainer(limit(t), "web", again, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("another container of the same name: %v, want ErrInvalid", err)
	}
	if err := kube.DeleteAndWait(limit(t), pods, "web", &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
		t.Error(err)
	}
}

// testResize promises that a container gets more while it runs.
func testResize(t *testing.T, c *kube.Client) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: podSpec(nodeOf(t, c))}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	startPod(t, pods, pod)
	more := &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("20m")}}
	resized, err := podVerbs(pods).Resize(limit(t), "web", "main", more, nil)
	if err != nil {
		t.Fatal(err)
	}
	if cpu := resized.Spec.Containers[0].Resources.Requests.Cpu(); cpu.MilliValue() != 20 {
		t.Errorf("the pod asks for %v, want 20m", cpu)
	}
	_, err = kube.Await(limit(t), pods, "web", func(pod *corev1.Pod) error {
		for _, s := range pod.Status.ContainerStatuses {
			if s.Resources != nil && s.Resources.Requests.Cpu().MilliValue() == 20 {
				return nil
			}
		}
		return fmt.Errorf("the containers are %v", pod.Status.ContainerStatuses)
	}, nil)
	if err != nil {
		t.Error(err)
	}
	if _, err := podVerbs(pods).Resize(limit(t), "web", "other", more, nil); err == nil {
		t.Error("a container that is not there was resized")
	}
	if err := kube.DeleteAndWait(limit(t), pods, "web", &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
		t.Error(err)
	}
}
