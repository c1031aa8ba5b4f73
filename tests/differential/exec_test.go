// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
)

// guard is a server that accepts one token or one client certificate, and records the credentials of requests.
type guard struct {
	*httptest.Server

	mu   sync.Mutex // guards the fields below
	good string     // empty: accepts all requests
	seen []string
}

func newGuard(t testing.TB) *guard {
	t.Helper()
	g := &guard{}
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var who strings.Builder
		who.WriteString(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		for _, cert := range r.TLS.PeerCertificates {
			who.WriteString("+" + cert.Subject.CommonName)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.seen = append(g.seen, who.String())
		if g.good != "" && who.String() != g.good {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	g.EnableHTTP2 = true
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

func (g *guard) allow(who string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.good = who
}

func (g *guard) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.Certificate().Raw})
}

// pluginConfig is the configuration of a plugin, for both implementations.
type pluginConfig struct {
	command, version, hint string
	mode                   config.InteractiveMode
	args                   []string
	env                    map[string]string
	clusterInfo            bool
	clusterConfig          string
	token                  string // the token of the configuration
	policy                 auth.Policy
	allow                  []string
}

// send sends a request and returns the status.
type send func(ctx context.Context, token string) (int, error)

// ourSend creates a client of ours.
func (pc pluginConfig) ourSend(t testing.TB, g *guard, p *plugin) (send, error) {
	t.Helper()
	e := &config.ExecConfig{
		Command: pc.command, Args: pc.args, APIVersion: pc.version, InstallHint: pc.hint, InteractiveMode: pc.mode,
		ProvideClusterInfo: pc.clusterInfo, ClusterConfig: json.RawMessage(pc.clusterConfig),
		Env: []config.EnvVar{
			{Name: pluginDir, Value: config.Secret(p.dir)},
			{Name: "GORACE", Value: "atexit_sleep_ms=0"}, // otherwise each run takes a second longer
		},
	}
	for name, value := range pc.env {
		e.Env = append(e.Env, config.EnvVar{Name: name, Value: config.Secret(value)})
	}
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: g.URL, CAData: g.ca(), Exec: e, BearerToken: config.Secret(pc.token)},
		Plugin: &auth.PluginOptions{Policy: pc.policy, Allow: pc.allow},
		Retry:  &middleware.RetryOptions{MaxAttempts: 1},
		Middleware: []middleware.Func{func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if token, ok := r.Context().Value(tokenKey{}).(string); ok {
					r = r.Clone(r.Context())
					r.Header.Set("Authorization", "Bearer "+token)
				}
				return next.RoundTrip(r)
			})
		}},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.CloseIdleConnections)
	return func(ctx context.Context, token string) (int, error) {
		if token != "" {
			ctx = context.WithValue(ctx, tokenKey{}, token)
		}
		r, err := request.Raw("/version")
		if err != nil {
			return 0, err
		}
		resp, err := c.Do(ctx, r)
		if err != nil {
			if strings.Contains(err.Error(), "unauthorized") {
				return http.StatusUnauthorized, nil
			}
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}, nil
}

type tokenKey struct{}

