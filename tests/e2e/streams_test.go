// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// TestStreamsOnNode holds what streams of bytes to and from pods promise.
func TestStreamsOnNode(t *testing.T) {
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	startPod(t, pods, talker("talker"))
	t.Run("Exec", func(t *testing.T) { testExec(t, pods) })
	t.Run("ExecMuch", func(t *testing.T) { testExecMuch(t, c, pods) })
	t.Run("ExecMany", func(t *testing.T) { testExecMany(t, c, pods) })
	t.Run("Terminal", func(t *testing.T) { testTerminal(t, pods) })
	t.Run("Attach", func(t *testing.T) { testAttach(t, pods) })
	t.Run("PortForward", func(t *testing.T) { testPortForward(t, pods) })
	t.Run("PortForwardMany", func(t *testing.T) { testPortForwardMany(t, c, pods) })
	t.Run("PortForwardRefused", func(t *testing.T) { testPortForwardRefused(t, pods) })
	t.Run("Files", func(t *testing.T) { testFiles(t, pods) })
	t.Run("Programs", func(t *testing.T) { testStreamPrograms(t, pods) })
	// These wait most of the time: for a slow reader, and for the node to start pods.
	together(t, map[string]func(*testing.T){
		"ExecSlowly":            func(t *testing.T) { testExecSlowly(t, c, pods) },
		"Logs":                  func(t *testing.T) { testLogs(t, pods) },
		"LogsOfMany":            func(t *testing.T) { testLogsOfMany(t, c, pods) },
		"LogsOverCuts":          func(t *testing.T) { testLogsOverCuts(t, c, pods) },
		"LogsOfRestarts":        func(t *testing.T) { testLogsOfRestarts(t, c, pods) },
		"PortForwardService":    func(t *testing.T) { testPortForwardService(t, c, pods) },
		"PortForwardDeployment": func(t *testing.T) { testPortForwardDeployment(t, c, ns) },
	})
	t.Run("Killed", func(t *testing.T) { testKilled(t, c, pods) })
}

// together runs tests at the same time, and returns when all have ended.
func together(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	t.Run("Together", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

// talker is a pod with a container for each kind of talk.
func talker(name string) *corev1.Pod {
	container := func(name string, args ...string) corev1.Container {
		return corev1.Container{Name: name, Image: cluster.TestImage, ImagePullPolicy: corev1.PullNever, Args: args}
	}
	web := container("web", "serve", "8080")
	web.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	input := container("input", "cat")
	input.Stdin = true
	terminal := container("terminal", "size")
	terminal.Stdin, terminal.TTY = true, true
	bare := container("bare")
	bare.Env = []corev1.EnvVar{{Name: "PATH", Value: "/none"}}
	fixed := container("fixed")
	fixed.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers:                    []corev1.Container{web, container("echo", "echo-server", "7"), container("lines", "lines", "1000000", "50ms"), input, terminal, bare, fixed},
		},
	}
}

// leftovers notes the goroutines and the open files of this process, and returns a function that fails the test when there
// are more. It takes a client of its own to leave nothing behind.
func leftovers(t *testing.T, c *kube.Client) (check func()) {
	t.Helper()
	c.CloseIdleConnections()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	return func() {
		t.Helper()
		c.CloseIdleConnections()
		deadline := time.After(10 * time.Second)
		for runtime.NumGoroutine() > goroutines || openFiles(t) > files {
			select {
			case <-deadline:
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines and %d open files, %d and %d before:\n%s", runtime.NumGoroutine(), openFiles(t), goroutines, files,
					stacks[:runtime.Stack(stacks, true)])
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs to count the open files: ", err)
	}
	return len(entries)
}

// inSpace returns the pods of the same namespace by another client.
func inSpace(t *testing.T, pods *kube.API[corev1.Pod], c *kube.Client) *kube.API[corev1.Pod] {
	t.Helper()
	return kube.Namespaced[corev1.Pod](c, pods.Namespace())
}

// size is a number of bytes as people say it.
func size(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }
