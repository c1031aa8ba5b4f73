// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// spy is a transport that responds with a node and stores the last request.
type spy struct{ last *http.Request }

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	s.last = r
	return canned(200, http.Header{"Content-Type": {jsonType}}, `{"kind":"Node","apiVersion":"v1"}`).RoundTrip(r)
}

// send gets a node with the given options, and returns the request as it was sent.
func (s *spy) send(t testing.TB, o client.Options) *http.Request {
	t.Helper()
	o.Transport = s
	if o.Config == nil {
		o.Config = newConfig("https://cluster.test")
	}
	if err := getNode(t.Context(), testserver.NewClient(t, &o)); err != nil {
		t.Fatal(err)
	}
	return s.last
}

// TestServerURLMayHaveAPath checks the URLs of requests to a server below a path.
func TestServerURLMayHaveAPath(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a host", "https://cluster.test", "https://cluster.test/api/v1/nodes/n1"},
		{"a slash at the end", "https://cluster.test:6443/", "https://cluster.test:6443/api/v1/nodes/n1"},
		{"a path", "https://rancher.test/k8s/clusters/c-1", "https://rancher.test/k8s/clusters/c-1/api/v1/nodes/n1"},
		{"a path with slashes at the end", "https://rancher.test/k8s//", "https://rancher.test/k8s/api/v1/nodes/n1"},
		{"an escaped path", "https://rancher.test/a%2Fb/c%20d", "https://rancher.test/a%2Fb/c%20d/api/v1/nodes/n1"},
		{"an IPv6 address", "https://[::1]:6443", "https://[::1]:6443/api/v1/nodes/n1"},
		{"plain http", "http://127.0.0.1:8001", "http://127.0.0.1:8001/api/v1/nodes/n1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := new(spy).send(t, client.Options{Config: newConfig(tc.in)}).URL.String()
			if got != tc.want {
				t.Errorf("URL = %s, want %s", got, tc.want)
			}
		})
	}
}

// TestNewRejectsInvalidConfigs checks that New rejects invalid configurations without revealing a secret.
func TestNewRejectsInvalidConfigs(t *testing.T) {
	dir := t.TempDir()
	empty := write(t, dir, "empty", nil)
	text := write(t, dir, "text", []byte("no certificate"))
	token := write(t, dir, "token", []byte("hunter2"))
	own := newAuthority(t).issue(t, "me", 0)
	for _, tc := range []struct {
		name string
		in   config.Config
		own  bool // with a Transport
		want string
	}{
		{"no server", config.Config{}, true, "Server"},
		{"no scheme", config.Config{Server: "cluster.test:6443"}, true, "Server"},
		{
			"a user in the URL",
			config.Config{Server: "https://me:hunter2@cluster.test"},
			true,
			"this test: server https://me:xxxxx@cluster.test: contains a user name or a password",
		},
		{
			"a query in the URL",
			config.Config{Server: "https://cluster.test?x=1"},
			true,
			"this test: server https://cluster.test?x=1: contains a query or a fragment; remove it",
		},
		{"an invalid URL with a password", config.Config{Server: "https://me:hunter2@cluster test"}, true, "Server"},
		{"an auth provider", config.Config{AuthProvider: &config.AuthProvider{Name: "oidc"}}, true, "this test: auth-provider oidc: "},
		{"a token and a password", config.Config{BearerToken: "hunter2", Username: "me", Password: "hunter2"}, true, "Username"},
		{"groups without a user", config.Config{Impersonate: config.Impersonation{Groups: []string{"admins"}}}, true, "Impersonate"},
		{"a missing token file", config.Config{BearerTokenFile: filepath.Join(dir, "none")}, true, "BearerTokenFile"},
		{"an empty token file", config.Config{BearerTokenFile: empty}, true, "BearerTokenFile"},
		{"a missing CA file", config.Config{CAFile: filepath.Join(dir, "none")}, false, "CAFile"},
		{"a CA file without a certificate", config.Config{CAFile: text}, false, "CAFile"},
		{"CA data without a certificate", config.Config{CAData: []byte("hunter2")}, false, "CAData"},
		{"a certificate without its key", config.Config{ClientCertData: own.cert}, false, "ClientKey"},
		{"an invalid proxy", config.Config{ProxyURL: "ftp://me:hunter2@proxy.test"}, false, "ProxyURL"},
		{
			"a token over http",
			config.Config{Server: "http://127.0.0.1:8001", BearerToken: "hunter2"},
			false,
			"this test: credentials are not sent over http: use an https server, or remove the credentials",
		},
		{
			"a token file over http",
			config.Config{Server: "HTTP://127.0.0.1:8001", BearerTokenFile: token},
			false,
			"this test: credentials are not sent over http",
		},
		{
			"a password over http",
			config.Config{Server: "http://127.0.0.1:8001", Username: "me", Password: "hunter2"},
			false,
			"this test: credentials are not sent over http",
		},
		{
			"a client certificate over http",
			config.Config{Server: "http://127.0.0.1:8001", ClientCertData: own.cert, ClientKeyData: config.Secret(own.key)},
			false,
			"this test: credentials are not sent over http",
		},
		{"TLS settings with a Transport", config.Config{
			TLSServerName: "kube", InsecureSkipTLSVerify: true, ProxyURL: "http://proxy.test", ClientCertData: own.cert, ClientKeyData: config.Secret(own.key),
			DisableCompression: true,
		}, true, "this test: the Config sets TLSServerName, InsecureSkipTLSVerify, a client certificate, ProxyURL, " +
			"DisableCompression, which a custom Transport does not use; configure it in the Transport, and clear it in the Config"},
		{"a CA with a Transport", config.Config{CAData: own.cert}, true, "this test: the Config sets a certificate authority, which "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := tc.in
			cfg.Source = "this test"
			if cfg.Server == "" && tc.name != "no server" {
				cfg.Server = "https://cluster.test"
			}
			o := &client.Options{Config: &cfg}
			if tc.own {
				o.Transport = new(spy)
			}
			c, err := client.New(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || c != nil {
				t.Fatalf("New = %v, %v; want %s", c, err, tc.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error reveals a secret: %v", err)
			}
		})
	}
}

func TestUserAgentIsConfigurable(t *testing.T) {
	if got := new(spy).send(t, client.Options{UserAgent: "me/1"}).UserAgent(); got != "me/1" {
		t.Errorf("User-Agent = %q, want me/1", got)
	}
	want := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(os.Args[0])) + `/kube-go \(\w+/\w+\)$`)
	if got := new(spy).send(t, client.Options{}).UserAgent(); !want.MatchString(got) {
		t.Errorf("User-Agent = %q, want %s", got, want)
	}
}