// theirSend creates a client of client-go.
func (pc pluginConfig) theirSend(t testing.TB, g *guard, p *plugin) (send, error) {
	t.Helper()
	e := &clientcmdapi.ExecConfig{
		Command: pc.command, Args: pc.args, APIVersion: pc.version, InstallHint: pc.hint, ProvideClusterInfo: pc.clusterInfo,
		InteractiveMode: clientcmdapi.ExecInteractiveMode(pc.mode),
		Env:             []clientcmdapi.ExecEnvVar{{Name: pluginDir, Value: p.dir}, {Name: "GORACE", Value: "atexit_sleep_ms=0"}},
		PluginPolicy:    clientcmdapi.PluginPolicy{PolicyType: clientcmdapi.PolicyType(pc.policy)},
	}
	for name, value := range pc.env {
		e.Env = append(e.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
	}
	for _, name := range pc.allow {
		e.PluginPolicy.Allowlist = append(e.PluginPolicy.Allowlist, clientcmdapi.AllowlistEntry{Command: name})
	}
	if pc.clusterConfig != "" {
		e.Config = &runtime.Unknown{Raw: []byte(pc.clusterConfig), ContentType: runtime.ContentTypeJSON}
	}
	c, err := rest.HTTPClientFor(&rest.Config{
		Host: g.URL, BearerToken: pc.token, ExecProvider: e, TLSClientConfig: rest.TLSClientConfig{CAData: g.ca()},
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(c.CloseIdleConnections)
	return func(ctx context.Context, token string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/version", nil)
		if err != nil {
			return 0, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.Do(r)
		for errors.Is(err, net.ErrClosed) && ctx.Err() == nil {
			// client-go closes its connections after a change of the certificate, even the connection of the current request.
			resp, err = c.Do(r)
		}
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}, nil
}

// play sends requests with a new plugin on a new server. It returns for each request the status, the received
// credentials, and the number of plugin runs.
func play(t testing.TB, pc pluginConfig, story func(*stage), connect func(pluginConfig, testing.TB, *guard, *plugin) (send, error)) []string {
	t.Helper()
	s := &stage{t: t, guard: newGuard(t), plugin: newPlugin(t)}
	if pc.command == "" {
		pc.command = os.Args[0]
	}
	if pc.version == "" {
		pc.version = config.ExecV1
	}
	if pc.mode == "" {
		pc.mode = config.InteractiveNever
	}
	var err error
	if s.send, err = connect(pc, t, s.guard, s.plugin); err != nil {
		return []string{"error"}
	}
	story(s)
	return s.told
}

// stage is the environment of a story.
type stage struct {
	t      testing.TB
	guard  *guard
	plugin *plugin
	send   send
	told   []string
}

// pause waits until a failed plugin may be run again.
func (s *stage) pause() {
	select {
	case <-time.After(1100 * time.Millisecond):
	case <-s.t.Context().Done():
	}
}

// get sends a request, with its own token unless token is empty.
func (s *stage) get(token string) {
	s.t.Helper()
	s.guard.mu.Lock()
	s.guard.seen = nil
	s.guard.mu.Unlock()
	status, err := s.send(s.t.Context(), token)
	result := fmt.Sprint(status)
	if err != nil {
		result = "error"
		if strings.Contains(err.Error(), "brew install it") {
			result = "error with the hint"
		}
	}
	s.told = append(s.told, fmt.Sprintf("%s %q runs=%d", result, s.guard.seen, len(s.plugin.calls(s.t))))
}

func (s *stage) token(token string) { s.plugin.prints(s.t, map[string]string{"token": token}) }

// expiring makes the plugin print a token, and returns when the token expires: at a whole second.
func (s *stage) expiring(token string, in time.Duration) (at time.Time) {
	at = time.Now().Add(in).UTC().Truncate(time.Second)
	s.plugin.prints(s.t, map[string]string{"token": token, "expirationTimestamp": at.Format(time.RFC3339)})
	return at
}

func (s *stage) certificate(p pair, token string) {
	s.plugin.prints(s.t, map[string]string{"token": token, "clientCertificateData": string(p.cert), "clientKeyData": string(p.key)})
}

// TestPluginsRunLikeInClientGo checks that plugins are run like in client-go, except for the listed differences.
func TestPluginsRunLikeInClientGo(t *testing.T) {
	printing := func(text string) func(*stage) {
		return func(s *stage) {
			s.plugin.set(s.t, "stdout", text)
			s.get("")
		}
	}
	one, two := must(newPair("one", time.Hour)), must(newPair("two", time.Hour))
	name, dir := filepath.Base(os.Args[0]), filepath.Dir(os.Args[0])
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GREETING", "from the environment")
	for _, tc := range []struct {
		name    string
		config  pluginConfig
		story   func(*stage)
		because string // the reason of a difference
		ours    []string
		theirs  []string
	}{
		{name: "a token is reused", story: func(s *stage) { s.token("a"); s.get(""); s.token("b"); s.get("") }},
		{name: "a token that expires much later is reused", story: func(s *stage) { s.expiring("a", time.Hour); s.get(""); s.token("b"); s.get("") }},
		{
			name: "a token that expires soon", story: func(s *stage) {
				at := s.expiring("a", 24*time.Second)
				s.get("")
				s.token("b")
				<-time.After(time.Until(at) * 7 / 8) // in the last quarter, however long the plugin took
				s.get("")
			},
			because: "client-go uses it until it expires, possibly during a request; ours renews it in the last quarter of its life",
			ours:    []string{`200 ["a"] runs=1`, `200 ["b"] runs=2`},
			theirs:  []string{`200 ["a"] runs=1`, `200 ["a"] runs=1`},
		},
		{
			name: "a token that has expired before its first use", story: func(s *stage) { s.expiring("a", -time.Hour); s.get(""); s.get("") },
			because: "client-go runs the plugin for each use; ours waits ten seconds before the next run",
			ours:    []string{`200 ["a"] runs=1`, `200 ["a"] runs=1`},
			theirs:  []string{`200 ["a"] runs=2`, `200 ["a"] runs=3`},
		},
		{
			name: "a rejected token", story: func(s *stage) {
				s.token("a")
				s.get("")
				s.guard.allow("b")
				s.token("b")
				s.get("")
				s.get("")
			},
			because: "client-go gets another token, but returns the rejection of the first; ours repeats the request",
			ours:    []string{`200 ["a"] runs=1`, `200 ["a" "b"] runs=2`, `200 ["b"] runs=2`},
			theirs:  []string{`200 ["a"] runs=1`, `401 ["a"] runs=2`, `200 ["b"] runs=2`},
		},
		{
			name: "repeatedly rejected tokens", story: func(s *stage) { s.token("a"); s.guard.allow("b"); s.get(""); s.get(""); s.get("") },
			because: "client-go runs the plugin for each request; ours waits ten seconds before the next run",
			ours:    []string{`401 ["a"] runs=2`, `401 ["a"] runs=2`, `401 ["a"] runs=2`},
			theirs:  []string{`401 ["a"] runs=2`, `401 ["a"] runs=3`, `401 ["a"] runs=4`},
		},
		{
			name: "a plugin that fails after a rejected token", story: func(s *stage) {
				s.token("a")
				s.get("")
				s.guard.allow("b")
				s.plugin.set(s.t, "exit", "1")
				s.get("")
			},
			because: "client-go only logs the failure",
			ours:    []string{`200 ["a"] runs=1`, `error ["a"] runs=2`},
			theirs:  []string{`200 ["a"] runs=1`, `401 ["a"] runs=2`},
		},
		{name: "a certificate is reused", story: func(s *stage) { s.certificate(one, ""); s.get(""); s.certificate(two, ""); s.get("") }},
		{name: "a certificate and a token", story: func(s *stage) { s.certificate(one, "a"); s.get("") }},
		{
			name: "a rejected certificate", story: func(s *stage) {
				s.certificate(one, "")
				s.get("")
				s.guard.allow("+two")
				s.certificate(two, "")
				s.get("")
				s.get("")
			},
			because: "client-go returns the rejection of the first; ours repeats the request",
			ours:    []string{`200 ["+one"] runs=1`, `200 ["+one" "+two"] runs=2`, `200 ["+two"] runs=2`},
			theirs:  []string{`200 ["+one"] runs=1`, `401 ["+one"] runs=2`, `200 ["+two"] runs=2`},
		},
		{
			name: "a request with its own token", story: func(s *stage) { s.token("a"); s.get("mine") },
			because: "client-go also runs the plugin if the server requests a client certificate",
			ours:    []string{`200 ["mine"] runs=0`},
			theirs:  []string{`200 ["mine"] runs=1`},
		},
		{name: "a configuration with its own token", config: pluginConfig{token: "mine"}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "a failed plugin is run again, ours after a second", story: func(s *stage) {
			s.plugin.set(s.t, "exit", "1")
			s.get("")
			s.pause()
			s.get("")
			s.pause()
			s.plugin.set(s.t, "exit", "")
			s.token("a")
			s.get("")
		}},
		{name: "a missing program", config: pluginConfig{command: "no-such-plugin", hint: "brew install it"}, story: func(s *stage) { s.get("") }},
		{name: "a plugin that requires a terminal", config: pluginConfig{mode: config.InteractiveAlways}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "a plugin that can use a terminal", config: pluginConfig{mode: config.InteractiveIfAvailable}, story: func(s *stage) { s.token("a"); s.get("") }},

		{name: "nothing is printed", story: printing("")},
		{name: "invalid JSON is printed", story: printing("token")},
		{name: "YAML is printed", story: printing("kind: ExecCredential\napiVersion: client.authentication.k8s.io/v1\nstatus: {token: abc}\n")},
		{name: "another kind is printed", story: printing(`{"kind":"Pod","apiVersion":"v1"}`)},
		{name: "no kind is printed", story: printing(`{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a"}}`)},
		{name: "an empty kind is printed", story: printing(`{"kind":"","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a"}}`)},
		{name: "no version is printed", story: printing(`{"kind":"ExecCredential","status":{"token":"a"}}`)},
		{name: "neither kind nor version is printed", story: printing(`{"status":{"token":"a"}}`)},
		{name: "another version is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"a"}}`)},
		{name: "no status is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}`)},
		{name: "an empty status is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}}`)},
		{name: "a key without a certificate is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a","clientKeyData":"x"}}`)},
		{name: "an invalid pair is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientCertificateData":"x","clientKeyData":"x"}}`)},
		{name: "an invalid expiration time is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a","expirationTimestamp":"soon"}}`)},
		{name: "a token of two lines is printed", story: printing(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"a\nb"}}`)},

		{
			name: "no plugin is allowed", config: pluginConfig{policy: auth.DenyAll}, story: func(s *stage) { s.token("a"); s.get("") },
			because: "client-go fails at the first request, ours when the client is created",
			ours:    []string{"error"}, theirs: []string{"error [] runs=0"},
		},
		{name: "a path on the list", config: pluginConfig{policy: auth.Allowlist, allow: []string{os.Args[0]}}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "a name on the list", config: pluginConfig{command: name, policy: auth.Allowlist, allow: []string{name}}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "a path whose name is on the list", config: pluginConfig{policy: auth.Allowlist, allow: []string{name}}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "a name whose path is on the list", config: pluginConfig{command: name, policy: auth.Allowlist, allow: []string{os.Args[0]}}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "another one on the list", config: pluginConfig{policy: auth.Allowlist, allow: []string{"sh", "/no/such/plugin"}}, story: func(s *stage) { s.token("a"); s.get("") }},
		{name: "an empty list", config: pluginConfig{policy: auth.Allowlist}, story: func(*stage) {}},
		{name: "an unknown policy", config: pluginConfig{policy: "Some"}, story: func(*stage) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := play(t, tc.config, tc.story, pluginConfig.ourSend)
			want := play(t, tc.config, tc.story, pluginConfig.theirSend)
			if tc.because == "" {
				tc.ours, tc.theirs = want, want
			} else if cmp.Equal(got, want) {
				t.Errorf("no difference, although the case says: %s", tc.because)
			}
			if diff := cmp.Diff(tc.ours, got); diff != "" || len(got) == 0 && tc.config.policy == "" {
				t.Errorf("ours (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.theirs, want); diff != "" {
				t.Errorf("theirs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPluginsReceiveTheSameAsFromClientGo checks that plugins receive identical input, and the same environment.
func TestPluginsReceiveTheSameAsFromClientGo(t *testing.T) {
	t.Setenv("GREETING", "from the environment")
	for _, tc := range []struct {
		name   string
		config pluginConfig
	}{
		{"nothing", pluginConfig{}},
		{"arguments and variables", pluginConfig{args: []string{"a", "b c"}, env: map[string]string{"GREETING": "from the configuration"}}},
		{"the older version", pluginConfig{version: config.ExecV1Beta1}},
		{"a cluster", pluginConfig{clusterInfo: true}},
		{"a cluster for the older version", pluginConfig{clusterInfo: true, version: config.ExecV1Beta1}},
		{"a cluster with its extension", pluginConfig{clusterInfo: true, clusterConfig: `{"audience":"x","list":[1,{"a":null}]}`}},
		{"an extension that was not requested", pluginConfig{clusterConfig: `{"audience":"x"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := map[string][]pluginCall{}
			for who, connect := range map[string]func(pluginConfig, testing.TB, *guard, *plugin) (send, error){
				"ours": pluginConfig.ourSend, "theirs": pluginConfig.theirSend,
			} {
				play(t, tc.config, func(s *stage) {
					s.token("a")
					s.get("")
					calls[who] = s.plugin.calls(t)
					for i := range calls[who] { // each has its own server
						calls[who][i].Info = strings.ReplaceAll(calls[who][i].Info, s.guard.URL, "https://server")
					}
				}, connect)
			}
			if diff := cmp.Diff(calls["theirs"], calls["ours"]); diff != "" || len(calls["ours"]) != 1 {
				t.Errorf("calls (-theirs +ours):\n%s", diff)
			}
		})
	}
}

// TestConcurrentRequestsRunThePluginOnce checks both implementations.
func TestConcurrentRequestsRunThePluginOnce(t *testing.T) {
	for who, connect := range map[string]func(pluginConfig, testing.TB, *guard, *plugin) (send, error){
		"ours": pluginConfig.ourSend, "theirs": pluginConfig.theirSend,
	} {
		got := play(t, pluginConfig{}, func(s *stage) {
			s.token("a")
			s.plugin.set(t, "sleep", "100ms")
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					if status, err := s.send(t.Context(), ""); status != 200 || err != nil {
						t.Errorf("%s: %d, %v", who, status, err)
					}
				})
			}
			wg.Wait()
			s.get("")
		}, connect)
		if diff := cmp.Diff([]string{`200 ["a"] runs=1`}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
}

// TestRequestWaitsForItsPluginOnlyUntilItsContextEnds checks a difference from client-go. As in client-go, the plugin
// itself continues, and its token is used later.
func TestRequestWaitsForItsPluginOnlyUntilItsContextEnds(t *testing.T) {
	play(t, pluginConfig{}, func(s *stage) {
		s.token("a")
		s.plugin.set(t, "sleep", "2s")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := s.send(ctx, ""); err == nil || time.Since(start) > 1900*time.Millisecond {
			t.Errorf("%v after %v, want an immediate error", err, time.Since(start))
		}
		s.get("")
		if diff := cmp.Diff([]string{`200 ["a"] runs=1`}, s.told); diff != "" {
			t.Errorf("afterwards (-want +got):\n%s", diff)
		}
	}, pluginConfig.ourSend)
}
