// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
)

// TestSharingClientsUseOneConnection checks that clients with shared connections use one connection, each with its own
// identity and options, and that idle connections can be closed.
func TestSharingClientsUseOneConnection(t *testing.T) {
	var mu sync.Mutex // guards the variables below
	remotes, who := map[string]bool{}, []string{}
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		remotes[r.RemoteAddr] = true
		who = append(who, r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User")+" "+r.UserAgent())
		mu.Unlock()
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Node","apiVersion":"v1"}`))
	})
	cfg := s.Config()
	cfg.BearerToken, cfg.Namespace = "abc", "prod"
	first := testserver.NewClient(t, &client.Options{Config: cfg, UserAgent: "first"})
	same := testserver.NewClient(t, &client.Options{Share: first, UserAgent: "same"})

	asJane := first.Config()
	asJane.Impersonate.User, asJane.Namespace = "jane", "dev"
	jane := testserver.NewClient(t, &client.Options{Share: first, Config: asJane, UserAgent: "jane"})
	other := first.Config()
	other.BearerToken = "xyz"
	token := testserver.NewClient(t, &client.Options{Share: jane, Config: other, UserAgent: "other"})

	for _, c := range []*client.Client{first, same, jane, token} {
		if err := getNode(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(who, ","), "Bearer abc  first,Bearer abc  same,Bearer abc jane jane,Bearer xyz  other"; got != want {
		t.Errorf("the server received %q, want %q", got, want)
	}
	if first.Namespace() != "prod" || same.Namespace() != "prod" || jane.Namespace() != "dev" {
		t.Errorf("namespaces = %s, %s and %s; want prod, prod and dev", first.Namespace(), same.Namespace(), jane.Namespace())
	}
	if len(remotes) != 1 {
		t.Errorf("%d connections, want 1", len(remotes))
	}
	jane.CloseIdleConnections()
	if err := getNode(t.Context(), first); err != nil || len(remotes) != 2 {
		t.Errorf("after closing: %v over %d connections, want a second connection", err, len(remotes))
	}
}

// TestReconnectKeepsRequestsInProgress checks that later requests use a new connection, including those of a client
// that shares it, while a watch continues on the old one.
func TestReconnectKeepsRequestsInProgress(t *testing.T) {
	var mu sync.Mutex // guards remotes
	remotes, proceed := map[string]bool{}, make(chan struct{})
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		remotes[r.RemoteAddr] = true
		mu.Unlock()
		if !r.URL.Query().Has("watch") {
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Node","apiVersion":"v1"}`))
			return
		}
		w.Header().Set("Content-Type", jsonType)
		const object = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}`
		for range 2 {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":`+object+`}`)
			w.(http.Flusher).Flush()
			<-proceed
		}
	})
	first := testserver.NewClient(t, &client.Options{Config: s.Config()})
	other := testserver.NewClient(t, &client.Options{Share: first})
	events := 0
	for _, err := range client.Namespaced[leanConfigMap](first, "prod").WatchOnce(t.Context(), nil) {
		if events++; events == 1 {
			other.Reconnect()
			for _, c := range []*client.Client{first, other} {
				if err := getNode(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if mu.Lock(); len(remotes) != 2 {
				t.Errorf("%d connections, want 2", len(remotes))
			}
			mu.Unlock()
			close(proceed)
		}
		if err != nil && events < 3 {
			t.Errorf("event %d is the error %v", events, err)
		}
	}
	if events < 2 {
		t.Errorf("the watch had %d events, want 2", events)
	}
	testserver.NewClient(t, &client.Options{
		Config:    &config.Config{Server: "https://cluster.test"},
		Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, io.EOF }),
	}).Reconnect() // does nothing
}

