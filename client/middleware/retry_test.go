// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/middleware"
)

// script is a transport that responds to each request with the next step, and repeats the last one.
type script struct {
	mu     sync.Mutex // guards the fields below
	steps  []step
	bodies []string // of the requests
	times  []time.Time
	closed int // number of closed responses
}

// step is a response or an error. If cut is set, the connection breaks after the body.
type step struct {
	status int
	header http.Header
	body   string
	cut    bool
	err    error

	unknown bool // the response has no Content-Length
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := ""
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		body = string(data)
	}
	s.bodies, s.times = append(s.bodies, body), append(s.times, time.Now())
	this := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	if this.err != nil {
		return nil, this.err
	}
	var content io.Reader = strings.NewReader(this.body)
	length := int64(len(this.body))
	if this.cut {
		content, length = io.MultiReader(content, broken{}), length+1
	}
	if this.unknown {
		length = -1
	}
	return &http.Response{
		StatusCode: this.status, Header: this.header, ContentLength: length, Request: r, Body: &counted{content, s},
	}, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// counted counts its calls of Close.
type counted struct {
	io.Reader
	script *script
}

func (c *counted) Close() error {
	c.script.mu.Lock()
	defer c.script.mu.Unlock()
	c.script.closed++
	return nil
}

// waits returns the times between the requests.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i := range s.times[1:] {
		waits = append(waits, s.times[i+1].Sub(s.times[i]))
	}
	return waits
}

var (
	refused = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} //nolint:errname // it is not a sentinel
	reset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}   //nolint:errname // it is not a sentinel
)

func retryAfter(value string) http.Header { return http.Header{"Retry-After": {value}} }

func mustRetry(t testing.TB, o *middleware.RetryOptions) middleware.Func {
	t.Helper()
	mw, err := middleware.Retry(o)
	if err != nil {
		t.Fatal(err)
	}
	return mw
}

// call sends a request through a round tripper and returns the status and the body of the response.
func call(ctx context.Context, rt http.RoundTripper, c middleware.Call, body string) (int, string, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(middleware.WithCall(ctx, c), http.MethodPost, "https://cluster.test/x", content)
	if err != nil {
		return 0, "", err
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

var (
	get    = middleware.Call{Verb: "get", Resource: "pods", Idempotent: true}
	create = middleware.Call{Verb: "create", Resource: "pods"}
)

// TestRetry checks which requests are retried, after which delays, and with which result.
func TestRetry(t *testing.T) {
	ok := step{status: 200, body: "ok"}
	for _, tc := range []struct {
		name   string
		call   middleware.Call
		o      middleware.RetryOptions
		steps  []step
		status int
		err    string
		waits  []time.Duration // the minimum
	}{
		{name: "a success", call: get, steps: []step{ok}, status: 200},
		{
			name: "Retry-After in seconds", call: create, status: 200,
			steps: []step{{status: 429, header: retryAfter("7")}, {status: 503, header: retryAfter("2")}, ok},
			waits: []time.Duration{7 * time.Second, 2 * time.Second},
		},
		{
			name: "Retry-After with a date", call: create, status: 200,
			steps: []step{{status: 429, header: retryAfter("Sat, 01 Jan 2000 00:00:09 GMT")}, ok},
			waits: []time.Duration{9 * time.Second},
		},
		{
			name: "a Retry-After beyond the time limit", call: get, status: 429,
			steps: []step{{status: 429, header: retryAfter("31")}, ok},
		},
		{
			name: "a Retry-After that overflows, on the second attempt", call: get, status: 429,
			steps: []step{{status: 429, header: retryAfter("1")}, {status: 429, header: retryAfter("99999999999999999999")}, ok},
			waits: []time.Duration{time.Second},
		},
		{
			name: "invalid Retry-After values", call: get, status: 200,
			steps: []step{
				{status: 429, header: retryAfter("-7")},
				{status: 429, header: retryAfter("Sat, 01 Jan 1972 00:00:09 GMT")},
				{status: 429, header: retryAfter("soon")},
				ok,
			},
			waits: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond},
		},
		{
			name: "a server that is always busy", call: create, status: 429, o: middleware.RetryOptions{MaxAttempts: 4},
			steps: []step{{status: 429, header: retryAfter("1")}}, waits: []time.Duration{time.Second, time.Second, time.Second},
		},
		{
			name: "a gateway without a backend", call: get, status: 200,
			steps: []step{{status: 502}, {status: 503}, {status: 504}, ok},
			waits: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond},
		},
		{name: "a write with an unknown outcome", call: create, steps: []step{{status: 504}, ok}, status: 504},
		{
			name: "a broken connection", call: get, steps: []step{{err: reset}, ok}, status: 200,
			waits: []time.Duration{50 * time.Millisecond},
		},
		{name: "a broken connection during a write", call: create, steps: []step{{err: reset}, ok}, err: reset.Error()},
		{
			name: "a truncated response", call: get, steps: []step{{status: 200, body: "o", cut: true}, ok}, status: 200,
			waits: []time.Duration{50 * time.Millisecond},
		},
		{
			name: "a truncated response of unknown length", call: get, status: 200,
			steps: []step{{status: 200, body: "o", cut: true, unknown: true}, ok}, waits: []time.Duration{50 * time.Millisecond},
		},
		{
			name: "a truncated response that is streamed", call: get, o: middleware.RetryOptions{ResponseBytes: 1},
			steps: []step{
				{status: 200, body: "long", cut: true, unknown: true},
				ok,
			}, err: io.ErrUnexpectedEOF.Error(), status: 200,
		},
		{
			name: "a truncated response of a long-running request", call: middleware.Call{
				Verb: "get", Idempotent: true,
				LongRunning: true,
			},
			steps: []step{{status: 200, body: "log", cut: true}, ok}, err: io.ErrUnexpectedEOF.Error(), status: 200,
		},
		{name: "a server that was never reachable", call: get, steps: []step{{err: refused}, ok}, err: refused.Error()},
		{
			name: "a server that stays unreachable", call: get, o: middleware.RetryOptions{MaxAttempts: 3},
			steps: []step{{err: reset}}, err: reset.Error() + "; sent 3 times in ",
			waits: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond},
		},
		{
			name: "a server that stays unavailable", call: get, o: middleware.RetryOptions{MaxAttempts: 2}, status: 503,
			steps: []step{{status: 503, body: "no"}}, waits: []time.Duration{50 * time.Millisecond},
		},
		{
			name: "a watch is sent at most twice", call: middleware.Call{
				Verb:       "watch",
				Idempotent: true,
			}, err: "; sent 2 times in ",
			steps: []step{{err: reset}}, waits: []time.Duration{50 * time.Millisecond},
		},
		{
			name: "an exhausted budget", call: get, o: middleware.RetryOptions{Budget: 1}, err: "; sent 2 times in ",
			steps: []step{{err: reset}}, waits: []time.Duration{50 * time.Millisecond},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tc.steps}
				var told []time.Duration
				tc.o.OnRetry = func(_ context.Context, r middleware.Retrying) {
					if told = append(told, r.Wait); r.Attempt != len(told) || r.Call != tc.call || (r.Err == nil) == (r.Status == 0) {
						t.Errorf("OnRetry(%+v)", r)
					}
				}
				status, _, err := call(t.Context(), mustRetry(t, &tc.o)(s), tc.call, "body")
				if status != tc.status || (tc.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("response = %d, %v; want %d, %s", status, err, tc.status, tc.err)
				}
				waits := s.waits()
				if diff := cmp.Diff(told, waits); diff != "" || len(waits) != len(tc.waits) {
					t.Fatalf("waits = %v, want at least %v, and OnRetry for each of them (-reported +waited):\n%s", waits, tc.waits,
						diff)
				}
				for i, least := range tc.waits {
					if waits[i] < least {
						t.Errorf("wait %d = %v, want at least %v", i, waits[i], least)
					}
				}
				for i, body := range s.bodies {
					if body != "body" {
						t.Errorf("body of attempt %d = %q", i+1, body)
					}
				}
				failed := slices.ContainsFunc(tc.steps, func(s step) bool { return s.err != nil })
				if !failed && s.closed != len(s.bodies) {
					t.Errorf("%d of %d responses were closed", s.closed, len(s.bodies))
				}
			})
		})
	}
}

// TestRetryOfKnownServer checks that requests are retried while a server that has responded before is unreachable, and
// that a request whose body cannot be read again is sent once.
func TestRetryOfKnownServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{status: 404}, {err: refused}, {err: refused}, {status: 201}}}
		rt := mustRetry(t, nil)(s)
		for _, want := range []int{404, 201} {
			if status, _, err := call(t.Context(), rt, create, "body"); status != want || err != nil {
				t.Errorf("response = %d, %v; want %d", status, err, want)
			}
		}
		s.steps = []step{{status: 429}, {status: 200}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://cluster.test",
			io.NopCloser(strings.NewReader("once")))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a body that cannot be sent again: status = %d, want 429", resp.StatusCode)
		}
	})
}

// TestBrokenConnectionIsRetriedOnceAfterTheTimeLimit has attempts that take longer than MaxElapsedTime, as those on
// dead connections do.
func TestBrokenConnectionIsRetriedOnceAfterTheTimeLimit(t *testing.T) {
	for _, tc := range []struct {
		name     string
		call     middleware.Call
		steps    []step
		deadline time.Duration // zero for none
		status   int
		sent     int
	}{
		{name: "a new connection works", call: get, steps: []step{{err: reset}, {status: 200}}, status: 200, sent: 2},
		{
			name: "a truncated response", call: get, steps: []step{{status: 200, cut: true}, {status: 200}},
			status: 200, sent: 2,
		},
		{name: "all connections are dead", call: get, steps: []step{{err: reset}}, sent: 2},
		{
			name: "the server responds with an error", call: get, steps: []step{{err: reset}, {status: 503}},
			status: 503, sent: 2,
		},
		{name: "a gateway timeout", call: get, steps: []step{{status: 504}, {status: 200}}, status: 504, sent: 1},
		{name: "a write with an unknown outcome", call: create, steps: []step{{err: reset}, {status: 200}}, sent: 1},
		{
			name: "the deadline is during the delay", call: get, deadline: 30*time.Second + 10*time.Millisecond,
			steps: []step{{err: reset}, {status: 200}}, sent: 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.deadline != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.deadline)
					defer cancel()
				}
				s := &script{steps: tc.steps}
				slow := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
					time.Sleep(30 * time.Second)
					return s.RoundTrip(r)
				})
				status, _, err := call(ctx, mustRetry(t, nil)(slow), tc.call, "")
				if status != tc.status || (err == nil) != (tc.status != 0) || len(s.bodies) != tc.sent {
					t.Errorf("response after %d requests = %d, %v; want %d after %d",
						len(s.bodies), status, err, tc.status, tc.sent)
				}
			})
		})
	}
}

// TestRetryDeadline checks that no request waits past its deadline: it returns the last failure immediately.
func TestRetryDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := mustRetry(t, nil)(&script{steps: []step{{status: 429, header: retryAfter("5")}}})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		status, _, err := call(ctx, rt, get, "")
		if took := time.Since(start); status != 429 || err != nil || took != 10*time.Second {
			t.Errorf("response = %d, %v after %v; want 429 after 10s", status, err, took)
		}

		cause := errors.New("enough")
		ending, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(cause) })
		start = time.Now()
		if _, _, err := call(ending, rt, get, ""); !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("error = %v after %v, want the cause after 1s", err, time.Since(start))
		}
	})
}

// TestRetryError checks that the error contains the number of attempts and the last failure.
func TestRetryError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := call(t.Context(), mustRetry(t, nil)(&script{steps: []step{{err: reset}}}), get, "")
		re, ok := errors.AsType[*middleware.RetryError](err)
		if !ok || re.Attempts != 10 || !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("error = %v, want a RetryError of 10 attempts", err)
		}
		if re.Elapsed < 15*time.Second || re.Elapsed > 30*time.Second {
			t.Errorf("it took %v, want about 20s and no more than 30s", re.Elapsed)
		}
	})
}

