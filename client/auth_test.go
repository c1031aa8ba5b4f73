// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
)

// credentialPlugin is an exec plugin that prints the content of a file.
type credentialPlugin struct{ dir string }

func newCredentialPlugin(t testing.TB) *credentialPlugin {
	t.Helper()
	return &credentialPlugin{t.TempDir()}
}

// exec returns the configuration of the plugin.
func (p *credentialPlugin) exec() *config.ExecConfig {
	return &config.ExecConfig{
		Command: "sh", Args: []string{"-c", `echo run >>"$DIR/runs"; cat "$DIR/stdout"`},
		Env:        []config.EnvVar{{Name: "DIR", Value: config.Secret(p.dir)}},
		APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever,
	}
}

// print sets the output of the plugin.
func (p *credentialPlugin) print(t testing.TB, token string, cert pair) {
	t.Helper()
	write(t, p.dir, "stdout", testserver.JSON(t, map[string]any{
		"kind": "ExecCredential", "apiVersion": config.ExecV1,
		"status": map[string]string{"token": token, "clientCertificateData": string(cert.cert), "clientKeyData": string(cert.key)},
	}))
}

// runs returns the number of times that the plugin ran.
func (p *credentialPlugin) runs(t testing.TB) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// TestRejectedTokenIsReplacedWithinTheCall checks that a token of a plugin or a file that the server no longer accepts
// is replaced within any call, and that the error of a token that never changes is returned immediately.
func TestRejectedTokenIsReplacedWithinTheCall(t *testing.T) {
	file := write(t, t.TempDir(), "token", []byte("one"))
	plugin := newCredentialPlugin(t)
	for _, source := range []struct {
		name   string
		change func(*config.Config)
		print  func(token string)
	}{
		{
			"a plugin", func(c *config.Config) { c.Exec = plugin.exec() },
			func(token string) { plugin.print(t, token, pair{}) },
		},
		{
			"a file", func(c *config.Config) { c.BearerTokenFile = file },
			func(token string) { write(t, filepath.Dir(file), "token", []byte(token)) },
		},
	} {
		t.Run(source.name, func(t *testing.T) {
			var bodies []string
			var good atomic.Value
			good.Store("one")
			s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Header.Get("Authorization") != "Bearer "+good.Load().(string):
					testserver.Fail(w, 401, "Unauthorized", "Unauthorized")
				case r.Header.Get("Upgrade") != "":
					testserver.Fail(w, 403, "Forbidden", "not today")
				default:
					testserver.Reply(w, 200, jsonType, configMapJSON(t, "x", "green"))
				}
			})
			cfg := s.Config()
			source.change(cfg)
			source.print("one")
			c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})
			maps := client.Namespaced[leanConfigMap](c, "prod")
			pods := pod.In(c, "prod")
			calls := []struct {
				name string
				call func() error
			}{
				{"get", func() error { _, err := maps.Get(t.Context(), "x", nil); return err }},
				{"create", func() error {
					_, err := maps.Create(t.Context(), &leanConfigMap{Data: map[string]string{"a": "b"}}, nil)
					return err
				}},
				{"exec", func() error { // finally rejected for another reason
					_, err := pods.Exec(t.Context(), "x", &pod.ExecOptions{Command: []string{"ls"}})
					if errors.Is(err, core.ErrForbidden) {
						return nil
					}
					return err
				}},
			}
			for _, tc := range calls {
				source.print("one")
				good.Store("one")
				if err := tc.call(); err != nil {
					t.Fatalf("%s: %v", tc.name, err)
				}
				good.Store("two")
				source.print("two")
				before := len(s.Asked())
				if err := tc.call(); err != nil {
					t.Errorf("%s: %v", tc.name, err)
				}
				bodies = nil
				for _, ask := range s.Asked()[before:] {
					bodies = append(bodies, ask.Method+" "+ask.Header.Get("Authorization")+" "+ask.Body)
				}
				if len(bodies) != 2 || strings.Replace(bodies[0], "one", "two", 1) != bodies[1] {
					t.Errorf("%s was sent as %q, want two equal requests with two tokens", tc.name, bodies)
				}
			}
		})
	}
	t.Run("a token that never changes", func(t *testing.T) {
		s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") })
		cfg := s.Config()
		cfg.BearerToken = "one"
		_, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod").Get(t.Context(), "x", nil)
		if !errors.Is(err, core.ErrUnauthorized) || len(s.Asked()) != 1 {
			t.Errorf("%v after %d requests, want ErrUnauthorized after one", err, len(s.Asked()))
		}
	})
}

