// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// testLogsAcrossReconnects checks that following a log returns each line once and in order, although the connection to
// the server is interrupted repeatedly.
func testLogsAcrossReconnects(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	link, pods := throughCutter(t, c, pods)
	const cutAfter, cuts = 5, 4
	n, first := 0, 0
	done, since, made := 0, 0, 0 // number of cuts; lines since the last cut; connections before it
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{
		LabelSelector: "app=talker", Log: kube.LogOptions{Container: "lines", Follow: true, TailLines: new(int64(1))},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			if _, err := fmt.Sscanf(line.Text, "line %d", &first); err != nil {
				t.Fatalf("%q: %v", line.Text, err)
			}
		}
		if want := fmt.Sprintf("line %d", first+n); line.Text != want {
			t.Fatalf("the log continues with %q, want %q", line.Text, want)
		}
		n++
		// Lines that arrived before a cut are read after it. Only a new connection can be cut again.
		if since++; since < cutAfter || link.made() == made {
			continue
		}
		if done == cuts {
			break
		}
		made = link.made()
		link.cut()
		done, since = done+1, 0
	}
	if done < cuts {
		t.Errorf("the connection was interrupted %d times, want %d", done, cuts)
	}
}

// TestMergedLogContinuesAfterARestartOfTheKubelet checks that no line is lost if the connection of the API server to
// the node breaks. The API server ends the log then, without an error, and the container continues.
func TestMergedLogContinuesAfterARestartOfTheKubelet(t *testing.T) {
	builtinCluster(t) // otherwise this test can't restart a kubelet
	c := clusterWithNode(t)
	kubelet := started.Component(cluster.Kubelet)
	ns := newNamespace(t, c)
	awaitPods(t, c, ns)
	pods := kube.Namespaced[corev1.Pod](c, ns)
	writer := &corev1.Pod{Spec: podSpec(nodeOf(t, c))}
	writer.Name = "writer"
	writer.Spec.Containers[0].Args = []string{"lines", "100000", "20ms"}
	startPod(t, pods, writer)
	const before, all = 20, 400
	n := 0
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{Log: kube.LogOptions{Follow: true}}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("line %d", n+1); line.Text != want {
			t.Fatalf("the log continues with %q, want %q", line.Text, want)
		}
		switch n++; n {
		case before:
			if err := errors.Join(kubelet.Kill(), kubelet.Start(limit(t))); err != nil {
				t.Fatal(err)
			}
		case all:
			return
		}
	}
	t.Errorf("the log has %d lines, want at least %d", n, all)
}

