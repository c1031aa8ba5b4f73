// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
)

// issuer is an OpenID Connect provider. Each refresh token can be used once.
type issuer struct {
	*httptest.Server
	metadata string // replaces the valid metadata

	mu       sync.Mutex // guards the fields below
	refresh  string     // the valid token
	redeemed int
	answer   func(http.ResponseWriter) // replaces the valid response

	arrived, release chan struct{} // if set, each token request reports its arrival and waits
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	i := &issuer{refresh: "refresh-0"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if i.metadata != "" {
			fmt.Fprint(w, i.metadata)
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q}`, i.URL, i.URL+"/token")
	})
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(mux)
	i.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	if i.arrived != nil {
		i.arrived <- struct{}{}
		<-i.release
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	switch {
	case i.answer != nil:
		i.answer(w)
		return
	case id != "kube" || secret != "client-s3cret" || r.FormValue("grant_type") != "refresh_token":
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"error":"invalid_client"}`)
		return
	case r.FormValue("refresh_token") != i.refresh:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"token s3cret is invalid"}`)
		return
	}
	i.redeemed++
	i.refresh = fmt.Sprintf("refresh-%d", i.redeemed)
	fmt.Fprintf(w, `{"access_token":"x","token_type":"Bearer","id_token":%q,"refresh_token":%q}`,
		newToken(fmt.Sprint("id-", i.redeemed), time.Hour), i.refresh)
}

// newToken returns an unsigned ID token.
func newToken(name string, lives time.Duration) string {
	encode := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"name":%q,"exp":%d.5}`, name, time.Now().Add(lives).Unix())
	return encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + ".s3cret"
}

// named returns the name in an ID token.
func named(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return token
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	name, _, _ := strings.Cut(strings.TrimPrefix(string(claims), `{"name":"`), `"`)
	return name
}

// settings returns the settings of a user who has logged in.
func (i *issuer) settings() map[string]config.Secret {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	return map[string]config.Secret{
		"idp-issuer-url":                 config.Secret(i.URL),
		"idp-certificate-authority-data": config.Secret(base64.StdEncoding.EncodeToString(ca)),
		"client-id":                      "kube",
		"client-secret":                  "client-s3cret",
		"refresh-token":                  "refresh-0",
	}
}