// TestPluginCertificateIsReplaced checks that a plugin's client certificate is presented, and that the next one
// replaces it without interrupting a watch.
func TestPluginCertificateIsReplaced(t *testing.T) {
	testserver.CheckGoroutines(t)
	ca := newAuthority(t)
	var good atomic.Value
	good.Store("one")
	events := make(chan string)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if certs := r.TLS.PeerCertificates; len(certs) > 0 {
			name = certs[0].Subject.CommonName
		}
		switch {
		case r.URL.Query().Has("watch"):
			w.Header().Set("Content-Type", jsonType)
			send(w)
			for e := range events {
				send(w, event(t, jsonType, core.Added, e+" of "+name))
			}
		case name != good.Load():
			testserver.Fail(w, 401, "Unauthorized", "Unauthorized")
		default:
			testserver.Reply(w, 200, jsonType, configMapJSON(t, name, "green"))
		}
	}))
	s.Config.ErrorLog = discard()
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert,
		Certificates: []tls.Certificate{ca.issue(t, "kube", time.Hour).load(t)},
	}
	s.StartTLS()
	t.Cleanup(s.Close)

	plugin := newCredentialPlugin(t)
	plugin.print(t, "", ca.issue(t, "one", time.Hour))
	cfg := &config.Config{Server: s.URL, CAData: ca.pem, Exec: plugin.exec()}
	c := testserver.NewClient(t, &client.Options{Config: cfg})
	t.Cleanup(c.CloseIdleConnections)
	maps := client.Namespaced[leanConfigMap](c, "prod")
	expect := func(when, want string, runs int) {
		t.Helper()
		got, err := maps.Get(t.Context(), "x", nil)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got.Name != want || plugin.runs(t) != runs {
			t.Errorf("%s: the server sees %q after %d runs, want %q after %d", when, got.Name, plugin.runs(t), want, runs)
		}
	}
	expect("at first", "one", 1)
	seen := make(chan string)
	go func() {
		defer close(seen)
		for ev, err := range maps.WatchOnce(t.Context(), nil) {
			if err != nil {
				return
			}
			seen <- ev.Object.Name
		}
	}()
	events <- "first"
	if got := <-seen; got != "first of one" {
		t.Errorf("event = %q", got)
	}
	good.Store("two")
	plugin.print(t, "", ca.issue(t, "two", time.Hour))
	expect("after the certificate was rejected", "two", 2)
	expect("again", "two", 2)
	events <- "second"
	if got := <-seen; got != "second of one" {
		t.Errorf("event = %q", got)
	}
	close(events)
	if _, more := <-seen; more {
		t.Error("the watch has not ended")
	}

	own := &client.Options{Config: &config.Config{Server: s.URL, Exec: plugin.exec()}, Transport: http.DefaultTransport}
	_, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, own), "prod").Get(t.Context(), "x", nil)
	if err == nil || !strings.Contains(err.Error(), "the exec plugin returned a client certificate, which a custom Transport does not use") {
		t.Errorf("with a Transport: %v", err)
	}
}

// TestPluginTokenIsSentThroughATransport checks that a plugin works with a Transport in the options.
func TestPluginTokenIsSentThroughATransport(t *testing.T) {
	plugin := newCredentialPlugin(t)
	plugin.print(t, "one", pair{})
	var got []string
	rt := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.Header.Get("Authorization"))
		w := httptest.NewRecorder()
		testserver.Reply(w, 200, jsonType, configMapJSON(t, "x", "green"))
		return w.Result(), nil
	})
	cfg := newConfig("https://kube.example.com")
	cfg.Exec = plugin.exec()
	if _, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg, Transport: rt}), "prod").Get(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Bearer one"}, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// TestInvalidCredentialsAreRejectedByNew checks that New rejects invalid credentials, with a remedy.
func TestInvalidCredentialsAreRejectedByNew(t *testing.T) {
	plugin := newCredentialPlugin(t)
	other := testserver.NewClient(t, &client.Options{Config: &config.Config{Server: "https://kube.example.com", Exec: plugin.exec()}})
	for _, tc := range []struct {
		name    string
		config  config.Config
		options client.Options
		want    []string
	}{
		{
			"the provider gcp",
			config.Config{AuthProvider: &config.AuthProvider{Name: "gcp"}},
			client.Options{},
			[]string{"gcp was removed", "gke-gcloud-auth-plugin"},
		},
		{
			"the provider azure",
			config.Config{AuthProvider: &config.AuthProvider{Name: "azure"}},
			client.Options{},
			[]string{"azure was removed", "kubelogin convert-kubeconfig"},
		},
		{
			"the provider oidc without an issuer",
			config.Config{AuthProvider: &config.AuthProvider{Name: "oidc"}},
			client.Options{},
			[]string{"idp-issuer-url is missing", "log in again"},
		},
		{
			"a plugin over http",
			config.Config{Server: "http://localhost", Exec: plugin.exec()},
			client.Options{},
			[]string{"credentials are not sent over http"},
		},
		{
			"a plugin that is not allowed",
			config.Config{Exec: plugin.exec()},
			client.Options{Plugin: &auth.PluginOptions{Policy: auth.DenyAll}},
			[]string{`exec plugin "sh": is not allowed to run: the policy is DenyAll`},
		},
		{
			"options for a shared plugin",
			config.Config{Exec: plugin.exec()},
			client.Options{Share: other, Plugin: &auth.PluginOptions{Policy: auth.DenyAll}},
			[]string{"Options.Share and Options.Plugin exclude each other"},
		},
		{
			"a token with a shared plugin",
			config.Config{Exec: plugin.exec(), BearerToken: "abc"},
			client.Options{Share: other},
			[]string{"Options.Share: the Config has different credentials than the client", "clear Share"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.config.Server == "" {
				tc.config.Server = "https://kube.example.com"
			}
			tc.options.Config = &tc.config
			_, err := client.New(t.Context(), &tc.options)
			if err == nil || slices.ContainsFunc(tc.want, func(part string) bool { return !strings.Contains(err.Error(), part) }) {
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
	if n := plugin.runs(t); n != 0 {
		t.Errorf("the plugin ran %d times", n)
	}
}

// TestPluginRunsOnceForADenialOfAWebhook has a webhook that denies with the code of a rejected credential.
func TestPluginRunsOnceForADenialOfAWebhook(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Fail(w, 401, "", `admission webhook "v.example.com" denied the request: bad signature`)
	})
	plugin := newCredentialPlugin(t)
	plugin.print(t, "token", pair{})
	cfg := s.Config()
	cfg.Exec = plugin.exec()
	c := testserver.NewClient(t, &client.Options{Config: cfg})
	_, err := client.Namespaced[leanConfigMap](c, "prod").Create(t.Context(), leanWeb(), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "bad signature") {
		t.Errorf("error = %v, want one that ends with the message of the webhook", err)
	}
	if runs, sent := plugin.runs(t), len(s.Asked()); runs != 1 || sent != 1 {
		t.Errorf("%d runs of the plugin and %d requests, want 1 and 1", runs, sent)
	}
}

// TestErrorOfAnExpiredCertificateNamesTheCause checks that the server's rejection is returned with the local cause.
func TestErrorOfAnExpiredCertificateNamesTheCause(t *testing.T) {
	ca := newAuthority(t)
	old, valid := ca.issue(t, "me", -time.Hour), ca.issue(t, "me", time.Hour)
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { testserver.Fail(w, 401, "Unauthorized", "Unauthorized") })
	for _, tc := range []struct {
		name string
		pair pair
		want bool
	}{{"an expired certificate", old, true}, {"a valid certificate", valid, false}} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := s.Config()
			cfg.ClientCertData, cfg.ClientKeyData = tc.pair.cert, config.Secret(tc.pair.key)
			_, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod").Get(t.Context(), "x", nil)
			if !errors.Is(err, core.ErrUnauthorized) || errors.Is(err, config.ErrCertificateExpired) != tc.want {
				t.Errorf("error = %v, want ErrUnauthorized, and ErrCertificateExpired: %v", err, tc.want)
			}
		})
	}
}

// TestRedirectsAreNotFollowed checks that no request follows a redirect, so that no other server receives the
// credentials.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other server received %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, code) })
		cfg := s.Config()
		cfg.BearerToken = "s3cret"
		cfg.CAData = append(cfg.CAData, (&testserver.Server{Server: elsewhere}).Config().CAData...)
		c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})
		maps := client.Namespaced[leanConfigMap](c, "prod")
		pods := pod.In(c, "prod")
		_, getErr := maps.Get(t.Context(), "web", nil)
		_, createErr := maps.Create(t.Context(), leanWeb(), nil)
		_, execErr := pods.Exec(t.Context(), "x", &pod.ExecOptions{Command: []string{"ls"}})
		_, proxyErr := pods.Proxy(t.Context(), "x", nil) //nolint:bodyclose // the call fails
		for what, err := range map[string]error{"get": getErr, "create": createErr, "exec": execErr, "proxy": proxyErr} {
			if err == nil || !strings.Contains(err.Error(), "redirects are not followed") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s after %d: %v, want an error about redirects", what, code, err)
			}
		}
	}
}
