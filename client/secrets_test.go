// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/auth"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// secretForms returns the printed forms of a secret: plain, in hexadecimal, as numbers, and in base64.
func secretForms(secret string) []string {
	return []string{
		secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
		strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"), strings.Trim(fmt.Sprintf("%#v", []byte(secret)), "[]byte{}"),
		base64.StdEncoding.EncodeToString([]byte(secret[:len(secret)/3*3])),
	}
}

// checkHidden fails the test if text contains a secret.
func checkHidden(t testing.TB, what, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range secretForms(secret) {
			if strings.Contains(text, form) {
				t.Errorf("%s reveals %q:\n%.2000s", what, secret, text)
				return
			}
		}
	}
}

// printed returns a value as printed by every verb, alone and in fields of other values, and as logged by both
// handlers.
func printed(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%f", "%U", "%20v"} {
		for _, in := range []any{v, struct{ V any }{v}, []any{v}, map[string]any{"v": v}} {
			fmt.Fprintf(&b, verb+"\n", in)
		}
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("value", "v", v, slog.Group("g", "v", v))
	}
	if data, err := json.Marshal(v); err == nil { // types with functions can't be marshalled
		b.Write(data)
	}
	return b.String()
}

// TestPrintingShowsNoSecret checks that values with credentials can be printed and logged.
func TestPrintingShowsNoSecret(t *testing.T) {
	const secret, argument, variable, refresh = "s3cret-token", "s3cret-argument", "s3cret-variable", "s3cret-refresh"
	exec := &config.ExecConfig{
		Command: "login", Args: []string{argument}, Env: []config.EnvVar{{Name: "A", Value: variable}},
		APIVersion: config.ExecV1, InteractiveMode: config.InteractiveNever, ProvideClusterInfo: true,
		ClusterConfig: json.RawMessage(`"` + argument + `"`),
	}
	cfg := &config.Config{Server: "https://kube.example.com", BearerToken: secret, ProxyURL: "http://ann:" + argument + "@proxy"}
	withPlugin := &config.Config{Server: "https://kube.example.com", Exec: exec}
	withOIDC := &config.Config{Server: "https://kube.example.com", AuthProvider: &config.AuthProvider{
		Name: "oidc", Config: map[string]config.Secret{
			"idp-issuer-url": "https://idp", "client-id": "kube", "client-secret": argument, "id-token": secret, "refresh-token": refresh,
		},
	}}
	plugin, err := auth.NewPlugin(withPlugin, nil)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := auth.NewOIDC(withOIDC, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := testserver.NewClient(t, &client.Options{Config: cfg})
	maps := client.Namespaced[leanConfigMap](c, "prod")
	next := middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, io.EOF })
	for _, v := range []any{
		cfg, *cfg, withPlugin, withOIDC, exec, config.Secret(secret),
		config.Kubeconfig{Users: []config.NamedUser{{User: config.User{Token: secret}}}},
		&config.Options{Override: cfg},
		c, &client.Options{Config: cfg, Share: c},
		client.Options{Config: withPlugin, Share: c},
		testserver.NewClient(t, &client.Options{Config: withPlugin}), testserver.NewClient(t, &client.Options{Config: withOIDC}),
		maps, maps.Feed(), maps.Status(), maps.Metadata(),
		&serviceaccount.Token{Token: secret},
		serviceaccount.Token{Token: secret},
		plugin, &struct{ unexported *auth.Plugin }{plugin}, provider, &struct{ unexported *auth.OIDC }{provider},
		&struct{ unexported *client.Client }{c},
		plugin.Middleware(next), provider.Middleware(next), middleware.Bearer(secret)(next), middleware.Basic("ann", secret)(next),
		middleware.TokenFile("/no/such/file", secret)(next),
	} {
		checkHidden(t, fmt.Sprintf("a %T", v), printed(t, v), secret, argument, variable, refresh)
	}
	if got := fmt.Sprintf("%v|%s|%+v", c, c, c); strings.Count(got, "client of https://kube.example.com") != 3 {
		t.Errorf("a client prints as %s, want its server", got)
	}
	if got := fmt.Sprint((*client.Client)(nil)); got != "client without a server" {
		t.Errorf("a nil client prints as %s", got)
	}
}

// echoCredentials is a server that copies the credentials of each request into its response.
func echoCredentials(w http.ResponseWriter, r *http.Request) {
	said := r.Header.Get("Authorization")
	_, credential, _ := strings.Cut(said, " ")
	if decoded, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.HasPrefix(said, "Basic ") {
		said += " (" + string(decoded) + ")"
	}
	w.Header().Add("Warning", fmt.Sprintf(`299 - "do not send %s"`, said))
	switch name := filepath.Base(r.URL.Path); name {
	case "status":
		testserver.Fail(w, 403, "Forbidden", "user with "+said+" may not do that")
	case "details":
		body, _ := json.Marshal(&metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 422, Reason: "Invalid",
			Details: &metav1.StatusDetails{Name: said, Causes: []metav1.StatusCause{{Message: said, Field: said}}},
		})
		testserver.Reply(w, 422, jsonType, body)
	case "long":
		testserver.Reply(w, 502, "text/html", []byte(strings.Repeat("<p>", 680)+said))
	case "redirect":
		http.Redirect(w, r, "https://login.test/?from="+credential, http.StatusFound)
	default:
		testserver.Reply(w, 500, "text/plain", []byte("you sent: "+said))
	}
}

// TestErrorsAndLogsHoldNoSentCredential checks that credentials that a server copies into its response do not appear in
// errors and logs, wherever they were set.
func TestErrorsAndLogsHoldNoSentCredential(t *testing.T) {
	const token, password = "s3cret-token+/=", "s3cret-password"
	setting := func(value string) middleware.Func {
		return func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", value)
				return next.RoundTrip(r)
			})
		}
	}
	for who, change := range map[string]func(*client.Options){
		"a token":                             func(o *client.Options) { o.Config.BearerToken = token },
		"a password":                          func(o *client.Options) { o.Config.Username, o.Config.Password = "ann", password },
		"a token that Middleware sets":        func(o *client.Options) { o.Middleware = []middleware.Func{setting("Bearer " + token)} },
		"a token that a late middleware sets": func(o *client.Options) { o.PerAttempt = []middleware.Func{setting("Bearer " + token)} },
	} {
		s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("watch") {
				status, _ := json.Marshal(&metav1.Status{Status: "Failure", Code: 410, Message: r.Header.Get("Authorization")})
				testserver.Reply(w, 200, jsonType, fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, status))
				return
			}
			echoCredentials(w, r)
		})
		var logged bytes.Buffer
		o := &client.Options{
			Config: s.Config(), Retry: &middleware.RetryOptions{MaxAttempts: 2, InitialBackoff: 1},
			Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		change(o)
		c := testserver.NewClient(t, o)
		maps, streams := client.Namespaced[leanConfigMap](c, "prod"), pod.In(c, "prod")
		errs := map[string]error{}
		for _, name := range []string{"status", "details", "long", "redirect", "plain"} {
			_, errs["get "+name] = maps.Get(t.Context(), name, nil)
		}
		_, errs["exec"] = streams.Exec(t.Context(), "x", &pod.ExecOptions{Command: []string{"ls"}})
		_, errs["proxy"] = streams.Proxy(t.Context(), "x", nil) //nolint:bodyclose // the call fails
		for _, err := range maps.WatchOnce(t.Context(), nil) {
			errs["watch"] = err
		}
		for what, err := range errs {
			if err == nil {
				t.Errorf("%s, %s: the request returned no error", who, what)
				continue
			}
			text := fmt.Sprintf("%v %+v %q", err, err, err)
			basic := base64.StdEncoding.EncodeToString([]byte("ann:" + password))
			checkHidden(t, who+", "+what, text, token, password, basic, token[:len(token)-5])
		}
		if !strings.Contains(errs["get status"].Error(), "may not do that") || !strings.Contains(errs["get status"].Error(), "[redacted]") {
			t.Errorf("%s: error = %v, want the rest of the message", who, errs["get status"])
		}
		if !strings.Contains(logged.String(), "do not send [redacted]") {
			t.Errorf("%s: the warning is not logged:\n%s", who, logged.String())
		}
		checkHidden(t, who+", the log", logged.String(), token, password)
		c.CloseIdleConnections()
	}
}

// TestKeptBodyHoldsNoSentCredential checks the same for the body in an error.
func TestKeptBodyHoldsNoSentCredential(t *testing.T) {
	s := testserver.New(t, echoCredentials)
	cfg := s.Config()
	cfg.BearerToken = "s3cret-token"
	c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})
	r, err := request.Raw("/plain")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(t.Context(), r) //nolint:bodyclose // the call fails
	se, ok := errors.AsType[*core.StatusError](err)
	if !ok || string(se.Body) != "you sent: [redacted]" {
		t.Errorf("error = %v, want one whose body is redacted", err)
	}
}

// TestCutBodyHoldsNoPartOfASentCredential checks the same for a body that ends within a credential, because of the
// limit or because the connection breaks.
func TestCutBodyHoldsNoPartOfASentCredential(t *testing.T) {
	const token = "s3cret-token-of-ann"
	for limit, cut := range map[int64]int{0: len("you sent: Bearer s3cret-tok"), 20: 1 << 10} {
		cfg := newConfig("https://cluster.test")
		cfg.BearerToken = token
		echo := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			text := "you sent: " + r.Header.Get("Authorization")
			body := io.MultiReader(strings.NewReader(text[:min(len(text), cut)]), iotest.ErrReader(io.ErrUnexpectedEOF))
			return &http.Response{StatusCode: http.StatusForbidden, Body: io.NopCloser(body), Request: r}, nil
		})
		c := testserver.NewClient(t, &client.Options{
			Config: cfg, Transport: echo, Retry: testserver.Once(), Limits: &wire.Limits{ErrorBytes: limit},
		})
		err := getNode(t.Context(), c)
		se, ok := errors.AsType[*core.StatusError](err)
		if !ok || string(se.Body) != "you sent: [redacted]" {
			t.Errorf("with ErrorBytes %d, the body is %q, want a redacted one: %v", limit, se.Body, err)
		}
		checkHidden(t, "the error", err.Error(), token[:3])
	}
}

// TestErrorsHoldNoPasswordOfAProxy checks the same for a proxy, in its status line and in responses that are not HTTP.
func TestErrorsHoldNoPasswordOfAProxy(t *testing.T) {
	const password = "hunter2-of-ann"
	for name, answer := range map[string]string{
		"a status":        "HTTP/1.1 403 no %s\r\nContent-Length: 0\r\n\r\n",
		"not HTTP":        "%s\r\n\r\n",
		"a broken header": "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
	} {
		testserver.CheckGoroutines(t)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				fmt.Fprintf(conn, answer, r.Header.Get("Proxy-Authorization")+" "+password)
			}
		}()
		cfg := &config.Config{Server: "https://kube.example.com", ProxyURL: "http://ann:" + password + "@" + listener.Addr().String()}
		c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})
		err = getNode(t.Context(), c)
		if err == nil {
			t.Fatalf("%s: the request returned no error", name)
		}
		checkHidden(t, name, fmt.Sprintf("%v %+v", err, err), password, base64.StdEncoding.EncodeToString([]byte("ann:"+password)))
		<-done
		c.CloseIdleConnections()
	}
}
