// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/logs"
)

// logCluster is an API server in a bubble, with a watch for pods and logs that can be followed.
type logCluster struct {
	logServer
	events  chan map[string]any // of the watch
	refuses bool                // it refuses the next watch with 503

	mu       sync.Mutex          // guards the fields below
	written  map[string][]string // the lines of the log that is served for the name of a pod
	open     map[string][]chan string
	requests []string // the names of the pods whose logs were requested
}

// follow follows the logs of the cluster while the script runs, and returns the lines.
func (c *logCluster) follow(t *testing.T, o logs.Options, script func()) (lines []string) {
	t.Helper()
	c.events = make(chan map[string]any)
	c.written, c.open = map[string][]string{}, map[string][]chan string{}
	cl, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"}, Retry: &middleware.RetryOptions{MaxAttempts: 1},
		Transport: middleware.RoundTripperFunc(c.respond),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		synctest.Wait()
		script()
		time.Sleep(time.Minute)
		cancel()
	}()
	o.Log.Follow = true
	for line, err := range logs.Merge(ctx, client.Namespaced[corev1.Pod](cl, "prod"), &o) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		lines = append(lines, line.Text)
	}
	return lines
}

func (c *logCluster) respond(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch q := r.URL.Query(); {
	case strings.HasSuffix(r.URL.Path, "/log"):
		parts := strings.Split(r.URL.Path, "/")
		return c.log(r, parts[len(parts)-2]), nil
	case q.Has("watch") && !q.Has("sendInitialEvents"):
		if c.refuses {
			c.refuses = false
			fail(w, 503, "ServiceUnavailable", "try again")
			return w.Result(), nil
		}
		res := quiet(r, 1000*time.Hour, nil)
		body, out := io.Pipe()
		context.AfterFunc(r.Context(), func() { out.CloseWithError(context.Cause(r.Context())) })
		go func() {
			for {
				select {
				case ev := <-c.events:
					_ = json.NewEncoder(out).Encode(ev)
				case <-r.Context().Done():
					return
				}
			}
		}()
		res.Body = body
		return res, nil
	}
	c.ServeHTTP(w, r)
	return w.Result(), nil
}

// log sends the lines that a log has and those that are written later.
func (c *logCluster) log(r *http.Request, pod string) *http.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, pod)
	later, existing := make(chan string), strings.Join(c.written[pod], "")
	c.open[pod] = append(c.open[pod], later)
	if r.URL.Query().Get("tailLines") == "0" {
		existing = ""
	}
	res := quiet(r, 1000*time.Hour, nil)
	body, out := io.Pipe()
	go func() {
		_, _ = io.WriteString(out, existing)
		for {
			select {
			case line, ok := <-later:
				if !ok {
					out.CloseWithError(io.ErrUnexpectedEOF)
					return
				}
				_, _ = io.WriteString(out, line)
			case <-r.Context().Done():
				out.CloseWithError(context.Cause(r.Context()))
				return
			}
		}
	}()
	res.Body = body
	return res
}

// write adds a line to the log of a pod, and waits until it is read.
func (c *logCluster) write(pod string, second int, text string) {
	c.mu.Lock()
	line := at(second) + " " + text + "\n"
	c.written[pod] = append(c.written[pod], line)
	for _, later := range c.open[pod] {
		later <- line
	}
	c.mu.Unlock()
	time.Sleep(300 * time.Millisecond)
}

// breaks breaks the connections to the log of a pod, and waits until it is opened again.
func (c *logCluster) breaks(pod string) {
	c.mu.Lock()
	for _, later := range c.open[pod] {
		close(later)
	}
	c.open[pod] = nil
	c.mu.Unlock()
	time.Sleep(3 * time.Second)
}

// replace sets that the next pod web has another log. It returns a function that breaks the connections to the log of
// the old one.
func (c *logCluster) replace() (breakOld func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.open["web"]
	c.open["web"], c.written["web"] = nil, nil
	return func() {
		for _, later := range old {
			close(later)
		}
		time.Sleep(3 * time.Second)
	}
}

