// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake requires it
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestRunConnectsStreams checks that Run connects all streams of a command and ends its input, and that the request has
// all options.
func TestRunConnectsStreams(t *testing.T) {
	query := make(chan url.Values, 1)
	s := testserver.New(t, upgrades(t, v5, func(s *socket) {
		query <- s.request.URL.Query()
		s.send(2, "warning")
		cat(s)
	}))
	p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"cat", "-"}, Container: "main", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	input := strings.Repeat("some text\n", 100_000)
	var stdout, stderr bytes.Buffer
	if err := p.Run(strings.NewReader(input), &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != input || stderr.String() != "warning" {
		t.Errorf("Run() wrote %d bytes and %q, want the input and the warning", stdout.Len(), stderr.String())
	}
	want := url.Values{"command": {"cat", "-"}, "container": {"main"}, "stdin": {"true"}, "stdout": {"true"}, "stderr": {"true"}}
	if diff := cmp.Diff(want, <-query); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	p.Close()
	if _, err := p.Stdin.Write([]byte("late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write() after the end = %v, want %v", err, os.ErrClosed)
	}
}

// TestOutputReturnsOutcomeOfProcess checks that Output and Wait return the exit status of a process, or the reason why
// it is unknown.
func TestOutputReturnsOutcomeOfProcess(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(*socket)
		want string // the error
		is   error
	}{
		{"a process succeeds", func(s *socket) { s.end(success) }, "", nil},
		{"a process fails", func(s *socket) { s.end(exited("3")) }, "exec pods prod/web: exit status 3", nil},
		{
			"a command can't be run", func(s *socket) {
				s.end(`{"status":"Failure","reason":"InternalError","code":500,"message":"no such program"}`)
			}, "exec pods prod/web: internal error: server said: no such program", core.ErrInternal,
		},
		{
			"an invalid exit status", func(s *socket) { s.end(exited("many")) },
			"server said: command terminated with exit code many", nil,
		},
		{
			"a server that sends plain text", func(s *socket) { s.end("no such\n program") },
			"server said: no such program", core.ErrInternal,
		},
		{
			"a server that sends no status", func(s *socket) { s.hangUp(1000, "") },
			"without reporting how the process ended", io.ErrUnexpectedEOF,
		},
		{
			"a server that cuts the connection", func(s *socket) { _ = s.Close() },
			"connection broke", io.ErrUnexpectedEOF,
		},
		{"a server that fails", func(s *socket) { s.hangUp(1011, "out of memory") }, "1011: out of memory", io.ErrUnexpectedEOF},
		{
			"a server that cuts the connection after the status",
			func(s *socket) { s.send(3, exited("3")); _ = s.Close() },
			"exit status 3", nil,
		},
		{
			"a status that is too long", func(s *socket) { s.end(strings.Repeat("x", 100_000)) },
			"server said: xxx", core.ErrInternal,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, upgrades(t, v4, tc.play))
			p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Output()
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("Output() = %v, want %q, %v", err, tc.want, tc.is)
			}
			if again := p.Wait(); again == nil || again.Error() != err.Error() {
				t.Errorf("Wait() = %v, want %v again", again, err)
			}
		})
	}
}

func TestOutputKeepsStderrOfFailedProcess(t *testing.T) {
	s := testserver.New(t, upgrades(t, v4, func(s *socket) {
		s.send(1, "half of the output")
		s.send(2, strings.Repeat("warning ", 5000))
		s.end(exited("2"))
	}))
	p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"make"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Output()
	exit, ok := errors.AsType[*pod.ExitError](err)
	if !ok || exit.Code != 2 || len(exit.Stderr) != 16<<10 || string(out) != "half of the output" {
		t.Errorf("Output() = %q, %v, want half of the output, and status 2 with 16 KiB of Stderr", out, err)
	}
}

// TestExecReturnsErrorOfRefusedUpgrade checks that a response other than an upgrade is the same error as for other
// requests.
func TestExecReturnsErrorOfRefusedUpgrade(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
		is      error
	}{
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 403, "Forbidden", long()) }, long(), core.ErrForbidden},
		{"no pod", func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 404, "NotFound", "") }, "not found", core.ErrNotFound},
		{
			"a redirect", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://elsewhere.test/", http.StatusFound)
			},
			"redirects are not followed", nil,
		},
		{"no upgrade", func(w http.ResponseWriter, _ *http.Request) {
			testserver.Reply(w, 200, wire.MediaTypeJSON, []byte("{}"))
		}, "status 200", nil},
		{"another protocol", upgrades(t, "other", func(*socket) {}), `chose the protocol "", which is not one of v4.channel.k8s.io`, nil},
		{
			"an upgrade without a key", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "websocket")
				w.WriteHeader(http.StatusSwitchingProtocols)
			}, "is invalid", nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.handler)
			_, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("Exec() = %v, want %q, %v", err, tc.want, tc.is)
			}
			if _, ok := errors.AsType[*client.OpError](err); !ok {
				t.Errorf("Exec() = %v, want an OpError", err)
			}
		})
	}
}