// TestShareRejectsOtherConnectionSettings checks that a client with shared connections can't have different settings
// for them.
func TestShareRejectsOtherConnectionSettings(t *testing.T) {
	own := newAuthority(t).issue(t, "me", time.Hour)
	const cluster = "https://cluster.test"
	base := config.Config{Server: cluster, BearerToken: "abc"}
	for _, tc := range []struct {
		name      string
		change    func(*config.Config)
		transport http.RoundTripper
		want      string
	}{
		{"another server", func(c *config.Config) { c.Server = "https://other.test" }, nil, "a different Server than that of the client; make them equal, or clear Share"},
		{"another name", func(c *config.Config) { c.TLSServerName = "kube" }, nil, "TLSServerName"},
		{"no verification", func(c *config.Config) { c.InsecureSkipTLSVerify = true }, nil, "InsecureSkipTLSVerify"},
		{"another authority", func(c *config.Config) { c.CAData = own.cert }, nil, "certificate authority"},
		{"another certificate", func(c *config.Config) { c.ClientCertData, c.ClientKeyData = own.cert, config.Secret(own.key) }, nil, "client certificate"},
		{"a plugin", func(c *config.Config) {
			c.BearerToken = ""
			c.Exec = &config.ExecConfig{Command: "true", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever}
		}, nil, "Exec"},
		{"another proxy", func(c *config.Config) { c.ProxyURL = "http://me:hunter2@proxy.test" }, nil, "ProxyURL"},
		{"no compression", func(c *config.Config) { c.DisableCompression = true }, nil, "DisableCompression"},
		{"a transport", func(*config.Config) {}, new(spy), "Options.Share and Options.Transport exclude each other: clear one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := base
			first := testserver.NewClient(t, &client.Options{Config: &cfg})
			other := first.Config()
			tc.change(other)
			c, err := client.New(t.Context(), &client.Options{Share: first, Config: other, Transport: tc.transport})
			if err == nil || c != nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("New = %v, %v; want %s", c, err, tc.want)
			}
		})
	}
	plain := testserver.NewClient(t, &client.Options{Config: &config.Config{Server: "http://127.0.0.1:8001"}})
	secret := plain.Config()
	secret.BearerToken = "hunter2"
	if _, err := client.New(t.Context(), &client.Options{Share: plain, Config: secret}); err == nil || !strings.Contains(err.Error(), "not sent over http") {
		t.Errorf("a token over http: %v", err)
	}
}

// TestConfigReturnsACopy checks that changes of a returned configuration do not affect the client.
func TestConfigReturnsACopy(t *testing.T) {
	c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test"), Transport: new(spy)})
	c.Config().Namespace = "other"
	if c.Namespace() != "mine" {
		t.Errorf("namespace = %s, want mine", c.Namespace())
	}
	c.CloseIdleConnections() // the transport does not support it
}

// TestNewChecksTheOptionsOfMiddleware checks that New rejects invalid options of middleware.
func TestNewChecksTheOptionsOfMiddleware(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   client.Options
		want string
	}{
		{"retries", client.Options{Retry: &middleware.RetryOptions{MaxAttempts: -1}}, "RetryOptions.MaxAttempts: -1 is negative"},
		{"rate limit", client.Options{RateLimit: &middleware.RateLimitOptions{}}, "RateLimitOptions.PerSecond: 0 is not a positive number"},
		{"user agent", client.Options{UserAgent: "a\r\nb"}, `Options.UserAgent: "a\r\nb" contains control characters`},
	} {
		tc.in.Config = newConfig("https://cluster.test")
		if _, err := client.New(t.Context(), &tc.in); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: New = %v, want %s", tc.name, err, tc.want)
		}
	}
}

// TestCloseIdleConnectionsClosesAll checks that every transport of a client closes its idle connections.
func TestCloseIdleConnectionsClosesAll(t *testing.T) {
	ca := newAuthority(t)
	var current atomic.Pointer[tls.Certificate]
	current.Store(new(ca.issue(t, "kube", time.Hour).load(t)))
	p := ca.issue(t, "me", time.Hour)
	c := testserver.NewClient(t, &client.Options{Config: &config.Config{
		Server: mutual(t, &current, nil), CAData: ca.pem, ClientCertData: p.cert, ClientKeyData: config.Secret(p.key),
	}})
	before := descriptors(t)
	if _, err := client.Namespaced[leanConfigMap](c, "prod").Get(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	eventuallyDescriptors(t, before, c)
}