// TestMiddlewareRunsInOrder checks the order of the middleware, and that the user's middleware takes precedence over
// that of the configuration.
func TestMiddlewareRunsInOrder(t *testing.T) {
	var order []string
	note := func(name string, set http.Header) middleware.Func {
		return func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				order = append(order, name)
				if got := r.Header.Get("User-Agent") + r.Header.Get("Authorization") + r.Header.Get("Impersonate-User"); name == "first" && got != "" {
					t.Errorf("middleware of the configuration ran before the user's: %q", got)
				}
				r = r.Clone(r.Context())
				maps.Copy(r.Header, set)
				return next.RoundTrip(r)
			})
		}
	}
	cfg := newConfig("https://cluster.test")
	cfg.BearerToken = "token"
	cfg.Impersonate = config.Impersonation{User: "jane", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"example.com/Why": {"x", "y"}}}
	relevant := func(r *http.Request) http.Header {
		h := r.Header.Clone()
		h.Del("Accept")
		return h
	}

	got := relevant(new(spy).send(t, client.Options{Config: cfg, UserAgent: "me", Middleware: []middleware.Func{note("first", nil), nil, note("second", nil)}}))
	want := http.Header{
		"User-Agent": {"me"}, "Authorization": {"Bearer token"}, "Impersonate-User": {"jane"}, "Impersonate-Uid": {"7"},
		"Impersonate-Group": {"a", "b"}, "Impersonate-Extra-Example.com%2fwhy": {"x", "y"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if strings.Join(order, " ") != "first second" {
		t.Errorf("order = %v, want first second", order)
	}

	override := http.Header{"User-Agent": {"you"}, "Authorization": {"Bearer other"}, "Impersonate-User": {"john"}}
	got = relevant(new(spy).send(t, client.Options{Config: cfg, UserAgent: "me", Middleware: []middleware.Func{note("third", override)}}))
	if diff := cmp.Diff(override, got); diff != "" {
		t.Errorf("headers set by the user's middleware (-want +got):\n%s", diff)
	}
}

func TestCredentialsAreSent(t *testing.T) {
	file := write(t, t.TempDir(), "token", []byte("from-file\n"))
	for _, tc := range []struct {
		name string
		in   config.Config
		want string
	}{
		{"none", config.Config{}, ""},
		{"a token", config.Config{BearerToken: "abc"}, "Bearer abc"},
		{"a token file", config.Config{BearerTokenFile: file}, "Bearer from-file"},
		{"a token file, which takes precedence over a token", config.Config{BearerTokenFile: file, BearerToken: "abc"}, "Bearer from-file"},
		{"a password", config.Config{Username: "me", Password: "pass word"}, "Basic bWU6cGFzcyB3b3Jk"},
		{"a token, which takes precedence over an exec plugin", config.Config{BearerToken: "abc", Exec: &config.ExecConfig{
			Command: "aws", APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever,
		}}, "Bearer abc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := tc.in
			cfg.Server = "https://cluster.test"
			if got := new(spy).send(t, client.Options{Config: &cfg}).Header.Get("Authorization"); got != tc.want {
				t.Errorf("Authorization = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLocalServerIsReachedOverPlainHTTP checks that servers on this machine, such as kubectl proxy, do not need TLS.
func TestLocalServerIsReachedOverPlainHTTP(t *testing.T) {
	s := &testserver.Server{Server: newPlainServer(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Node","apiVersion":"v1"}`))
	})}
	cfg := newConfig(s.URL)
	cfg.Impersonate.User = "jane" // not a secret
	if err := getNode(t.Context(), testserver.NewClient(t, &client.Options{Config: cfg})); err != nil {
		t.Error(err)
	}
}

// TestOptionsAreCopied checks that later changes of the options do not affect a client.
func TestOptionsAreCopied(t *testing.T) {
	cfg, s := newConfig("https://cluster.test"), new(spy)
	cfg.Impersonate = config.Impersonation{User: "jane", Groups: []string{"a"}}
	o := &client.Options{Config: cfg, Transport: s, Limits: &wire.Limits{ObjectBytes: 1 << 10}}
	c := testserver.NewClient(t, o)
	o.Limits.ObjectBytes = 1
	cfg.Server, cfg.Impersonate.Groups[0] = "https://elsewhere.test", "admins"
	if err := getNode(t.Context(), c); err != nil {
		t.Error(err)
	}
	if host, group := s.last.URL.Host, s.last.Header.Get("Impersonate-Group"); host != "cluster.test" || group != "a" {
		t.Errorf("request to %s as member of %s, want cluster.test and a", host, group)
	}
}

// TestNewReadsTheKubeconfigByDefault checks that New reads the kubeconfig without a configuration.
func TestNewReadsTheKubeconfigByDefault(t *testing.T) {
	t.Setenv("KUBECONFIG", write(t, t.TempDir(), "config", []byte(`{"current-context": "dev",
		"contexts": [{"name": "dev", "context": {"cluster": "dev", "namespace": "team"}}],
		"clusters": [{"name": "dev", "cluster": {"server": "https://dev.test"}}]}`)))
	c, err := client.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Server() != "https://dev.test" || c.Namespace() != "team" {
		t.Errorf("client of %s in %s, want https://dev.test in team", c.Server(), c.Namespace())
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := client.New(t.Context(), nil); err == nil {
		t.Error("New without any configuration returned no error")
	}
}

// TestRequestsAreLoggedWithoutSecrets checks that there is one line per request.
func TestRequestsAreLoggedWithoutSecrets(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) { testserver.Fail(w, 403, "Forbidden", "hunter2") })
	cfg := s.Config()
	cfg.BearerToken = "hunter2"
	var out bytes.Buffer
	c := testserver.NewClient(t, &client.Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := client.Namespaced[corev1.ConfigMap](c, "prod").Create(t.Context(), configMap("web", "hunter2"), nil); err == nil {
		t.Fatal("the request returned no error")
	}
	line := regexp.MustCompile(`^time=\S+ level=DEBUG msg=request method=POST url=\S+/api/v1/namespaces/prod/configmaps took=\S+ status=403\n$`)
	if !line.MatchString(out.String()) || strings.Contains(out.String(), "hunter2") {
		t.Errorf("log:\n%swant a line like %s", out.String(), line)
	}
}

// TestDoSendsAnyRequest checks requests without a verb.
func TestDoSendsAnyRequest(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { testserver.Reply(w, 200, "text/plain", []byte("ok")) })
	c := s.Client(t)
	resp, err := c.Do(t.Context(), &request.Request{Method: "GET", Path: "/readyz", Query: map[string][]string{"verbose": {""}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := wire.ReadBody(resp.Body, nil); err != nil || string(body) != "ok" {
		t.Errorf("body = %s, %v; want ok", body, err)
	}
	if uri := s.Asked()[0].URI; uri != "/readyz?verbose=" {
		t.Errorf("URI = %s, want /readyz?verbose=", uri)
	}
	for _, bad := range []request.Request{{Method: "GET", Path: "/%zz"}, {Method: "G T", Path: "/"}} {
		resp, err := c.Do(t.Context(), &bad)
		if err == nil {
			resp.Body.Close()
			t.Errorf("Do(%+v) returned no error", bad)
		}
	}
}

// TestNoRequestIsSentAfterTheContextEnds checks New and a verb with a context that has ended.
func TestNoRequestIsSentAfterTheContextEnds(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := client.New(ctx, &client.Options{Config: newConfig("https://cluster.test")}); !errors.Is(err, cause) {
		t.Errorf("New = %v, want the cause", err)
	}
	s := testserver.New(t, http.NotFound)
	if err := getNode(ctx, s.Client(t)); !errors.Is(err, cause) || len(s.Asked()) != 0 {
		t.Errorf("error = %v after %d requests, want the cause after none", err, len(s.Asked()))
	}
}
