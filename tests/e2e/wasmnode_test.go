// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/examples/wasm-node/node"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestWasmNode runs the example as nodes of a cluster of its own, since pods of other tests run on any node.
func TestWasmNode(t *testing.T) {
	t.Parallel()
	c := connect(t, &kube.ClientOptions{Config: ownCluster(t, new(cluster.Options))})
	images := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(images, "guest.wasm"),
		"./wasm-node/engine/testdata/guest")
	build.Dir, build.Env = "../../examples", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the guest: %v\n%s", err, out)
	}
	t.Run("RunsPods", func(t *testing.T) { testWasmNodeRunsPods(t, c, images) })
	t.Run("StaysReadyAndContinuesAfterARestart", func(t *testing.T) { testWasmNodeAfterARestart(t, c, images) })
}

// wasmNode runs the example as another node with a directory of images, and returns its name. Restart stops the program
// and starts another one for the same node.
func wasmNode(t *testing.T, c *kube.Client, images string) (name string, restart func()) {
	t.Helper()
	name = fmt.Sprintf("wasm-%d", time.Now().UnixNano())
	nodes := kube.ClusterWide[corev1.Node](c)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := nodes.Delete(ctx, name, nil); err != nil {
			t.Error(err)
		}
	})
	start := func() (stop func() error) {
		return background(t, func(ctx context.Context) error {
			return node.Run(ctx, c, node.Options{
				Name: name, Address: "127.0.0.1", Images: images, Memory: 64 << 20, Pods: 10, BackOff: time.Second,
			})
		})
	}
	stop := start()
	restart = func() {
		if err := stop(); !errors.Is(err, errStopped) {
			t.Errorf("the program of the node has ended with %v", err)
		}
		stop = start()
	}
	_, err := kube.Await(limit(t), nodes, name, func(n *corev1.Node) error {
		if n.UID == "" {
			return core.ErrNotFound
		}
		for _, taint := range n.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				return errors.New("the node is not ready")
			}
		}
		return kube.StatusCondition[corev1.Node]("Ready", metav1.ConditionTrue)(n)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return name, restart
}

// wasmPod returns a pod for a node with containers that have arguments, such as main=exit 3.
func wasmPod(name, node, image string, policy corev1.RestartPolicy, containers ...string) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		RestartPolicy: policy,
		NodeSelector:  map[string]string{corev1.LabelHostname: node},
		Tolerations: []corev1.Toleration{
			{Key: corev1.LabelArchStable, Operator: corev1.TolerationOpEqual, Value: "wasm32-wasi"},
		},
	}}
	pod.Name = name
	for _, container := range containers {
		name, args, _ := strings.Cut(container, "=")
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: name, Image: image, Args: strings.Fields(args),
			Env: []corev1.EnvVar{{Name: "COLOR", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "guest"}, Key: "color",
			}}}},
		})
	}
	return pod
}

// testWasmNodeRunsPods checks the life of pods on a node that is the example: their containers run, fail, back off,
// restart and end; the API server returns their logs; and deleted pods are deleted when their containers have ended.
func testWasmNodeRunsPods(t *testing.T, c *kube.Client, images string) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	name, _ := wasmNode(t, c, images)
	leases := kube.Namespaced[coordinationv1.Lease](c, corev1.NamespaceNodeLease)
	_, err := kube.Await(limit(t), leases, name, func(l *coordinationv1.Lease) error { // a ready node may have none yet
		if len(l.OwnerReferences) != 1 || l.Spec.RenewTime == nil {
			return fmt.Errorf("the lease of the node: %+v", l)
		}
		return nil
	}, nil)
	if err != nil {
		t.Error(err)
	}
	guest, err := os.ReadFile(filepath.Join(images, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(guest); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = kube.Namespaced[corev1.ConfigMap](c, ns).Create(limit(t), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "guest"},
		Data:       map[string]string{"color": "blue"}, BinaryData: map[string][]byte{"module": packed.Bytes()},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pods := kube.Namespaced[corev1.Pod](c, ns)

	t.Run("containers run, fail, back off and restart", func(t *testing.T) {
		t.Parallel()
		policy := corev1.RestartPolicyAlways
		testWasmRestarts(t, pods, wasmPod("shop", name, "file:guest.wasm", policy, "web=serve", "flaky=exit 3"))
	})
	t.Run("a pod from a ConfigMap ends", func(t *testing.T) {
		t.Parallel()
		for policy, want := range map[corev1.RestartPolicy]corev1.PodPhase{
			corev1.RestartPolicyOnFailure: corev1.PodSucceeded, corev1.RestartPolicyNever: corev1.PodFailed,
		} {
			args := []string{"one=exit 0", "two=exit 0"}
			if want == corev1.PodFailed {
				args[1] = "two=exit 4"
			}
			pod := wasmPod(strings.ToLower(string(policy)), name, "configmap:guest/module", policy, args...)
			if _, err := pods.Create(limit(t), pod, nil); err != nil {
				t.Fatal(err)
			}
			ended, err := kube.Await(limit(t), pods, pod.Name, kube.JSONPath[corev1.Pod]("{.status.phase}", string(want)), nil)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, s := range ended.Status.ContainerStatuses {
				if s.State.Terminated == nil || s.RestartCount != 0 {
					t.Errorf("the container %s: %+v", s.Name, s)
				}
			}
		}
	})
	t.Run("an image that does not exist is reported", func(t *testing.T) {
		t.Parallel()
		pod := wasmPod("lost", name, "file:../guest.wasm", corev1.RestartPolicyAlways, "main=serve")
		if _, err := pods.Create(limit(t), pod, nil); err != nil {
			t.Fatal(err)
		}
		_, err := kube.Await(limit(t), pods, pod.Name, func(p *corev1.Pod) error {
			for _, s := range p.Status.ContainerStatuses {
				if s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImagePull" && p.Status.Phase == corev1.PodPending {
					return nil
				}
			}
			return fmt.Errorf("its status is %+v", p.Status)
		}, nil)
		if err != nil {
			t.Error(err)
		}
	})
}

