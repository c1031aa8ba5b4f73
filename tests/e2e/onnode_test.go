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
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestVerbsOnNode groups the tests of verbs that need running pods. The built-in cluster has no node, so they use
// another cluster.
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

// nodeOf returns the name of a node that is ready and accepts pods. Without one, it skips the test.
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
	t.Skip("needs a ready node")
	return ""
}

// podSpec returns the spec of a pod that runs the test image until it is deleted, and then ends within a second.
func podSpec(node string) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      node,
		TerminationGracePeriodSeconds: new(int64(1)),
		Containers: []corev1.Container{
			{Name: "main", Image: cluster.TestImage, ImagePullPolicy: corev1.PullNever},
		},
	}
}

// serve makes a container run the test image's web server. The container is ready when the server accepts connections.
func serve(c *corev1.Container) {
	c.Args = []string{"serve", "8080"}
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	listening := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: listening, PeriodSeconds: 1}
}

// startPod creates a pod and waits until it is ready.
func startPod(t *testing.T, pods *kube.API[corev1.Pod], pod *corev1.Pod) {
	t.Helper()
	if _, err := pods.Create(limit(t), pod, nil); err != nil {
		t.Fatal(err)
	}
	ready := kube.StatusCondition[corev1.Pod]("Ready", metav1.ConditionTrue)
	if _, err := kube.Await(limit(t), pods, pod.Name, ready, nil); err != nil {
		t.Fatal(err)
	}
}

// testEphemeral checks that a container can be added to a running pod.
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
		named := func(c corev1.EphemeralContainer) bool { return c.Name == name }
		if !slices.ContainsFunc(pod.Spec.EphemeralContainers, named) {
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
			return fmt.Errorf("%d of 2 ephemeral containers have ended", ended)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	again := &corev1.EphemeralContainer{
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "first", Image: "other"},
	}
	if _, err := podVerbs(pods).AddEphemeralContainer(limit(t), "web", again, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("adding another container with the same name: %v, want ErrInvalid", err)
	}
	now := &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}
	if err := kube.DeleteAndWait(limit(t), pods, "web", now); err != nil {
		t.Error(err)
	}
}

// testResize checks that the resources of a running container can be increased.
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
		t.Errorf("the pod requests %v, want 20m", cpu)
	}
	_, err = kube.Await(limit(t), pods, "web", func(pod *corev1.Pod) error {
		for _, s := range pod.Status.ContainerStatuses {
			if s.Resources != nil && s.Resources.Requests.Cpu().MilliValue() == 20 {
				return nil
			}
		}
		return fmt.Errorf("the container statuses are %v", pod.Status.ContainerStatuses)
	}, nil)
	if err != nil {
		t.Error(err)
	}
	if _, err := podVerbs(pods).Resize(limit(t), "web", "other", more, nil); err == nil {
		t.Error("Resize of a missing container succeeds, want an error")
	}
	now := &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}
	if err := kube.DeleteAndWait(limit(t), pods, "web", now); err != nil {
		t.Error(err)
	}
}
