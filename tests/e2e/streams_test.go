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

// TestStreamsOnNode groups the tests of streams to and from pods.
func TestStreamsOnNode(t *testing.T) {
	c := clusterWithNode(t)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	startPod(t, pods, talker("talker"))
	t.Run("Exec", func(t *testing.T) { testExec(t, pods) })
	t.Run("ExecOfLargeOutput", func(t *testing.T) { testExecMuch(t, c, pods) })
	t.Run("ManyProcesses", func(t *testing.T) { testManyProcesses(t, c, pods) })
	t.Run("Terminal", func(t *testing.T) { testTerminal(t, pods) })
	t.Run("Attach", func(t *testing.T) { testAttach(t, pods) })
	t.Run("PortForward", func(t *testing.T) { testPortForward(t, pods) })
	t.Run("ManyPortForwards", func(t *testing.T) { testPortForwardMany(t, c, pods) })
	t.Run("PortForwardToClosedPort", func(t *testing.T) { testPortForwardToClosedPort(t, pods) })
	t.Run("Files", func(t *testing.T) { testFiles(t, pods) })
	if builtin != nil {
		t.Run("FilesOfSystem", func(t *testing.T) { testFilesOfSystem(t, pods) })
	}
	t.Run("Programs", func(t *testing.T) { testStreamPrograms(t, pods) })
	// These tests mostly wait for slow readers and for the node to start pods.
	together(t, map[string]func(*testing.T){
		"ExecWithSlowReader":    func(t *testing.T) { testExecWithSlowReader(t, c, pods) },
		"Logs":                  func(t *testing.T) { testLogs(t, pods) },
		"MergedLogs":            func(t *testing.T) { testMergedLogs(t, c, pods) },
		"LogsAcrossReconnects":  func(t *testing.T) { testLogsAcrossReconnects(t, c, pods) },
		"Fence":                 func(t *testing.T) { testFencedStreams(t, c, pods) },
		"LogsOfBrokenRestarts":  func(t *testing.T) { testLogsOfBrokenRestarts(t, c, pods) },
		"LogsAcrossRestarts":    func(t *testing.T) { testLogsAcrossRestarts(t, c, pods) },
		"PortForwardService":    func(t *testing.T) { testPortForwardService(t, c, pods) },
		"PortForwardDeployment": func(t *testing.T) { testPortForwardDeployment(t, c, ns) },
	})
	t.Run("PodDeletion", func(t *testing.T) { testPodDeletion(t, c, pods) })
}

// together runs tests in parallel, and returns when all have ended.
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

// talker returns a pod with a container for each kind of stream.
func talker(name string) *corev1.Pod {
	container := func(name string, args ...string) corev1.Container {
		return corev1.Container{Name: name, Image: cluster.TestImage, ImagePullPolicy: corev1.PullNever, Args: args}
	}
	web := container("web")
	serve(&web)
	input := container("input", "cat")
	input.Stdin = true
	terminal := container("terminal", "size")
	terminal.Stdin, terminal.TTY = true, true
	bare := container("bare")
	bare.Env = []corev1.EnvVar{{Name: "PATH", Value: "/none"}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{
				web, container("echo", "echo-server", "7"), container("lines", "lines", "1000000", "50ms"),
				input, terminal, bare,
			},
		},
	}
}

// leftovers counts the goroutines and the open files of this process, and returns a function that fails the test if
// there are more. It closes the idle connections of c, which no other test may use.
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
				t.Errorf("%d goroutines and %d open files, want at most %d and %d:\n%s",
					runtime.NumGoroutine(), openFiles(t), goroutines, files, stacks[:runtime.Stack(stacks, true)])
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// openFiles returns the number of open files of this process. It skips the test on systems without /proc.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("can't count the open files: ", err)
	}
	return len(entries)
}

// inSpace returns the API of the pods of the same namespace with another client.
func inSpace(t *testing.T, pods *kube.API[corev1.Pod], c *kube.Client) *kube.API[corev1.Pod] {
	t.Helper()
	return kube.Namespaced[corev1.Pod](c, pods.Namespace())
}

// size formats a number of bytes in MiB.
func size(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }
