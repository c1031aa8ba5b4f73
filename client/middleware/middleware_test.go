// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/middleware"
)

// end is a transport that responds with a status and records the last request.
type end struct {
	status int
	err    error
	last   *http.Request
}

func (e *end) RoundTrip(r *http.Request) (*http.Response, error) {
	e.last = r
	if e.err != nil {
		return nil, e.err
	}
	return &http.Response{StatusCode: e.status, Body: http.NoBody, Request: r}, nil
}

func newRequest(t testing.TB, header http.Header) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://me:hunter2@cluster.test/api/v1/pods?limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	return r
}

// roundTrip sends a request through one middleware and returns the headers that the transport receives.
func roundTrip(t testing.TB, mw middleware.Func, header http.Header) (http.Header, error) {
	t.Helper()
	e := &end{status: 200}
	in := newRequest(t, header)
	before := in.Header.Clone()
	resp, err := mw(e).RoundTrip(in)
	if diff := cmp.Diff(before, in.Header); diff != "" {
		t.Errorf("the middleware changed the request that it received (-before +after):\n%s", diff)
	}
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	return e.last.Header, nil
}

func TestHeaders(t *testing.T) {
	extra := map[string][]string{
		"scopes": {"view", "dev"}, "example.com/why now?": {"100%"}, "ünü": {"x"}, "a+b~c": {"y"},
	}
	for _, tc := range []struct {
		name string
		mw   middleware.Func
		in   http.Header
		want http.Header
	}{
		{"a user agent", middleware.UserAgent("me/1"), nil, http.Header{"User-Agent": {"me/1"}}},
		{
			"a user agent that is already set", middleware.UserAgent("me/1"),
			http.Header{"User-Agent": {"you"}},
			http.Header{"User-Agent": {"you"}},
		},
		{"a token", middleware.Bearer("abc"), nil, http.Header{"Authorization": {"Bearer abc"}}},
		{
			"a token, if Authorization is already set", middleware.Bearer("abc"),
			http.Header{"Authorization": {"Basic x"}},
			http.Header{"Authorization": {"Basic x"}},
		},
		{"a password", middleware.Basic("me", "a:b"), nil, http.Header{"Authorization": {"Basic bWU6YTpi"}}},
		{"another user", middleware.Impersonate("jane", "", nil, nil), nil, http.Header{"Impersonate-User": {"jane"}}},
		{"another user with all fields", middleware.Impersonate("jane", "7", []string{"a", "b"}, extra), nil, http.Header{
			"Impersonate-User": {"jane"}, "Impersonate-Uid": {"7"}, "Impersonate-Group": {"a", "b"},
			"Impersonate-Extra-Scopes":                     {"view", "dev"},
			"Impersonate-Extra-Example.com%2fwhy%20now%3f": {"100%"},
			"Impersonate-Extra-%c3%bcn%c3%bc":              {"x"},
			"Impersonate-Extra-A%2bb~c":                    {"y"},
		}},
		{
			"another user, if one is already set", middleware.Impersonate("jane", "7", []string{"a"}, nil),
			http.Header{"Impersonate-User": {"john"}},
			http.Header{"Impersonate-User": {"john"}},
		},
		{
			"another user, if only groups are already set", middleware.Impersonate("jane", "", []string{"a"}, nil),
			http.Header{"Impersonate-Group": {"admins"}},
			http.Header{"Impersonate-User": {"jane"}, "Impersonate-Group": {"a"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := roundTrip(t, tc.mw, tc.in)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%v, headers (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestChain(t *testing.T) {
	var order []string
	note := func(name string) middleware.Func {
		return func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				return next.RoundTrip(r)
			})
		}
	}
	resp, err := middleware.Chain(&end{status: 200}, note("outer"), nil, note("inner")).RoundTrip(newRequest(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := strings.Join(order, " "); got != "outer inner" {
		t.Errorf("order = %s, want outer inner", got)
	}
	e := &end{}
	if got := middleware.Chain(e); got != http.RoundTripper(e) {
		t.Errorf("Chain() without middleware = %v, want the transport", got)
	}
}

// TestTokenFile checks which token is sent while the token file changes.
func TestTokenFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "token")
		write := func(token string) {
			t.Helper()
			if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e := &end{status: 200}
		rt := middleware.TokenFile(path, "")(e)
		send := func() (string, error) {
			resp, err := rt.RoundTrip(newRequest(t, nil))
			if err != nil {
				return "", err
			}
			resp.Body.Close()
			return e.last.Header.Get("Authorization"), nil
		}
		expect := func(when, want string) {
			t.Helper()
			if got, err := send(); got != "Bearer "+want || err != nil {
				t.Errorf("%s: Authorization = %q, %v; want Bearer %s", when, got, err, want)
			}
		}
		refuse := func(when, want string) {
			t.Helper()
			if _, err := send(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error = %v, want %s", when, err, want)
			}
		}
		wait := func(d time.Duration) { <-time.After(d) }

		refuse("without a file", "bearer token: open "+path)
		write(" \n")
		refuse("with an empty file", "bearer token: "+path+" is empty")
		write("one\n")
		expect("when the file exists", "one")
		write("two")
		wait(50 * time.Second)
		expect("after 50 seconds", "one")
		wait(time.Nanosecond)
		expect("more than 50 seconds later", "two")

		write("three")
		e.status = 401
		expect("when the server rejects the token", "three")
		e.status = 200
		expect("after the server rejected the token", "three")
		e.status = 403
		write("four")
		expect("when the server rejects the request", "three")
		e.status = 200
		expect("after the server rejected the request", "three")

		wait(time.Minute)
		write("")
		expect("with an empty file", "three")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		expect("with a deleted file", "three")
		write("five")
		expect("when the file exists again", "five")
	})
}

func TestTokenFileWithInitial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	mw := middleware.TokenFile(path, "initial")
	got, err := roundTrip(t, mw, nil)
	if err != nil || got.Get("Authorization") != "Bearer initial" {
		t.Errorf("Authorization = %q, %v; want the initial token", got.Get("Authorization"), err)
	}
	if err := os.WriteFile(path, []byte("later"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = roundTrip(t, mw, nil)
	if err != nil || got.Get("Authorization") != "Bearer later" {
		t.Errorf("Authorization = %q, %v; want the file's token", got.Get("Authorization"), err)
	}
}

// TestLog checks that a line contains the request and its outcome, and no secret.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := func(level slog.Level) *slog.Logger {
			return slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
		}
		slow := func(e *end) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				<-time.After(time.Second)
				return e.RoundTrip(r)
			})
		}
		const line = "time=2000-01-01T00:00:01.000Z level=DEBUG msg=request method=GET " +
			`url="https://me:xxxxx@cluster.test/api/v1/pods?limit=1" took=1s `
		for _, tc := range []struct {
			name  string
			level slog.Level
			end   end
			want  string
		}{
			{"a response", slog.LevelDebug, end{status: 404}, line + "status=404\n"},
			{"an error", slog.LevelDebug, end{err: errors.New("boom")}, line + "err=boom\n"},
			{"a logger without debug level", slog.LevelInfo, end{status: 200}, ""},
		} {
			out.Reset()
			resp, err := middleware.Log(logger(tc.level))(slow(&tc.end)).RoundTrip(newRequest(t,
				http.Header{"Authorization": {"hunter2"}}))
			if err == nil {
				resp.Body.Close()
			}
			got := stripTime(out.String())
			if want := stripTime(tc.want); got != want || strings.Contains(got, "hunter2") {
				t.Errorf("%s: line = %q, want %q", tc.name, got, want)
			}
		}
		if middleware.Log(nil) != nil {
			t.Error("Log(nil) is not nil")
		}
	})
}

// stripTime removes the first word, which is the time.
func stripTime(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	return rest
}
