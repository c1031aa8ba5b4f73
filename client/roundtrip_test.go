// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

func TestRoundTripReturnsAnyResponse(t *testing.T) {
	requests := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization")+" "+string(body))
	}))
	defer server.Close()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{
		Server: server.URL + "/prefix", InsecureSkipTLSVerify: true, BearerToken: "secret",
	}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://any/api/v1/a%2Fb?limit=1", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := "GET /prefix/api/v1/a%2Fb?limit=1 Bearer secret body"
	if resp.StatusCode != http.StatusServiceUnavailable || string(body) != want || requests != 1 {
		t.Errorf("status %d, body %q after %d requests, want 503, %q after one", resp.StatusCode, body, requests, want)
	}
	if r.URL.Host != "any" || r.Header.Get("Authorization") != "" {
		t.Errorf("RoundTrip changed the request to %v with the header %v", r.URL, r.Header)
	}
}

// TestRoundTripAcceptsRequestWithoutHeader checks a request whose Header is nil, as in a literal.
func TestRoundTripAcceptsRequestWithoutHeader(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/version"}}).WithContext(t.Context())
	resp, err := s.Client(t).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "/version" || r.Header != nil {
		t.Errorf("body %q, %v, and header %v of the request; want /version and nil", body, err, r.Header)
	}
}

// TestPathOfProxyIsProxied checks that a request for the path of a proxied pod, service or node is treated like one for
// the subresource: a 401 of the backend does not concern the credentials, and its 503 does not mean that the request
// had no effect.
func TestPathOfProxyIsProxied(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, send := range map[string]func(*client.Client) (*http.Response, error){
		"RoundTrip": func(c *client.Client) (*http.Response, error) {
			const address = "http://any/api/v1/namespaces/a/pods/b/proxy/login"
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			if err != nil {
				return nil, err
			}
			return c.RoundTrip(r)
		},
		"Do": func(c *client.Client) (*http.Response, error) {
			r, err := request.Raw("/api/v1/nodes/n/proxy/login")
			if err != nil {
				return nil, err
			}
			r.Method, r.Verb = http.MethodPost, "create"
			return c.Do(t.Context(), r)
		},
	} {
		for _, code := range []int{http.StatusUnauthorized, http.StatusServiceUnavailable} {
			t.Run(fmt.Sprintf("%s %d", name, code), func(t *testing.T) {
				requests := 0
				server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					requests++
					write("new")
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(code)
				}))
				defer server.Close()
				write("old")
				c, err := client.New(t.Context(), &client.Options{Config: &config.Config{
					Server: server.URL, InsecureSkipTLSVerify: true, BearerTokenFile: file,
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseIdleConnections()
				resp, err := send(c)
				if err == nil {
					resp.Body.Close()
				}
				if requests != 1 {
					t.Errorf("the backend received %d requests, want one; error = %v", requests, err)
				}
			})
		}
	}
}

// TestRoundTripUpgradesConnections checks an upgrade to SPDY, which older versions of kubectl use for exec. Package
// net/http recognizes only upgrades to WebSockets.
func TestRoundTripUpgradesConnections(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the server received the header %v", r.Header)
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nspdy")
	})
	cfg := s.Config()
	cfg.BearerToken = "secret"
	c := testserver.NewClient(t, &client.Options{Config: cfg})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://any/api/v1/namespaces/a/pods/b/exec", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "SPDY/3.1")
	resp, err := c.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if _, writable := resp.Body.(io.Writer); err != nil || string(data) != "spdy" || !writable {
		t.Errorf("the connection has %q, %v, writable: %v", data, err, writable)
	}
}

// TestUpgradeIsNotSentAgainWhenItsConnectionEnds refuses the first upgrade, and ends the connection of the second one,
// whose command may have started. Package net/http sends such a request again if its connection was used before.
func TestUpgradeIsNotSentAgainWhenItsConnectionEnds(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Connection") != "Upgrade" {
			t.Errorf("the server received the header %v", r.Header)
		}
		if strings.HasSuffix(r.URL.Path, "/first") {
			testserver.Fail(w, 404, "NotFound", "no such pod")
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		conn.Close()
	})
	c := s.Client(t)
	defer c.CloseIdleConnections()
	header := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	for _, name := range []string{"first", "second"} {
		r := &request.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/prod/pods/" + name, Verb: "create"}
		if conn, err := c.Upgrade(t.Context(), r, header); err == nil {
			conn.Close()
			t.Errorf("the %s upgrade returned no error", name)
		}
	}
	if asked := s.Asked(); len(asked) != 2 {
		t.Errorf("the server received %d requests, want each of the two once", len(asked))
	}
}

// TestUpgradeWhoseContextHasEndedReturnsTheCause: an [http.Transport] may return the response after it has closed the
// connection because the context has ended.
func TestUpgradeWhoseContextHasEndedReturnsTheCause(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	near, far := net.Pipe()
	defer far.Close()
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://kube.example.com"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			cancel(cause)
			return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: near, Request: r}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Upgrade(ctx, &request.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/prod/pods/web/exec"}, nil)
	if !errors.Is(err, cause) {
		t.Fatalf("Upgrade() = %v, want %v", err, cause)
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read() of the connection = %v, want an error because it is closed", err)
	}
}