func TestInvalidExecSendsNothing(t *testing.T) {
	s := testserver.New(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	pods := podsOf(t, s)
	for _, tc := range []struct {
		name string
		call func() error
		want string
	}{
		{"no options", func() error { _, err := pods.Exec(t.Context(), "web", nil); return err }, "ExecOptions.Command"},
		{"no name", func() error {
			_, err := pods.Exec(t.Context(), "", &pod.ExecOptions{Command: []string{"true"}})
			return err
		}, "name"},
		{"no stream", func() error {
			_, err := pods.Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}, NoStdout: true, NoStderr: true})
			return err
		}, "NoStdout"},
		{"a negative buffer", func() error {
			_, err := pods.Attach(t.Context(), "web", &pod.AttachOptions{BufferBytes: -1})
			return err
		}, "BufferBytes"},
		{"no pod", func() error {
			_, err := pods.Attach(t.Context(), "", nil)
			return err
		}, "name: is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.call()
			if _, ok := errors.AsType[*request.InvalidError](err); !ok || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want an InvalidError with %q", err, tc.want)
			}
		})
	}
}

// TestExecPassesThroughMiddleware checks that the request for a stream has credentials and passes through the
// middleware.
func TestExecPassesThroughMiddleware(t *testing.T) {
	s := testserver.New(t, upgrades(t, v4, func(s *socket) {
		s.send(1, s.request.Header.Get("Authorization"))
		s.end(success)
	}))
	cfg := s.Config()
	cfg.BearerToken = "sesame"
	var seen middleware.Call
	c := testserver.NewClient(t, &client.Options{Config: cfg, Middleware: []middleware.Func{func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			seen, _ = middleware.CallOf(r.Context())
			return next.RoundTrip(r)
		})
	}}})
	p, err := pod.In(c, "prod").Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.Output(); string(out) != "Bearer sesame" || err != nil {
		t.Errorf("Authorization = %q, %v", out, err)
	}
	if seen.Verb != "create" || seen.Idempotent {
		t.Errorf("the middleware received %+v, want a create that is not idempotent", seen)
	}
}