func (c *logCluster) send(event string, pod corev1.Pod) {
	pod.APIVersion, pod.Kind = "v1", "Pod"
	c.events <- map[string]any{"type": event, "object": pod}
	time.Sleep(time.Millisecond)
}

// alive is a pod with one container that runs.
func alive(name, uid string) corev1.Pod {
	pod := running(name, "main")
	pod.UID = types.UID(uid)
	pod.Status.ContainerStatuses[0].ContainerID = "id-" + uid
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	return pod
}

// TestNextPodOfANameIsReadOnce checks that the log of a pod that has the name of a deleted one is read once.
func TestNextPodOfANameIsReadOnce(t *testing.T) {
	before, next := alive("web", "1"), alive("web", "2")
	for _, tt := range []struct {
		name     string
		script   func(c *logCluster)
		requests int
	}{
		{"the old log breaks after the next pod has started", func(c *logCluster) {
			breakOld := c.replace()
			c.send("DELETED", before)
			c.send("ADDED", next)
			c.write("web", 2, "second")
			breakOld()
			c.write("web", 3, "third")
		}, 2},
		{"the old log breaks before the pod is deleted", func(c *logCluster) {
			breakOld := c.replace()
			go breakOld()
			time.Sleep(time.Millisecond)
			c.send("DELETED", before)
			c.write("web", 2, "second")
			time.Sleep(3 * time.Second)
			c.send("ADDED", next)
			c.write("web", 3, "third")
		}, 2},
		{"the old log is resumed before the pod is deleted", func(c *logCluster) {
			c.replace()()
			c.write("web", 2, "second")
			c.send("DELETED", before)
			c.send("ADDED", next)
			c.breaks("web")
			c.write("web", 3, "third")
		}, 3},
		{"the resumed log breaks before the next pod is found", func(c *logCluster) {
			c.replace()()
			c.write("web", 2, "second")
			c.send("DELETED", before)
			c.breaks("web")
			c.send("ADDED", next)
			c.write("web", 3, "third")
		}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &logCluster{logServer: logServer{pods: []corev1.Pod{before}}}
				got := c.follow(t, logs.Options{}, func() {
					c.write("web", 1, "first")
					tt.script(c)
				})
				if diff := cmp.Diff([]string{"first", "second", "third"}, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
				if len(c.requests) != tt.requests {
					t.Errorf("%d requests for the log, want %d", len(c.requests), tt.requests)
				}
			})
		})
	}
}