func newOIDC(t testing.TB, settings map[string]config.Secret) *auth.OIDC {
	t.Helper()
	p, err := auth.NewOIDC(&config.Config{AuthProvider: &config.AuthProvider{Name: "oidc", Config: settings}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOIDC checks which ID token is sent during the lifetime of ID tokens.
func TestOIDC(t *testing.T) {
	testserver.CheckGoroutines(t)
	i := newIssuer(t)
	settings := i.settings()
	settings["id-token"] = config.Secret(newToken("first", time.Hour))
	p := newOIDC(t, settings)
	to := &bearer{}
	expect := func(when string, status, redeemed int, tokens ...string) {
		t.Helper()
		to.seen = nil
		got, err := send(t, p.Middleware, to, nil)
		if got != status || err != nil || i.redeemed != redeemed {
			t.Errorf("%s: %d, %v after %d refreshes; want %d after %d", when, got, err, i.redeemed, status, redeemed)
		}
		for n, token := range to.seen {
			to.seen[n] = named(token)
		}
		if diff := cmp.Diff(tokens, to.seen); diff != "" {
			t.Errorf("%s: tokens (-want +got):\n%s", when, diff)
		}
	}
	expect("with a token", 200, 0, "first")
	to.token = "another"
	expect("when the token is rejected", 401, 1, "first", "id-1")
	to.token = ""
	expect("with the next token", 200, 1, "id-1")

	for name, token := range map[string]string{
		"expired": newToken("old", -time.Minute), "empty": "", "broken": "a.b.c",
		"not a JWT": "s3cret",
	} {
		i.refresh, i.redeemed = "refresh-0", 0
		settings := i.settings()
		settings["id-token"] = config.Secret(token)
		p = newOIDC(t, settings)
		expect("with a token that is "+name, 200, 1, "id-1")
	}
}

// TestOIDCFailures checks that errors say what to do, and show no token.
func TestOIDCFailures(t *testing.T) {
	testserver.CheckGoroutines(t)
	text := func(code int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.crt")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		change   func(map[string]config.Secret)
		metadata string
		answer   func(http.ResponseWriter)
		want     string // ISSUER is the URL
	}{
		{
			"a missing issuer", func(s map[string]config.Secret) { delete(s, "idp-issuer-url") }, "", nil,
			"auth-provider oidc: idp-issuer-url is missing: log in again",
		},
		{
			"a missing client ID", func(s map[string]config.Secret) { delete(s, "client-id") }, "", nil,
			"auth-provider oidc: client-id is missing: log in again",
		},
		{
			"an issuer without TLS", func(s map[string]config.Secret) { s["idp-issuer-url"] = "http://idp" }, "", nil,
			`auth-provider oidc: idp-issuer-url "http://idp" is not an https URL`,
		},
		{
			"a certificate authority that is not base64",
			func(s map[string]config.Secret) { s["idp-certificate-authority-data"] = "?" }, "", nil,
			"auth-provider oidc: idp-certificate-authority-data: is not valid base64: encode the content of the file with " +
				"base64",
		},
		{
			"a missing certificate authority file", func(s map[string]config.Secret) {
				s["idp-certificate-authority-data"], s["idp-certificate-authority"] = "", "/no/such/file"
			}, "", nil, "auth-provider oidc: idp-certificate-authority: open /no/such/file: no such file or directory",
		},
		{
			"an empty certificate authority file", func(s map[string]config.Secret) {
				s["idp-certificate-authority-data"], s["idp-certificate-authority"] = "", config.Secret(empty)
			}, "", nil, "auth-provider oidc: idp-certificate-authority: contains no certificate: provide it in PEM format",
		},
		{
			"the certificate authority of another provider", func(s map[string]config.Secret) {
				s["idp-certificate-authority-data"] = config.Secret(base64.StdEncoding.EncodeToString(newPair(t, "other").cert))
			}, "", nil, `oidc provider ISSUER: Get "ISSUER/.well-known/openid-configuration": tls: failed to verify ` +
				`certificate: ` +
				`x509: certificate signed by unknown authority`,
		},
		{
			"a missing refresh token", func(s map[string]config.Secret) { delete(s, "refresh-token") }, "", nil,
			"oidc provider ISSUER: the id-token has expired or was rejected, and refresh-token is missing: log in again",
		},
		{
			"a spent refresh token", func(s map[string]config.Secret) { s["refresh-token"] = "s3cret" }, "", nil,
			"oidc provider ISSUER: refresh the id-token: 400 Bad Request: invalid_grant: " +
				"the refresh-token has expired or was used: log in again",
		},
		{
			"an unknown client", func(s map[string]config.Secret) { s["client-id"] = "other" }, "", nil,
			"oidc provider ISSUER: refresh the id-token: 401 Unauthorized: invalid_client",
		},
		{
			"another issuer", func(s map[string]config.Secret) { s["idp-issuer-url"] += "/tenant" }, "", nil,
			"oidc provider ISSUER/tenant: /.well-known/openid-configuration: the provider responded with 404 Not Found: " +
				"correct the idp-issuer-url",
		},
		{
			"an issuer that is not an OpenID Connect provider", nil, "<html>s3cret", nil,
			"oidc provider ISSUER: /.well-known/openid-configuration: the response has no token_endpoint: correct the " +
				"idp-issuer-url",
		},
		{
			"a token endpoint without TLS", nil, `{"token_endpoint":"http://idp/token"}`, nil,
			`oidc provider ISSUER: token_endpoint "http://idp/token" is not an https URL`,
		},
		{
			"an unavailable issuer", nil, "", text(503, "s3cret"),
			"oidc provider ISSUER: refresh the id-token: 503 Service Unavailable",
		},
		{
			"an issuer that repeats secrets in its response", nil, "", text(400, `{"error":"bad refresh-0 of client-s3cret"}`),
			"oidc provider ISSUER: refresh the id-token: 400 Bad Request: bad [redacted] of [redacted]",
		},
		{
			"a token endpoint that redirects to another host", nil, "", func(w http.ResponseWriter) {
				w.Header().Set("Location", "https://elsewhere.test/token")
				w.WriteHeader(http.StatusTemporaryRedirect)
			},
			`oidc provider ISSUER: refresh the id-token: Post "https://elsewhere.test/token": the token endpoint redirects: ` +
				"tokens are not sent to another URL",
		},
		{
			"a response without an ID token", nil, "", text(200, `{"access_token":"s3cret"}`),
			"oidc provider ISSUER: the response has no id_token: request the scope openid when you log in, " +
				"or use an exec plugin if the provider never returns one",
		},
		{
			"an expired ID token", nil, "", text(200, `{"access_token":"s3cret","id_token":"`+newToken("old", -time.Hour)+`"}`),
			"oidc provider ISSUER: the new id-token is invalid or has expired: compare the clocks",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := newIssuer(t)
			i.metadata, i.answer = tc.metadata, tc.answer
			settings := i.settings()
			if tc.change != nil {
				tc.change(settings)
			}
			p, err := auth.NewOIDC(&config.Config{AuthProvider: &config.AuthProvider{Name: "oidc", Config: settings}}, nil)
			if err == nil {
				_, err = send(t, p.Middleware, &bearer{}, nil)
				if _, ok := errors.AsType[*auth.OIDCError](err); !ok {
					t.Errorf("error = %v, want an OIDCError", err)
				}
			}
			want := strings.ReplaceAll(tc.want, "ISSUER", i.URL)
			if err == nil || err.Error() != want || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error = %v\n want = %s", err, want)
			}
		})
	}
	if _, err := auth.NewOIDC(&config.Config{AuthProvider: &config.AuthProvider{Name: "gcp"}}, nil); err == nil {
		t.Error("NewOIDC accepts the auth-provider gcp")
	}
}

// kubeconfigOf writes a kubeconfig with an OIDC user.
func kubeconfigOf(t testing.TB, file string, settings map[string]config.Secret) {
	t.Helper()
	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.SetCluster("c", config.Cluster{Server: "https://kube.example.com"})
		k.SetUser("ann", config.User{AuthProvider: &config.AuthProvider{Name: "oidc", Config: settings}})
		k.SetContext("ann", config.Context{Cluster: "c", User: "ann"})
		k.CurrentContext = "ann"
		return nil
	}, &config.ModifyOptions{Path: file})
	if err != nil {
		t.Error(err) // a server may call it
	}
}

