// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
)

// TestConnectionsKeepLittleOfUnreadResponses has a server that sends as much as it can. What a connection keeps must be
// within the cost of a request.
func TestConnectionsKeepLittleOfUnreadResponses(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the request has %s", r.Proto)
		}
		for r.Context().Err() == nil {
			n, _ := w.Write(make([]byte, 16<<10))
			sent.Add(int64(n))
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{
		Server: server.URL,
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlimited := func(next http.RoundTripper) http.RoundTripper { return next }
	own, err := h.clientOf(t.Context(), &Module{Name: "a"}, unlimited, h.options.Logger)
	if err != nil {
		t.Fatal(err)
	}
	egress := newEgress(func(*http.Request) (*url.URL, error) { return nil, nil })
	defer egress.CloseIdleConnections()
	egress.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	egress.TLSClientConfig.RootCAs.AddCert(server.Certificate())
	for name, connection := range map[string]http.RoundTripper{
		"API server": h.anonymous, "API server, with the identity of the host": own, "other server": egress,
	} {
		sent.Store(0)
		ctx, stop := context.WithCancel(t.Context())
		url := "/"
		if name == "other server" {
			url = server.URL
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := connection.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		// The server can't send any more if nothing was sent for a while. A busy machine may need longer until it sends.
		deadline := time.Now().Add(time.Minute)
		for before := int64(-1); before != sent.Load() || before < streamBuffer/2 && time.Now().Before(deadline); {
			before = sent.Load()
			<-time.After(200 * time.Millisecond)
		}
		t.Logf("%s: %d bytes", name, sent.Load())
		if n := sent.Load(); n < streamBuffer/2 || n > requestCost {
			t.Errorf("%s: the connection keeps %d bytes, want about %d", name, n, streamBuffer)
		}
		stop()
		_ = resp.Body.Close()
	}
}

// TestMissingServiceAccountIsForbiddenAndLogged checks that a guest does not repeat its requests, and that the log of
// the host names the account.
func TestMissingServiceAccountIsForbiddenAndLogged(t *testing.T) {
	server := middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
		body := `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404,"reason":"NotFound"}`
		return &http.Response{
			StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	})
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	account := core.ObjectRef{Namespace: "apps", Name: "hello"}
	source := &tokens{
		client: c, account: account, logger: slog.New(slog.NewTextHandler(&log, nil)), noted: rate.Sometimes{First: 1},
	}
	for range 2 {
		_, _, err = source.find(t.Context())
		told, ok := errors.AsType[*abi.Error](err)
		if want := fmt.Sprintf("the service account %s does not exist: create it", account); !errors.Is(err, errNoAccount) || !ok ||
			told.Code != abi.Forbidden || told.Message != want {
			t.Errorf("find() = %v, want %s", err, want)
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "account="+account.String()) {
		t.Errorf("the log is %q, want one line with the account", text)
	}
}

// TestErrorsOfTheHostsCredentialsAreOnlyLogged has a host whose own requests fail before they are sent.
func TestErrorsOfTheHostsCredentialsAreOnlyLogged(t *testing.T) {
	const secret = "exec plugin /home/admin/bin/login: password expired"
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test"},
		Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) {
			return nil, errors.New(secret)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	source := &tokens{
		client: c, account: core.ObjectRef{Namespace: "apps", Name: "hello"},
		logger: slog.New(slog.NewTextHandler(&log, nil)), noted: rate.Sometimes{First: 1},
	}
	_, _, err = source.find(t.Context())
	told, ok := errors.AsType[*abi.Error](err)
	if !ok || told.Code != abi.Unavailable || strings.Contains(err.Error(), "admin") {
		t.Errorf("find() = %v, want Unavailable without the error of the host", err)
	}
	if !strings.Contains(log.String(), secret) {
		t.Errorf("the log is %q, want the error of the host", log.String())
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errIdle)
	if _, _, err := source.find(ctx); err != errIdle {
		t.Errorf("find() = %v at the end of its context, want the cause", err)
	}
}

// TestWarningsOfServersAreRecordsOfTheModule has a server that sends another warning in each response.
func TestWarningsOfServersAreRecordsOfTheModule(t *testing.T) {
	var warnings atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Warning", fmt.Sprintf(`299 - "warning %d"`, warnings.Add(1)))
	}))
	defer server.Close()
	h, log := newTestHost(t, server.URL, Options{})
	const limit = 2
	m := Module{Name: "a", Limits: Limits{LogsPerSecond: limit}}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	g := h.newGuest(m, "")
	var err error
	if g.client, err = h.clientOf(t.Context(), &m, g.throttle, g.limitedLogger()); err != nil {
		t.Fatal(err)
	}
	defer h.own.CloseIdleConnections()
	begun, requests := time.Now(), 50
	for range requests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.send(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	written := strings.Count(log.String(), "module=a")
	most := 10*limit + 1 + int(time.Since(begun).Seconds()*limit)
	if written == 0 || written > most || uint64(requests-written) != g.stats.Dropped {
		t.Errorf("the log has %d records of the module, and %d were dropped; want at most %d:\n%.500s", written, g.stats.Dropped,
			most, log)
	}
}

