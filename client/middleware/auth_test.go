// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/wire"
)

// closing is a body that records whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// TestAuthorize checks what happens to a request whose credential may be rejected.
func TestAuthorize(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name    string
		header  string // the Authorization header of the request
		once    bool   // the body cannot be sent again
		first   error  // the error of the first credential
		renew   error  // the error of renewing it
		none    bool   // renewing returns no new credential
		never   bool   // the credential cannot be renewed
		good    string // the credential that the server accepts
		want    []string
		status  int
		wantErr string
	}{
		{name: "a valid credential", good: "one", want: []string{"one body"}, status: 200},
		{name: "a rejected credential", good: "two", want: []string{"one body", "two body"}, status: 200},
		{name: "two rejected credentials", good: "three", want: []string{"one body", "two body"}, status: 401},
		{name: "no new credential", good: "two", none: true, want: []string{"one body"}, status: 401},
		{name: "a credential that cannot be renewed", good: "two", never: true, want: []string{"one body"}, status: 401},
		{name: "a body that cannot be sent again", good: "two", once: true, want: []string{"one body"}, status: 401},
		{name: "a request with its own credential", header: "mine", good: "two", want: []string{"mine body"}, status: 401},
		{name: "no credential", first: broken, wantErr: "broken"},
		{
			name: "renewal fails", good: "two", renew: broken, want: []string{"one body"},
			wantErr: "the server rejected the credentials, and new ones could not be obtained: broken",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				got = append(got, r.Header.Get("Authorization")+" "+string(body))
				w := httptest.NewRecorder()
				if r.Header.Get("Authorization") != tc.good {
					w.WriteHeader(http.StatusUnauthorized)
				}
				return w.Result(), nil
			})
			credential := "one"
			mw := middleware.Authorize(func(context.Context) (string, middleware.Renew, error) {
				if tc.never {
					return credential, nil, tc.first
				}
				return credential, func(context.Context) (bool, error) {
					if tc.renew == nil && !tc.none {
						credential = "two"
					}
					return credential == "two", tc.renew
				}, tc.first
			})
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://kube/", http.NoBody)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			body := &closing{Reader: strings.NewReader("body")}
			r.Body = body
			if !tc.once {
				r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
			}
			before := r.Header.Clone()
			resp, err := mw(server).RoundTrip(r)
			switch {
			case tc.wantErr != "":
				if err == nil || err.Error() != tc.wantErr || !errors.Is(err, broken) {
					t.Errorf("error = %v, want %s", err, tc.wantErr)
				}
				if tc.first != nil && !body.closed {
					t.Error("the body was not closed")
				}
			case err != nil:
				t.Error(err)
			default:
				resp.Body.Close()
				if resp.StatusCode != tc.status {
					t.Errorf("status = %d, want %d", resp.StatusCode, tc.status)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, r.Header); diff != "" {
				t.Errorf("the request was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestAuthorizeIgnoresBackendsAndWebhooks checks that a 401 of a backend behind the proxy of the API server, or of an
// admission webhook, renews no credential and repeats no request, and that its body stays complete.
func TestAuthorizeIgnoresBackendsAndWebhooks(t *testing.T) {
	const (
		rejected = `{"kind":"Status","apiVersion":"v1","code":401,"reason":"Unauthorized"}`
		denied   = `{"kind":"Status","apiVersion":"v1","code":401,"message":"admission webhook \"a\" denied the request"}`
	)
	for _, tc := range []struct {
		subresource, contentType, body string
		renewed                        int
	}{
		{"proxy", "text/html", "log in", 0},
		{"proxy", wire.MediaTypeJSON, `{"error":"log in"}`, 0},
		{"proxy", wire.MediaTypeJSON, rejected, 1},
		{"", "text/html", "log in", 1},
		{"", "", "", 1},
		{"", wire.MediaTypeJSON, rejected, 1},
		{"", wire.MediaTypeProtobuf, protobufStatus(t, &metav1.Status{Code: 401, Reason: "Unauthorized"}), 1},
		{"", wire.MediaTypeJSON, denied, 0},
		{"", wire.MediaTypeProtobuf, protobufStatus(t, &metav1.Status{Code: 401, Message: "denied"}), 0},
	} {
		renewed, sent := 0, 0
		mw := middleware.Authorize(func(context.Context) (string, middleware.Renew, error) {
			return "mine", func(context.Context) (bool, error) {
				renewed++
				return true, nil
			}, nil
		})
		server := middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{
				StatusCode: http.StatusUnauthorized, Header: http.Header{"Content-Type": {tc.contentType}},
				Body: io.NopCloser(strings.NewReader(tc.body)),
			}, nil
		})
		ctx := middleware.WithCall(t.Context(), middleware.Call{Verb: "create", Subresource: tc.subresource})
		resp, err := mw(server).RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodPost, "https://kube/", nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if renewed != tc.renewed || sent != 1+tc.renewed || string(body) != tc.body || err != nil {
			t.Errorf("%q of %q: renewed %d times, sent %d times, body %q, %v; want renewed %d times",
				tc.body, tc.subresource, renewed, sent, body, err, tc.renewed)
		}
	}
}

// protobufStatus returns a Status as an API server sends it to a client that prefers protobuf.
func protobufStatus(t testing.TB, status *metav1.Status) string {
	t.Helper()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	message, err := status.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := kuberuntime.Unknown{TypeMeta: kuberuntime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: message}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "k8s\x00" + string(body)
}

// TestAuthorizePausesWhileCredentialsAreRejected checks that a source whose credentials are always rejected is not
// called for each request.
func TestAuthorizePausesWhileCredentialsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var renewed, sent int
		good := -1
		mw := middleware.Authorize(func(context.Context) (string, middleware.Renew, error) {
			return fmt.Sprint(renewed), func(context.Context) (bool, error) {
				renewed++
				return true, nil
			}, nil
		})(middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			sent++
			w := httptest.NewRecorder()
			if r.Header.Get("Authorization") != fmt.Sprint(good) {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return w.Result(), nil
		}))
		ask := func(when string, status, wantRenewed, wantSent int) {
			t.Helper()
			resp, err := mw.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/version", http.NoBody))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != status || renewed != wantRenewed || sent != wantSent {
				t.Errorf("%s: %d after %d renewals and %d requests, want %d after %d and %d",
					when, resp.StatusCode, renewed, sent, status, wantRenewed, wantSent)
			}
		}
		ask("at first", 401, 1, 2)
		for n := range 100 {
			ask("immediately after", 401, 1, 3+n)
		}
		time.Sleep(10 * time.Second)
		good = 2
		ask("later", 200, 2, 104)
		good = 3
		ask("when the credential is rejected later", 200, 3, 106)
	})
}

func ExampleAuthorize() {
	token := "outdated"
	mw := middleware.Authorize(func(context.Context) (string, middleware.Renew, error) {
		return "Bearer " + token, func(context.Context) (bool, error) {
			token = "fresh"
			return true, nil
		}, nil
	})
	server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		fmt.Println(r.Header.Get("Authorization"))
		w := httptest.NewRecorder()
		if r.Header.Get("Authorization") != "Bearer fresh" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return w.Result(), nil
	})
	resp, err := mw(server).RoundTrip(httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/version",
		http.NoBody))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	// Output:
	// Bearer outdated
	// Bearer fresh
	// 200 OK
}
