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

// testExecSlowly promises that a process without an input is heard to its end, and its exit status is known, though it has
// ended long before a slow reader comes to that; and that it is asked for by the protocol for which this holds.
func testExecSlowly(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	var spoken guarded[string]
	layer := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				spoken.set(resp.Header.Get("Sec-WebSocket-Protocol"))
			}
			return resp, err
		})
	}
	pods = inSpace(t, pods, connect(t, &kube.ClientOptions{Config: c.Config(), Middleware: []middleware.Func{layer}}))
	p, err := podVerbs(pods).Exec(limit(t), "talker", &kube.ExecOptions{Container: "web", Command: []string{"tool", "sum"}, Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Output(); err != nil || spoken.get() != "v5.channel.k8s.io" {
		t.Errorf("with an input, %q was spoken, %v; want the protocol that can end it", spoken.get(), err)
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
			t.Errorf("at %d bytes a second it ended with %v, want the exit status 1", rate, err)
		}
		return w.count
	}
	want := exec(1 << 30)
	if spoken.get() != "v4.channel.k8s.io" {
		t.Errorf("without an input, %q was spoken", spoken.get())
	}
	var running sync.WaitGroup
	for seconds := 4; seconds < 12; seconds++ {
		running.Go(func() {
			if rate := want / seconds; exec(rate) != want {
				t.Errorf("at %d bytes a second the output was not whole", rate)
			}
		})
	}
	running.Wait()
}

// testExecMany promises that two hundred processes, however they are left, leave nothing behind.
func testExecMany(t *testing.T, c *kube.Client, pods *kube.API[corev1.Pod]) {
	own := connect(t, &kube.ClientOptions{Config: c.Config()})
	pods = inSpace(t, pods, own)
	check := leftovers(t, own)
	enough := errors.New("enough")
	var running sync.WaitGroup
	const at, each = 8, 25
	for i := range at {
		running.Go(func() {
			for range each {
				ctx, cancel := context.WithCancelCause(limit(t))
				p, err := podVerbs(pods).Exec(ctx, "talker", &kube.ExecOptions{
					Container: "web", Command: []string{"tool", "write", "1M"}, BufferBytes: 1 << 10, StallTimeout: -1,
					Stdin: i >= 2 && i%2 == 0, // with an input, servers may break off at the end, see Exec
				})
				switch {
				case err != nil:
				case i < 2: // it is heard to its end
					err = p.Run(nil, io.Discard, nil)
				case i < 4: // it is left while its output waits
					p.Close()
				case i < 6: // its context ends at once
					cancel(enough)
					if err = p.Wait(); errors.Is(err, enough) {
						err = nil
					}
				default: // its reader fails
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

// full is a writer on which nothing more can be written.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

// slowWriter takes so many bytes a second, and counts them.
type slowWriter struct {
	rate, count int
	start       time.Time
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.count += len(p)
	<-time.After(time.Until(w.start.Add(time.Duration(w.count) * time.Second / time.Duration(w.rate))))
	return len(p), nil
}