// guestWithLimits returns a guest with a service account, whose requests have the credentials of the host.
func guestWithLimits(t *testing.T, h *Host, limits Limits) *guest {
	t.Helper()
	m := Module{Name: "a", ServiceAccount: core.ObjectRef{Namespace: "apps", Name: "hello"}, Limits: limits}
	if err := m.Limits.setDefaults(); err != nil {
		t.Fatal(err)
	}
	g := h.newGuest(m, "")
	var err error
	if g.client, err = h.clientOf(t.Context(), &Module{Name: "a"}, g.throttle, g.limitedLogger()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.own.CloseIdleConnections() })
	return g
}

// TestWatchOfOneObjectIsAuthorizedByItsName has a server that allows reads of one object, as a role with resourceNames.
func TestWatchOfOneObjectIsAuthorizedByItsName(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Spec struct {
				ResourceAttributes struct{ Name, Namespace, Resource string }
			}
		}
		err := json.NewDecoder(r.Body).Decode(&review)
		of := review.Spec.ResourceAttributes
		allowed := err == nil && of.Name == "settings" && of.Namespace == "apps" && of.Resource == "configmaps"
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`,
			allowed)
	}))
	defer server.Close()
	h, _ := newTestHost(t, server.URL, Options{})
	g := guestWithLimits(t, h, Limits{})
	for selector, want := range map[string]abi.Code{
		"metadata.name=settings":                       0,
		"metadata.name=settings,metadata.namespace!=b": 0,
		"metadata.name=other":                          abi.Forbidden,
		"metadata.name!=settings":                      abi.Forbidden,
		"":                                             abi.Forbidden,
	} {
		err := g.authorize(t.Context(), &abi.Watch{
			Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true, Namespace: "apps", FieldSelector: selector,
		})
		if code := codeOf(err); (err == nil) != (want == 0) || err != nil && code != want {
			t.Errorf("%q: %v, want the code %d", selector, err, want)
		}
	}
}

// TestPermissionIsLostInTimeWhateverTheModuleMaySend has a module with more watches than it may send requests. The
// server refuses as after the deletion of a role.
func TestPermissionIsLostInTimeWhateverTheModuleMaySend(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{`+
			`"allowed":false,"evaluationError":"role not found"}}`)
	}))
	defer server.Close()
	h, _ := newTestHost(t, server.URL, Options{AuthorizationInterval: 100 * time.Millisecond})
	g := guestWithLimits(t, h, Limits{RequestsPerSecond: 1})
	const watches = 60
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	ended := make(chan error)
	for n := range watches {
		go func() {
			ended <- g.guard(ctx, &abi.Watch{
				Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true, LabelSelector: fmt.Sprint("a=", n),
			})
		}()
	}
	for range watches {
		if err := <-ended; codeOf(err) != abi.Forbidden {
			t.Fatalf("guard = %v, want a refusal", err)
		}
	}
	if n := g.status().Stats.Requests; n < watches {
		t.Errorf("%d requests were counted for %d watches", n, watches)
	}
}

// TestCheckWithoutAResponseIsNoRefusal has a server that does not respond in time.
func TestCheckWithoutAResponseIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"}, Transport: server,
		})
		if err != nil {
			t.Fatal(err)
		}
		h := &Host{options: Options{AuthorizationInterval: time.Minute}, rechecks: make(chan struct{}, 1)}
		g := &guest{host: h, client: c, module: Module{ServiceAccount: core.ObjectRef{Namespace: "apps", Name: "hello"}}}
		begun := time.Now()
		err = g.guard(t.Context(), &abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true})
		if code := messageOf(err).Code; code != abi.Unavailable {
			t.Errorf("guard = %v, want the code %d", err, abi.Unavailable)
		}
		if took := time.Since(begun); took > 2*maxUnchecked*time.Minute {
			t.Errorf("guard has taken %v", took)
		}
	})
}