// testWasmNodeAfterARestart checks that the program renews the lease of its node, before and after a restart. A
// container that has run in the stopped program is started again.
func testWasmNodeAfterARestart(t *testing.T, c *kube.Client, images string) {
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	name, restart := wasmNode(t, c, images)
	leases := kube.Namespaced[coordinationv1.Lease](c, corev1.NamespaceNodeLease)
	renewed := func(after time.Time) time.Time {
		t.Helper()
		l, err := kube.Await(limit(t), leases, name, func(l *coordinationv1.Lease) error {
			if l.Spec.RenewTime == nil || !l.Spec.RenewTime.After(after) {
				return fmt.Errorf("it was renewed at %v, want after %v", l.Spec.RenewTime, after)
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l.Spec.RenewTime.Time
	}
	if _, err := kube.Namespaced[corev1.ConfigMap](c, ns).Create(limit(t), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "guest"}, Data: map[string]string{"color": "blue"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	pods := kube.Namespaced[corev1.Pod](c, ns)
	pod := wasmPod("shop", name, "file:guest.wasm", corev1.RestartPolicyAlways, "web=serve")
	if _, err := pods.Create(limit(t), pod, nil); err != nil {
		t.Fatal(err)
	}
	running := func(restarts int32) {
		t.Helper()
		if _, err := kube.Await(limit(t), pods, pod.Name, func(p *corev1.Pod) error {
			for _, s := range p.Status.ContainerStatuses {
				if s.State.Running == nil || !s.Ready || s.RestartCount != restarts {
					return fmt.Errorf("the container %s: %+v, want %d restarts", s.Name, s, restarts)
				}
			}
			return kube.StatusCondition[corev1.Pod]("Ready", metav1.ConditionTrue)(p)
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	running(0)
	gate := kube.StrategicMergePatch(map[string]any{"status": map[string]any{
		"conditions": []map[string]any{{"type": "example.com/other", "status": "True"}},
	}})
	if _, err := pods.Status().Patch(limit(t), pod.Name, gate, nil); err != nil {
		t.Fatal(err)
	}
	last := renewed(renewed(renewed(time.Time{}))) // by the running program

	restart()
	running(1)
	after, err := pods.Get(limit(t), pod.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.StatusCondition[corev1.Pod]("example.com/other", metav1.ConditionTrue)(after); err != nil {
		t.Errorf("the condition of another writer: %v", err)
	}
	if len(after.Status.HostIPs) != 1 || after.Status.HostIPs[0].IP != "127.0.0.1" {
		t.Errorf("the addresses of the host are %v", after.Status.HostIPs)
	}
	renewed(renewed(last))
	n, err := kube.ClusterWide[corev1.Node](c).Get(limit(t), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.StatusCondition[corev1.Node]("Ready", metav1.ConditionTrue)(n); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if err := kube.DeleteAndWait(limit(t), pods, pod.Name, nil); err != nil {
		t.Error(err)
	}
}

func testWasmRestarts(t *testing.T, pods *kube.API[corev1.Pod], pod *corev1.Pod) {
	if _, err := pods.Create(limit(t), pod, nil); err != nil {
		t.Fatal(err)
	}
	_, err := kube.Await(limit(t), pods, pod.Name, func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			end := s.LastTerminationState.Terminated
			switch {
			case s.Name == "web" && s.State.Running != nil && s.Ready && s.RestartCount == 0:
			case s.Name == "flaky" && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" &&
				s.RestartCount >= 2 && end != nil && end.ExitCode == 3:
			default:
				return fmt.Errorf("the container %s: %+v", s.Name, s)
			}
		}
		if p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the phase is %s", p.Status.Phase)
		}
		return kube.StatusCondition[corev1.Pod]("Ready", metav1.ConditionFalse)(p)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []kube.LogOptions{{Container: "web"}, {Container: "flaky", Previous: true}} {
		lines := 0
		for line, err := range podVerbs(pods).LogLines(limit(t), pod.Name, &o) {
			if want := "hello from " + o.Container + " blue"; err != nil || line.Text != want {
				t.Errorf("the log of %s has %q, %v, want %q", o.Container, line.Text, err, want)
			}
			lines++
		}
		if lines != 1 {
			t.Errorf("the log of %s has %d lines", o.Container, lines)
		}
	}
	var followed []string
	o := &kube.LogOptions{Container: "web", Follow: true, Timestamps: true}
	for line, err := range podVerbs(pods).LogLines(limit(t), pod.Name, o) {
		if err != nil {
			t.Error(err)
			break
		}
		if followed = append(followed, line.Text); line.Time.IsZero() {
			t.Errorf("the line %q has no time", line.Text)
		}
		if len(followed) == 1 { // the container ends when it is asked to
			if err := kube.DeleteAndWait(limit(t), pods, pod.Name, nil); err != nil {
				t.Error(err)
			}
		}
	}
	if got := strings.Join(followed, "|"); got != "hello from web blue|bye" {
		t.Errorf("the followed log is %q", got)
	}
}