// TestWithAttempts checks that a caller can request fewer attempts, and that the option can disable retries.
func TestWithAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for n, want := range map[int]int{-1: 1, 1: 1, 3: 3, 5: 4} {
			s := &script{steps: []step{{status: 503}}}
			mw := mustRetry(t, &middleware.RetryOptions{MaxAttempts: 4})
			if _, _, err := call(middleware.WithAttempts(t.Context(), n), mw(s), get, ""); err != nil ||
				len(s.bodies) != want {
				t.Errorf("WithAttempts(%d): %d attempts, %v; want %d", n, len(s.bodies), err, want)
			}
		}
		for _, n := range [][2]int{{2, 3}, {3, 2}} { // the limit of a caller and that of its caller
			s := &script{steps: []step{{status: 503}}}
			ctx := middleware.WithAttempts(middleware.WithAttempts(t.Context(), n[0]), n[1])
			if _, _, err := call(ctx, mustRetry(t, nil)(s), get, ""); err != nil || len(s.bodies) != 2 {
				t.Errorf("WithAttempts(%d) in WithAttempts(%d): %d attempts, %v; want 2", n[1], n[0], len(s.bodies), err)
			}
		}
		if mw := mustRetry(t, &middleware.RetryOptions{MaxAttempts: 1}); mw != nil {
			t.Error("Retry with one attempt is not nil")
		}
	})
}

// TestBudget checks that many callers together do not overload an unreachable server.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{{err: reset}}}
		rt := mustRetry(t, nil)(s)
		const callers = 500
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if _, _, err := call(t.Context(), rt, get, ""); err == nil {
					t.Error("no error")
				}
			})
		}
		wg.Wait()
		if retries := len(s.bodies) - callers; retries < 100 || retries > 100+30*10 {
			t.Errorf("%d retries, want 100 at once and 10 a second", retries)
		}
	})
}

// TestRetryLog checks that retries are logged, with the number of the attempt in the lines of each request.
func TestRetryLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out,
			&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey || a.Key == "wait" || a.Key == "took" {
					return slog.Attr{}
				}
				return a
			}}))
		s := &script{steps: []step{{status: 503}, {err: reset}, {status: 200}}}
		o := &middleware.RetryOptions{Logger: logger, Budget: 2}
		rt := middleware.Chain(s, mustRetry(t, o), middleware.Log(logger))
		if _, _, err := call(t.Context(), rt, get, ""); err != nil {
			t.Fatal(err)
		}
		s.steps = []step{{status: 503}}
		if _, _, err := call(t.Context(), mustRetry(t,
			&middleware.RetryOptions{Logger: logger, Budget: 1, MaxAttempts: 3})(s), get, ""); err != nil {
			t.Fatal(err)
		}
		const want = `level=DEBUG msg=request method=POST url=https://cluster.test/x status=503
level=INFO msg="request will be sent again" call.verb=get call.resource=pods attempt=1 status=503
level=DEBUG msg=request method=POST url=https://cluster.test/x attempt=2 err="read tcp: connection reset by peer"
level=INFO msg="request will be sent again" call.verb=get call.resource=pods attempt=2 err="read tcp: connection reset by peer"
level=DEBUG msg=request method=POST url=https://cluster.test/x attempt=3 status=200
level=INFO msg="request will be sent again" call.verb=get call.resource=pods attempt=1 status=503
level=INFO msg="request not sent again: the retry budget is exhausted" call.verb=get call.resource=pods
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// TestRetryOptions checks that the error for an invalid option names it.
func TestRetryOptions(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   middleware.RetryOptions
		want string
	}{
		{"attempts", middleware.RetryOptions{MaxAttempts: -1}, "RetryOptions.MaxAttempts: -1 is negative"},
		{"time", middleware.RetryOptions{MaxElapsedTime: -1}, "RetryOptions: MaxElapsedTime, "},
		{"delay", middleware.RetryOptions{MaxBackoff: -1}, "RetryOptions: MaxElapsedTime, "},
		{"budget", middleware.RetryOptions{Budget: -1}, "RetryOptions.Budget: -1 is negative"},
		{
			"response",
			middleware.RetryOptions{ResponseBytes: -1},
			"RetryOptions.ResponseBytes: -1 is negative; use 1 to stream responses",
		},
	} {
		if _, err := middleware.Retry(&tc.in); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: error = %v, want %s", tc.name, err, tc.want)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{
		"", "0", "5", "-1", "99999999999999999999", "Sat, 01 Jan 2000 00:00:09 GMT", "soon",
		" 7 ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if wait, ok := middleware.ParseRetryAfter(retryAfter(value)); wait < 0 || !ok && wait != 0 {
			t.Errorf("ParseRetryAfter(%q) = %v, %v", value, wait, ok)
		}
	})
}