// testLogsAcrossRestarts checks that following a log returns each run of a container once, and that the log of the
// previous run can be requested.
func testLogsAcrossRestarts(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	pod := &corev1.Pod{Spec: podSpec(nodeOf(t, c))}
	pod.Name, pod.Labels = "restarts", map[string]string{"app": "restarts"}
	pod.Spec.Containers[0].Args = []string{"lines", "3", "10ms"}
	if _, err := pods.Create(limit(t), pod, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line, err := range kube.MergeLogs(limit(t), pods, &kube.MergeLogsOptions{
		LabelSelector: "app=restarts", Log: kube.LogOptions{Follow: true},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.Text != fmt.Sprintf("line %d", (n-1)%3+1) {
			t.Fatalf("line %d is %q", n, line.Text)
		}
		if n == 6 { // two runs of three lines
			break
		}
	}
	// The kubelet may remove an older run of the container during the request, if a newer one exists already.
	eventually(t, "the log of the previous run has three lines", func(ctx context.Context) error {
		var previous []string
		for line, err := range podVerbs(pods).LogLines(ctx, "restarts", &kube.LogOptions{Previous: true}) {
			if err != nil {
				return err
			}
			previous = append(previous, line.Text)
		}
		if want := []string{"line 1", "line 2", "line 3"}; !slices.Equal(previous, want) {
			return fmt.Errorf("lines %q, want %q", previous, want)
		}
		return nil
	})
	if err := pods.Delete(limit(t), "restarts", &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
		t.Error(err)
	}
}

// testLogsOfBrokenRestarts checks that no line is lost or repeated if the connection is interrupted shortly before the
// kubelet restarts the container, so that the log is requested again before, during or after the restart.
func testLogsOfBrokenRestarts(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	node := nodeOf(t, c)
	for _, delay := range []time.Duration{0, 400 * time.Millisecond, 800 * time.Millisecond, 1200 * time.Millisecond} {
		t.Run(fmt.Sprintf("restart %v later", delay), func(t *testing.T) {
			t.Parallel()
			link, broken := throughCutter(t, c, pods)
			// The container writes its input, and ends with it.
			typist := &corev1.Pod{Spec: podSpec(node)}
			typist.Name = fmt.Sprint("typist-", delay.Milliseconds())
			typist.Labels = map[string]string{"app": typist.Name}
			main := &typist.Spec.Containers[0]
			main.Args, main.Stdin, main.StdinOnce = []string{"cat"}, true, true
			startPod(t, pods, typist)

			lines := make(chan string, 1000)
			stop := background(t, func(ctx context.Context) error {
				for line, err := range kube.MergeLogs(ctx, broken, &kube.MergeLogsOptions{
					LabelSelector: "app=" + typist.Name, Log: kube.LogOptions{Follow: true},
				}) {
					if err != nil {
						return err
					}
					lines <- line.Text
				}
				return errors.New("the sequence has ended without an error")
			})
			const perRun = 20
			for run := range 2 {
				_, err := kube.Await(limit(t), pods, typist.Name, func(pod *corev1.Pod) error {
					s := pod.Status.ContainerStatuses[0]
					if s.State.Running == nil || int(s.RestartCount) != run {
						return fmt.Errorf("the container is %+v after %d restarts", s.State, s.RestartCount)
					}
					return nil
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				p, err := podVerbs(pods).Attach(limit(t), typist.Name, &pod.AttachOptions{Stdin: true, NoStdout: true, NoStderr: true})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				for n := range perRun {
					text := fmt.Sprintf("run %d, line %d", run, n)
					if _, err := io.WriteString(p.Stdin, text+"\n"); err != nil {
						t.Fatal(err)
					}
					select {
					case got := <-lines:
						if got != text {
							t.Fatalf("the log continues with %q, want %q", got, text)
						}
					case <-limit(t).Done():
						t.Fatalf("the line %q is lost", text)
					}
					if run > 0 {
						<-time.After(100 * time.Millisecond) // another reader of this run may be late
					}
				}
				if run == 0 {
					link.cut()
					<-time.After(delay)
				}
				if err := p.Stdin.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := stop(); !errors.Is(err, errStopped) {
				t.Error(err)
			}
			if n := len(lines); n > 0 {
				t.Errorf("the log has %d lines more, the first %q", n, <-lines)
			}
			if err := pods.Delete(limit(t), typist.Name, &kube.DeleteOptions{GracePeriod: new(time.Duration(0))}); err != nil {
				t.Error(err)
			}
		})
	}
}

// throughCutter returns an API of the same pods whose connections can be cut.
func throughCutter(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) (*cutter, *kube.API[corev1.Pod]) {
	t.Helper()
	cfg := *c.Config()
	server, err := url.Parse(cfg.Server)
	if err != nil {
		t.Fatal(err)
	}
	link := newCutter(t, server.Host)
	server.Host = link.addr
	cfg.Server = server.String()
	return link, inSpace(t, pods, connect(t, &kube.ClientOptions{Config: &cfg}))
}

// cutter is a proxy to a server whose connections can be cut.
type cutter struct {
	addr, server string

	mu    sync.Mutex // guards conns and n
	conns []net.Conn
	n     int // number of connections that were made
}

// newCutter returns a proxy to a server, and stops it when the test ends.
func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{addr: listener.Addr().String(), server: server}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			far, err := new(net.Dialer).Dial("tcp", c.server)
			if err != nil {
				near.Close()
				continue
			}
			c.keep(near, far)
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				running.Go(func() {
					_, _ = io.Copy(way[0], way[1]) // until it is cut
					way[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		c.cut()
		running.Wait()
	})
	return c
}

func (c *cutter) keep(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.conns = append(c.conns, conns...)
}

// cut cuts all connections.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// made returns the number of connections that were made.
func (c *cutter) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