// TestPodThatReturnsContinues checks that each line is read once if a pod leaves the selection and returns. The watch
// then reports that it is deleted, and added.
func TestPodThatReturnsContinues(t *testing.T) {
	web := alive("web", "1")
	restarted := alive("web", "1")
	restarted.Status.ContainerStatuses[0].ContainerID = "second"
	for _, tt := range []struct {
		name   string
		script func(c *logCluster)
	}{
		{"while its log is open", func(c *logCluster) {
			c.send("DELETED", web)
			c.write("web", 2, "second")
			c.send("ADDED", web)
			c.breaks("web")
		}},
		{"after its log broke", func(c *logCluster) {
			c.send("DELETED", web)
			c.breaks("web")
			c.write("web", 2, "second")
			c.send("ADDED", web)
		}},
		{"before its log is resumed", func(c *logCluster) {
			c.send("DELETED", web)
			go c.breaks("web")
			time.Sleep(time.Second / 2)
			c.send("ADDED", web)
			time.Sleep(3 * time.Second)
			c.write("web", 2, "second")
		}},
		{"twice", func(c *logCluster) {
			for range 2 {
				c.send("DELETED", web)
				c.breaks("web")
				c.send("ADDED", web)
			}
			c.write("web", 2, "second")
		}},
		{"after a restart of its container", func(c *logCluster) {
			c.send("DELETED", web)
			c.breaks("web")
			c.replace()
			c.write("web", 2, "second")
			c.send("ADDED", restarted)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &logCluster{logServer: logServer{pods: []corev1.Pod{web}}}
				got := c.follow(t, logs.Options{LabelSelector: "role=primary"}, func() {
					c.write("web", 1, "first")
					tt.script(c)
					c.write("web", 3, "third")
				})
				if diff := cmp.Diff([]string{"first", "second", "third"}, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestLogsOverMaxLogsStartLater checks that a log over MaxLogs is reported once, and starts when another one ends,
// unless its pod has left the selection.
func TestLogsOverMaxLogsStartLater(t *testing.T) {
	a, b, gone, d := alive("a", "a"), alive("b", "b"), alive("gone", "gone"), alive("d", "d")
	for _, tt := range []struct {
		name string
		log  request.LogOptions
	}{
		{"all lines", request.LogOptions{}},
		{"new lines", request.LogOptions{TailLines: new(int64(0))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &logCluster{logServer: logServer{pods: []corev1.Pod{a, b, gone}}}
				var mu sync.Mutex // guards reports
				var reports []string
				o := logs.Options{MaxLogs: 1, Log: tt.log, OnError: func(pod core.ObjectRef, _ string, err error) {
					mu.Lock()
					defer mu.Unlock()
					reports = append(reports, pod.Name)
					if !strings.Contains(err.Error(), "MaxLogs") {
						t.Error(err)
					}
				}}
				got := c.follow(t, o, func() {
					c.write("a", 1, "a1")
					c.write("b", 2, "b1")
					c.write("gone", 3, "gone")
					c.send("ADDED", d)
					c.send("MODIFIED", b)
					c.send("DELETED", gone)
					c.write("a", 4, "a2")
					c.breaks("a") // it continues, although others wait
					c.write("a", 5, "a3")
					c.send("DELETED", a)
					c.breaks("a")
					c.write("b", 6, "b2")
					c.send("DELETED", b)
					c.breaks("b")
					c.write("d", 7, "d1")
				})
				if diff := cmp.Diff([]string{"a1", "a2", "a3", "b1", "b2", "d1"}, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"b", "gone", "d"}, reports); diff != "" {
					t.Errorf("reports (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"a", "a", "b", "d"}, c.requests); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRestartedContainersKeepTheirPlaces checks that the next run of a container is read before logs that wait, and takes
// the place of a run that waits.
func TestRestartedContainersKeepTheirPlaces(t *testing.T) {
	web, b, d := alive("web", "1"), alive("b", "b"), alive("d", "d")
	restarted := func(pod corev1.Pod) corev1.Pod {
		next := *pod.DeepCopy()
		next.Status.ContainerStatuses[0].ContainerID += "-next"
		return next
	}
	synctest.Test(t, func(t *testing.T) {
		c := &logCluster{logServer: logServer{pods: []corev1.Pod{web, b, d}}}
		var mu sync.Mutex // guards reports
		var reports []string
		o := logs.Options{MaxLogs: 1, OnError: func(pod core.ObjectRef, _ string, _ error) {
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, pod.Name)
		}}
		got := c.follow(t, o, func() {
			c.write("web", 1, "web1")
			c.send("MODIFIED", restarted(b))
			c.write("b", 2, "b1")
			c.write("d", 3, "d1")
			breakOld := c.replace()
			c.send("MODIFIED", restarted(web))
			breakOld()
			c.write("web", 4, "web2")
			c.send("DELETED", restarted(web))
			c.breaks("web")
		})
		if diff := cmp.Diff([]string{"web1", "web2", "b1"}, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"b", "d"}, reports); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
	})
}

// TestFailuresOfTheWatchAreLogged checks that the log has the failures from which the watch for pods recovers.
func TestFailuresOfTheWatchAreLogged(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	synctest.Test(t, func(t *testing.T) {
		c := &logCluster{refuses: true}
		got := c.follow(t, logs.Options{}, func() {
			c.send("ADDED", alive("web", "1"))
			c.write("web", 1, "first")
		})
		if fmt.Sprint(got) != "[first]" {
			t.Errorf("lines = %v, want the first", got)
		}
	})
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "try again") {
		t.Errorf("log = %s, want a warning with the error of the watch", got)
	}
}
