// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/kube"
)

// testExecWithSlowReader checks that a slow reader receives the whole output and the exit status of a process without
// an input, although the process ends long before the reader has read everything. It also checks that Exec requests the
// protocol that allows this.
func testExecWithSlowReader(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	var protocol guarded[string]
	observe := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				protocol.set(resp.Header.Get("Sec-WebSocket-Protocol"))
			}
			return resp, err
		})
	}
	pods = inSpace(t, pods, connect(t, &kube.ClientOptions{Config: c.Config(), Middleware: []middleware.Func{observe}}))
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{
		Container: "web", Command: []string{"tool", "echo"}, Stdin: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Output(); err != nil || protocol.get() != "v5.channel.k8s.io" {
		t.Errorf("with an input, the protocol is %q, %v; want v5.channel.k8s.io, which can close the input",
			protocol.get(), err)
	}

	exec := func(rate int) int {
		p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{
			Container: "web", Command: []string{"tool", "cat", "/bin/tool", "/bin/tool", "/none"}, BufferBytes: 64 << 10,
		})
		if err != nil {
			t.Error(err)
			return 0
		}
		w := &slowWriter{rate: rate, start: time.Now()}
		err = p.Run(nil, w, io.Discard)
		if exit, ok := errors.AsType[*kube.ExitError](err); !ok || exit.Code != 1 {
			t.Errorf("at %d bytes per second, the process ended with %v, want the exit status 1", rate, err)
		}
		return w.count
	}
	want := exec(1 << 30)
	if protocol.get() != "v4.channel.k8s.io" {
		t.Errorf("without an input, the protocol is %q, want v4.channel.k8s.io", protocol.get())
	}
	var running sync.WaitGroup
	for seconds := 4; seconds < 12; seconds++ {
		running.Go(func() {
			rate := want / seconds
			if got := exec(rate); got != want {
				t.Errorf("at %d bytes per second, the output has %d bytes, want %d", rate, got, want)
			}
		})
	}
	running.Wait()
}

// testManyProcesses checks that 48 processes leave nothing behind, no matter how their streams end.
func testManyProcesses(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	enough := errors.New("enough")
	var running sync.WaitGroup
	const at, each = 8, 6
	for i := range at {
		running.Go(func() {
			for range each {
				ctx, cancel := context.WithCancelCause(limit(t))
				p, err := podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{
					Container: "web", Command: []string{"tool", "write", "1M"}, BufferBytes: 1 << 10, StallTimeout: -1,
					Stdin: i >= 2 && i%2 == 0, // with an input, servers may cut the connection at the end, see Exec
				})
				switch {
				case err != nil:
				case i < 2: // its output is read to the end
					err = p.Run(nil, io.Discard, nil)
				case i < 4: // it is closed before its output is read
					p.Close()
				case i < 6: // its context ends immediately
					cancel(enough)
					if err = p.Wait(); errors.Is(err, enough) {
						err = nil
					}
				default: // writing its output fails
					if err = p.Run(nil, full{enough}, nil); errors.Is(err, enough) {
						err = nil
					}
				}
				if err != nil {
					t.Error(err)
				}
				cancel(nil)
			}
		})
	}
	running.Wait()
	check()
}

// full is a writer that always fails with err.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// slowWriter accepts rate bytes per second, and counts them.
type slowWriter struct {
	rate, count int
	start       time.Time
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.count += len(p)
	<-time.After(time.Until(w.start.Add(time.Duration(w.count) * time.Second / time.Duration(w.rate))))
	return len(p), nil
}