// TestExecNeedsTransportWithConnection checks that Exec works with a custom transport, and returns an error if the
// transport hides the connection.
func TestExecNeedsTransportWithConnection(t *testing.T) {
	testserver.CheckGoroutines(t)
	s := httptest.NewServer(upgrades(t, v4, func(s *socket) { s.end(success) }))
	t.Cleanup(s.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, tc := range []struct {
		name      string
		transport http.RoundTripper
		want      string
	}{
		{"a transport of net/http", transport, ""},
		{"a transport that hides the connection", hiding{transport}, "hides the connection"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testserver.NewClient(t, &client.Options{Config: &config.Config{Server: s.URL}, Transport: tc.transport})
			p, err := pod.In(c, "prod").Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}})
			if err == nil {
				err = p.Wait()
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Exec() = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestVersion4HasNoHalfClose checks that ending the input is an error with a server that supports only version 4, and
// that input and output work.
func TestVersion4HasNoHalfClose(t *testing.T) {
	s := testserver.New(t, upgrades(t, v4, func(s *socket) {
		_, data, _ := s.receive()
		s.send(1, data)
		s.receive()
	}))
	pods := podsOf(t, s)
	o := &pod.ExecOptions{Command: []string{"cat"}, Stdin: true}
	p, err := pods.Exec(t.Context(), "web", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin, "hello"); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(p.Stdout, make([]byte, 5)); err != nil {
		t.Error(err)
	}
	if err := p.Stdin.Close(); !errors.Is(err, pod.ErrNoHalfClose) {
		t.Errorf("Stdin.Close() = %v, want ErrNoHalfClose", err)
	}
	p.Close()

	if p, err = pods.Exec(t.Context(), "web", o); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(strings.NewReader("hello"), io.Discard, nil); !errors.Is(err, pod.ErrNoHalfClose) {
		t.Errorf("Run() = %v, want ErrNoHalfClose", err)
	}
}

func TestResizeSendsTerminalSize(t *testing.T) {
	sizes := make(chan string, 1)
	s := testserver.New(t, upgrades(t, v5, func(s *socket) {
		channel, data, _ := s.receive()
		sizes <- string('0'+rune(channel)) + data
		s.end(success)
	}))
	pods := podsOf(t, s)
	p, err := pods.Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"sh"}, TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.Stderr != nil || p.Stdin != nil {
		t.Errorf("Stderr = %v, Stdin = %v, want nil with a terminal and without an input", p.Stderr, p.Stdin)
	}
	if err := p.Resize(0, 24); err == nil {
		t.Error("Resize(0, 24) = nil, want an error")
	}
	if err := p.Resize(80, 24); err != nil {
		t.Error(err)
	}
	if got, want := <-sizes, `4{"Width":80,"Height":24}`; got != want {
		t.Errorf("the server received %s, want %s", got, want)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
	if p, err = pods.Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"sh"}, Stdin: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.Resize(80, 24); err == nil || !strings.Contains(err.Error(), "TTY") {
		t.Errorf("Resize() without a terminal = %v, want an error", err)
	}
	p.Close()
}

// TestExecReleasesHangingProcess checks that the caller can end the stream to a process that hangs, and that no
// goroutine is left.
func TestExecReleasesHangingProcess(t *testing.T) {
	hang := upgrades(t, v5, func(s *socket) { s.receive() })
	cause := errors.New("enough")
	t.Run("by its context", func(t *testing.T) {
		s := testserver.New(t, hang)
		ctx, cancel := context.WithCancelCause(t.Context())
		p, err := podsOf(t, s).Exec(ctx, "web", &pod.ExecOptions{Command: []string{"sleep"}, Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		in, feed := io.Pipe()
		defer func() { _ = feed.Close() }() // never fails
		if err := p.Run(in, io.Discard, io.Discard); !errors.Is(err, cause) {
			t.Errorf("Run() = %v, want %v", err, cause)
		}
	})
	t.Run("by Close", func(t *testing.T) {
		s := testserver.New(t, hang)
		p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"sleep"}, Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		p.Close()
		if err := p.Wait(); err == nil || !strings.Contains(err.Error(), "closed before the process had ended") {
			t.Errorf("Wait() after Close = %v, want that the stream was closed", err)
		}
	})
	t.Run("by a writer that fails", func(t *testing.T) {
		s := testserver.New(t, upgrades(t, v4, func(s *socket) {
			for range 1000 {
				s.send(1, strings.Repeat("x", 1000))
			}
			s.receive()
		}))
		p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"yes"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(nil, failing{cause}, nil); !errors.Is(err, cause) {
			t.Errorf("Run() = %v, want %v", err, cause)
		}
	})
	t.Run("by its context before the response", func(t *testing.T) {
		s := testserver.New(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		if _, err := podsOf(t, s).Exec(ctx, "web", &pod.ExecOptions{Command: []string{"true"}}); !errors.Is(err, cause) {
			t.Errorf("Exec() = %v, want %v", err, cause)
		}
	})
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRunRejectsStreamsThatWereNotRequested(t *testing.T) {
	s := testserver.New(t, upgrades(t, v4, func(s *socket) { s.receive() }))
	p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"sleep"}, NoStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Run(strings.NewReader(""), nil, nil); err == nil || !strings.Contains(err.Error(), "Stdin") {
		t.Errorf("Run() with an input = %v, want an error", err)
	}
	if err := p.Run(nil, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "Stderr") {
		t.Errorf("Run() with a second output = %v, want an error", err)
	}
}

// TestCutStreamSucceedsOnlyWithStatus checks that a stream that is cut at any byte yields only data that was sent, and
// succeeds only if the exit status has arrived.
func TestCutStreamSucceedsOnlyWithStatus(t *testing.T) {
	whole := "\x82\x06\x01hello\x82\x06\x02error\x82\x23\x03" + success + "\x88\x02\x03\xe8"
	for n := range len(whole) + 1 {
		s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			//nolint:gosec // the WebSocket handshake requires it
			sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
				"Sec-WebSocket-Protocol: "+v4+"\r\nSec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n"+whole[:n])
		})
		p, err := podsOf(t, s).Exec(t.Context(), "web", &pod.ExecOptions{Command: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		err = p.Run(nil, &stdout, &stderr)
		complete := n >= strings.Index(whole, success)+len(success)
		if (err == nil) != complete || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: Run() = %v, complete: %v", n, err, complete)
		}
		if !strings.HasPrefix("hello", stdout.String()) || !strings.HasPrefix("error", stderr.String()) {
			t.Errorf("cut after %d bytes: outputs %q and %q", n, stdout.String(), stderr.String())
		}
		s.Close()
	}
}

func TestAttachRequestsStreams(t *testing.T) {
	s := testserver.New(t, upgrades(t, v5, func(s *socket) {
		s.send(1, s.request.URL.RequestURI())
		s.end(success)
	}))
	p, err := podsOf(t, s).Attach(t.Context(), "web", &pod.AttachOptions{Container: "main", Stdin: true, NoStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Output()
	if want := "/api/v1/namespaces/prod/pods/web/attach?container=main&stdin=true&stdout=true"; string(out) != want || err != nil {
		t.Errorf("request = %s, %v, want %s", out, err, want)
	}
}