func load(t testing.TB, file string) *config.Config {
	t.Helper()
	cfg, err := config.Load(t.Context(), &config.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestOIDCKeepsTokens checks that new tokens are written to the kubeconfig, where the next program finds them, and that
// tokens that another program has written there are used.
func TestOIDCKeepsTokens(t *testing.T) {
	testserver.CheckGoroutines(t)
	i := newIssuer(t)
	file := filepath.Join(t.TempDir(), "config")
	var logged bytes.Buffer
	o := &auth.OIDCOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	program := func() *auth.OIDC {
		t.Helper()
		p, err := auth.NewOIDC(load(t, file), o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	expect := func(p *auth.OIDC, when, want string, redeemed int) {
		t.Helper()
		to := &bearer{}
		if _, err := send(t, p.Middleware, to, nil); err != nil || len(to.seen) != 1 || named(to.seen[0]) != want ||
			i.redeemed != redeemed {
			t.Errorf("%s: tokens %q, %v after %d refreshes; want %s after %d", when, to.seen, err, i.redeemed, want, redeemed)
		}
	}

	kubeconfigOf(t, file, i.settings())
	first, second := program(), program()
	expect(first, "at first", "id-1", 1)
	expect(second, "in another program that started at the same time", "id-1", 1)
	expect(program(), "in a program that starts later", "id-1", 1)
	if got := load(t, file).AuthProvider.Config["refresh-token"]; got != "refresh-1" {
		t.Errorf("the kubeconfig has the refresh token %q, want refresh-1", string(got))
	}

	if err := os.Mkdir(file+".lock", 0o700); err != nil { // a lock that is never released
		t.Fatal(err)
	}
	if got, err := send(t, first.Middleware, &bearer{token: "none"}, nil); got != 401 || err != nil || i.redeemed != 2 {
		t.Errorf("%d, %v after %d refreshes; want 401 after 2", got, err, i.redeemed)
	}
	if text := logged.String(); !strings.Contains(text, "level=WARN") ||
		!strings.Contains(text, "is locked by another program") ||
		strings.Contains(text, "s3cret") || strings.Contains(text, "refresh-") {
		t.Errorf("logged %q, want a warning without tokens", text)
	}
	if err := os.Remove(file + ".lock"); err != nil {
		t.Fatal(err)
	}
	if got, err := send(t, first.Middleware, &bearer{token: "none"}, nil); got != 401 || err != nil || i.redeemed != 3 {
		t.Errorf("with tokens that could not be written: %d, %v after %d refreshes; want 401 after 3", got, err, i.redeemed)
	}
	expect(program(), "in a program that starts later", "id-3", 3)

	err := config.Modify(t.Context(), func(k *config.Kubeconfig) error {
		k.SetUser("ann", config.User{Token: "abc"})
		return nil
	}, &config.ModifyOptions{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	logged.Reset()
	if got, err := send(t, first.Middleware, &bearer{token: "none"}, nil); got != 401 || err != nil || i.redeemed != 4 {
		t.Errorf("with a user that has changed: %d, %v after %d refreshes; want 401 after 4", got, err, i.redeemed)
	}
	if got := load(t, file); got.AuthProvider != nil || got.BearerToken != "abc" {
		t.Errorf("the changed user was overwritten: %v", got)
	}
	if !strings.Contains(logged.String(), `no longer has the auth-provider oidc`) {
		t.Errorf("logged %q, want a warning that the user has changed", logged.String())
	}
}

// TestOIDCWritesTokensThatCouldNotBeWritten checks that a refresh token that could not be written is written with the
// next ID token. The spent one in the kubeconfig must not come back.
func TestOIDCWritesTokensThatCouldNotBeWritten(t *testing.T) {
	testserver.CheckGoroutines(t)
	i := newIssuer(t)
	file := filepath.Join(t.TempDir(), "config")
	kubeconfigOf(t, file, i.settings())
	p, err := auth.NewOIDC(load(t, file), nil)
	if err != nil {
		t.Fatal(err)
	}
	refresh := func(when string) {
		t.Helper()
		if got, err := send(t, p.Middleware, &bearer{token: "none"}, nil); got != 401 || err != nil {
			t.Errorf("%s: %d, %v; want 401", when, got, err)
		}
	}
	if err := os.Mkdir(file+".lock", 0o700); err != nil { // a lock that is never released
		t.Fatal(err)
	}
	refresh("with a locked kubeconfig")
	if err := os.Remove(file + ".lock"); err != nil {
		t.Fatal(err)
	}
	i.answer = func(w http.ResponseWriter) { // which keeps the refresh token
		fmt.Fprintf(w, `{"access_token":"x","token_type":"Bearer","id_token":%q}`, newToken("id-2", time.Hour))
	}
	refresh("with a response without a refresh token")
	got := load(t, file).AuthProvider.Config
	if id, token := named(string(got["id-token"])), string(got["refresh-token"]); id != "id-2" || token != i.refresh {
		t.Errorf("the kubeconfig has the tokens %s and %s, want id-2 and %s", id, token, i.refresh)
	}
	i.answer = nil
	refresh("with the tokens of the kubeconfig")
}

// TestOIDCKeepsAnotherLogin checks that a refresh does not replace the tokens that a user has obtained meanwhile by
// logging in again, at the same issuer or at another one. The next refresh uses those of the same issuer.
func TestOIDCKeepsAnotherLogin(t *testing.T) {
	testserver.CheckGoroutines(t)
	for _, tc := range []struct {
		name, setting string // the setting that the new login changes, beside the refresh token
		response      string // the refresh token of the response
		want          string // in the kubeconfig
		warning       string
	}{
		{name: "at the same issuer", want: "refresh-login"},
		{name: "at the same issuer with a new refresh token", response: "refresh-next", want: "refresh-next"},
		{
			name: "at another issuer", setting: "idp-issuer-url", response: "refresh-next", want: "refresh-login",
			warning: "no longer has the auth-provider oidc",
		},
		{
			name: "of another client", setting: "client-id", response: "refresh-next", want: "refresh-login",
			warning: "no longer has the auth-provider oidc",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := newIssuer(t)
			file := filepath.Join(t.TempDir(), "config")
			kubeconfigOf(t, file, i.settings())
			var logged bytes.Buffer
			o := &auth.OIDCOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
			p, err := auth.NewOIDC(load(t, file), o)
			if err != nil {
				t.Fatal(err)
			}
			i.answer = func(w http.ResponseWriter) {
				login := i.settings()
				login["refresh-token"], login["id-token"] = "refresh-login", config.Secret(newToken("login", time.Hour))
				if tc.setting != "" {
					login[tc.setting] += "-other"
				}
				kubeconfigOf(t, file, login)
				fmt.Fprintf(w, `{"access_token":"x","id_token":%q,"refresh_token":%q}`, newToken("id-1", time.Hour), tc.response)
			}
			if got, err := send(t, p.Middleware, &bearer{}, nil); got != 200 || err != nil {
				t.Errorf("%d, %v; want 200", got, err)
			}
			got := load(t, file).AuthProvider.Config
			wantID := "login"
			if tc.want != "refresh-login" {
				wantID = "id-1"
			}
			if id, token := named(string(got["id-token"])), string(got["refresh-token"]); id != wantID || token != tc.want {
				t.Errorf("the kubeconfig has the tokens %s and %s, want %s and %s", id, token, wantID, tc.want)
			}
			if text := logged.String(); (text != "") != (tc.warning != "") || !strings.Contains(text, tc.warning) {
				t.Errorf("logged %q, want %q", text, tc.warning)
			}
			if tc.setting != "" || tc.response != "" {
				return
			}
			to := &bearer{token: "none"}
			if _, err := send(t, p.Middleware, to, nil); err != nil || named(to.seen[len(to.seen)-1]) != "login" {
				t.Errorf("after a 401: tokens %q, %v; want those of the login", to.seen, err)
			}
		})
	}
}

// TestOIDCOfManyPrograms checks that programs whose ID tokens expire at the same moment do not fail because of each
// other: the slower programs find the tokens that the fastest has written.
func TestOIDCOfManyPrograms(t *testing.T) {
	testserver.CheckGoroutines(t)
	i := newIssuer(t)
	file := filepath.Join(t.TempDir(), "config")
	kubeconfigOf(t, file, i.settings())
	var programs sync.WaitGroup
	for range 20 {
		p, err := auth.NewOIDC(load(t, file), nil)
		if err != nil {
			t.Fatal(err)
		}
		programs.Go(func() {
			if got, err := send(t, p.Middleware, &bearer{}, nil); got != 200 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
	programs.Wait()
	if got := load(t, file).AuthProvider.Config["refresh-token"]; string(got) != i.refresh {
		t.Errorf("the kubeconfig has the refresh token %s, want %s", string(got), i.refresh)
	}
}

// TestOIDCRefreshOutlivesItsCallers checks that a refresh is finished after the last waiting request has ended: the
// refresh token is spent by then, and the new one must be kept and saved.
func TestOIDCRefreshOutlivesItsCallers(t *testing.T) {
	testserver.CheckGoroutines(t)
	i := newIssuer(t)
	i.arrived, i.release = make(chan struct{}), make(chan struct{})
	file := filepath.Join(t.TempDir(), "config")
	kubeconfigOf(t, file, i.settings())
	p, err := auth.NewOIDC(load(t, file), nil)
	if err != nil {
		t.Fatal(err)
	}
	get := func(ctx context.Context) (string, error) {
		to := &bearer{}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "https://kube.example.com/version", nil)
		resp, err := p.Middleware(to).RoundTrip(r)
		if err != nil {
			return "", err
		}
		resp.Body.Close()
		return named(to.seen[0]), nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	gaveUp := make(chan error)
	go func() {
		_, err := get(ctx)
		gaveUp <- err
	}()
	<-i.arrived
	cancel(enough)
	if err := <-gaveUp; err != enough {
		t.Errorf("error = %v, want enough", err)
	}
	close(i.release)
	if got, err := get(t.Context()); got != "id-1" || err != nil || i.redeemed != 1 {
		t.Errorf("token %s, %v after %d refreshes; want id-1 after 1", got, err, i.redeemed)
	}
	if got := load(t, file).AuthProvider.Config["refresh-token"]; got != "refresh-1" {
		t.Errorf("the kubeconfig has the refresh token %q, want refresh-1", string(got))
	}
}

// TestOIDCKeepsARefreshTokenWithoutIDToken checks that a new refresh token is kept and saved even if the ID token of
// the response is missing or invalid: the old refresh token may be spent.
func TestOIDCKeepsARefreshTokenWithoutIDToken(t *testing.T) {
	testserver.CheckGoroutines(t)
	for name, id := range map[string]string{"missing": "", "expired": newToken("old", -time.Hour)} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.answer = func(w http.ResponseWriter) {
				i.refresh = "refresh-next"
				fmt.Fprintf(w, `{"access_token":"x","id_token":%q,"refresh_token":"refresh-next"}`, id)
			}
			file := filepath.Join(t.TempDir(), "config")
			kubeconfigOf(t, file, i.settings())
			p, err := auth.NewOIDC(load(t, file), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := send(t, p.Middleware, &bearer{}, nil); err == nil {
				t.Error("want an error without an ID token")
			}
			if got := load(t, file).AuthProvider.Config["refresh-token"]; got != "refresh-next" {
				t.Errorf("the kubeconfig has the refresh token %q, want refresh-next", string(got))
			}
			i.answer = nil
			if got, err := send(t, p.Middleware, &bearer{}, nil); got != 200 || err != nil {
				t.Errorf("with the new refresh token: %d, %v; want 200", got, err)
			}
		})
	}
}
