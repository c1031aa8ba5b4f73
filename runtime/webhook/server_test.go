// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/webhook"
)

var (
	errStop   = errors.New("stop")
	errAccept = errors.New("accept failed")
)

// logs is a log that several goroutines write.
type logs struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// pipe is a listener without sockets, which works in bubbles.
type pipe struct {
	conns  chan net.Conn
	failed chan struct{} // closed by a test: Accept fails
	closed chan struct{}
	once   sync.Once
}

func newPipe() *pipe {
	return &pipe{conns: make(chan net.Conn), failed: make(chan struct{}), closed: make(chan struct{})}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.failed:
		return nil, errAccept
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipe) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// world is an API server with two configurations, whose bundles are remembered for a while.
type world struct {
	t           *testing.T
	api         *fakeapi.Server
	log         logs
	hooks, crds core.Resource
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	secrets, err := core.ResourceOf[corev1.Secret]()
	if err != nil {
		t.Fatal(err)
	}
	if w.hooks, err = core.ResourceOf[admissionv1.ValidatingWebhookConfiguration](); err != nil {
		t.Fatal(err)
	}
	w.crds = core.CRDResource()
	w.api = fakeapi.New(secrets, w.hooks, w.crds)
	w.configure()
	return w
}

// configure applies the manifests, which have no bundle.
func (w *world) configure() {
	service := func(name string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "prod", Name: name}}
	}
	w.api.Put(w.hooks, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: time.Now().Unix()},
		Webhooks:   []admissionv1.ValidatingWebhook{{ClientConfig: service("shop")}, {ClientConfig: service("other")}},
	})
	w.api.Put(w.crds, &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "documents.example.com", "generation": time.Now().Unix()},
		"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{
			"service": map[string]any{"namespace": "prod", "name": "shop"},
		}}}},
	}})
}

// replica is a running server.
type replica struct {
	*webhook.Server
	pipe   *pipe
	stop   context.CancelCauseFunc
	result chan error
	closes bool // the connection of the last call
}

func (w *world) start(o webhook.Options) *replica {
	w.t.Helper()
	r := &replica{pipe: newPipe(), result: make(chan error, 1)}
	o.Service, o.Namespace, o.Logger, o.Listener = "shop", "prod", w.log.logger(), r.pipe
	o.Validating, o.Definitions = []string{"shop"}, []string{"documents.example.com"}
	r.Server = webhook.NewServer(w.api.Client(), &o)
	r.Handle("/validate", webhook.Admission(func(context.Context, *admission.Request) *admission.Response {
		return admission.Allowed()
	}, nil))
	ctx, stop := context.WithCancelCause(w.t.Context())
	r.stop = stop
	go func() { r.result <- r.Run(ctx) }()
	return r
}

// bundles returns the current bundles of the configurations.
func (w *world) bundles() []string {
	configs := client.ClusterWide[admissionv1.ValidatingWebhookConfiguration](w.api.Client())
	hooks, err := configs.Get(w.t.Context(), "shop", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(hooks.Webhooks[1].ClientConfig.CABundle) > 0 {
		w.t.Error("the webhook of another service has a bundle")
	}
	crd, err := client.Dynamic(w.api.Client(), w.crds).Get(w.t.Context(), "documents.example.com", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	text, _, _ := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return []string{string(hooks.Webhooks[0].ClientConfig.CABundle), string(decoded)}
}

// call sends a review to a replica, as an API server with a bundle, and perhaps with certificates of its own, does.
func (r *replica) call(ctx context.Context, bundle string, certs ...tls.Certificate) (int, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(bundle)) {
		return 0, errors.New("the bundle is empty")
	}
	transport := &http.Transport{
		DialContext:     r.pipe.dial,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, Certificates: certs},
	}
	defer transport.CloseIdleConnections()
	const address = "https://shop.prod.svc/validate"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(toAdmit))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	r.closes = resp.Close
	return resp.StatusCode, err
}

// TestCertificatesAreReplaced lets two years pass. Old bundles are those that an API server may still have.
func TestCertificatesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval, delay = 24 * time.Hour, 96 * time.Hour
		w := newWorld(t)
		o := webhook.Options{Interval: interval, PublishDelay: delay, StopDelay: -1}
		replicas := []*replica{w.start(o), w.start(o)}
		synctest.Wait()
		history, seen, keys := [][]string{w.bundles()}, map[string]bool{}, map[string]bool{}
		for i := range 2 * 365 {
			time.Sleep(interval)
			synctest.Wait()
			switch i {
			case 250: // somebody applies the manifests again
				w.configure()
				time.Sleep(interval)
				synctest.Wait()
				history = nil
			case 375: // somebody deletes the secret
				secrets := core.Resource{Version: "v1", Plural: "secrets"}
				w.api.Delete(secrets, core.ObjectRef{Namespace: "prod", Name: "shop-webhook-tls"})
				time.Sleep(interval)
				synctest.Wait()
			case 500: // a replica is replaced
				replicas[0].stop(errStop)
				if err := <-replicas[0].result; err != errStop {
					t.Error(err)
				}
				replicas[0] = w.start(o)
				synctest.Wait()
			}
			history = append(history, w.bundles())
			history = history[max(0, len(history)-3):]
			bundles := slices.Concat(history...)
			slices.Sort(bundles)
			for _, bundle := range slices.Compact(bundles) {
				seen[bundle] = true
				for n, r := range replicas {
					if code, err := r.call(t.Context(), bundle); code != 200 {
						t.Fatalf("day %d, replica %d: %d %v\n%s", i, n, code, err, w.log.String())
					}
				}
			}
			for _, key := range w.keys() {
				keys[key] = true
			}
		}
		if len(seen) < 5 || len(keys) < 10 {
			t.Errorf("%d bundles and %d keys in two years", len(seen), len(keys))
		}
		t.Logf("%d bundles, %d keys", len(seen), len(keys))
		for key := range keys {
			if strings.Contains(w.log.String(), key) {
				t.Error("the log contains a key")
			}
		}
		if strings.Contains(w.log.String(), "level=WARN") != strings.Contains(w.log.String(), "missing or empty") {
			t.Errorf("log:\n%s", w.log.String())
		}
		for _, r := range replicas {
			r.stop(errStop)
			if err := <-r.result; err != errStop {
				t.Error(err)
			}
		}
	})
}

// keys returns the text of the private keys in the secret.
func (w *world) keys() (keys []string) {
	secret, err := client.Namespaced[corev1.Secret](w.api.Client(), "prod").Get(w.t.Context(), "shop-webhook-tls", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, data := range [][]byte{secret.Data["tls.key"], secret.Data["ca.key"]} {
		for line := range strings.SplitSeq(string(data), "\n") {
			if len(line) == 64 {
				keys = append(keys, line[40:])
			}
		}
	}
	return keys
}

// TestBundlesHaveTheirOwnFieldManager checks that the writes of a server do not have the field manager of the program,
// whose applies would otherwise remove the bundles.
func TestBundlesHaveTheirOwnFieldManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		managers := map[string]string{}
		c, err := client.New(t.Context(), &client.Options{
			Config: w.api.Client().Config(), FieldManager: "shop",
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet {
					managers[r.Method+" "+path.Base(r.URL.Path)] = r.URL.Query().Get("fieldManager")
				}
				return w.api.RoundTrip(r)
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		srv := webhook.NewServer(c, &webhook.Options{
			Service: "shop", Namespace: "prod", Validating: []string{"shop"}, Definitions: []string{"documents.example.com"},
			StopDelay: -1, Logger: w.log.logger(), Listener: newPipe(),
		})
		ctx, stop := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() { result <- srv.Run(ctx) }()
		time.Sleep(time.Minute)
		stop(errStop)
		if err := <-result; err != errStop {
			t.Error(err)
		}
		want := map[string]string{
			"POST secrets": "kube-webhook", "PUT shop": "kube-webhook", "PUT documents.example.com": "kube-webhook",
		}
		for write, manager := range want {
			if managers[write] != manager {
				t.Errorf("the field manager of %s is %q, want %q; all: %v", write, managers[write], manager, managers)
			}
		}
	})
}

func TestServerDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(webhook.Options{StopDelay: time.Minute})
		synctest.Wait()
		if err := r.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		bundle := w.bundles()[0]
		if code, err := r.call(t.Context(), bundle); code != 200 || r.closes {
			t.Errorf("a call: %d, %v; the connection is closed: %v", code, err, r.closes)
		}
		r.stop(errStop)
		time.Sleep(30 * time.Second)
		if err := r.Ready(t.Context()); err == nil {
			t.Error("a server that stops is ready")
		}
		if code, err := r.call(t.Context(), bundle); code != 200 || !r.closes {
			t.Errorf("a call while the server drains: %d, %v; the connection is closed: %v", code, err, r.closes)
		}
		begun := time.Now()
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("Run returned after %v", took)
		}
		const want = `level=INFO msg="the webhook server drains before it stops" duration=1m0s`
		if log := w.log.String(); strings.Count(log, want) != 1 {
			t.Errorf("log = %s, want %s once", log, want)
		}
	})
}

// TestRequestsThatAreStillRunningAreAnErrorOfTheManager checks that a manager does not take the error of a server whose
// requests have not ended for a clean stop.
func TestRequestsThatAreStillRunningAreAnErrorOfTheManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, entered := newWorld(t), make(chan struct{})
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(w.api.Client(), &webhook.Options{
			Service: "shop", Namespace: "prod", Validating: []string{"shop"}, Definitions: []string{"documents.example.com"},
			StopDelay: -1, Logger: w.log.logger(), Listener: r.pipe,
		})
		r.Handle("/validate", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(entered)
			time.Sleep(20 * time.Second)
		}))
		m := manager.New(nil, &manager.Options{Logger: w.log.logger()})
		m.AddToAll(r)
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- m.Run(ctx) }()
		synctest.Wait()
		called := make(chan struct{})
		go func() {
			defer close(called)
			_, _ = r.call(t.Context(), w.bundles()[0]) // the server closes its connection
		}()
		<-entered
		stop(errStop)
		if err := <-r.result; !errors.Is(err, errStop) || !strings.Contains(err.Error(), "requests were still running") {
			t.Errorf("Run() = %v, want an error about the requests", err)
		}
		<-called
		time.Sleep(20 * time.Second) // until the handler ends
	})
}

func TestInvalidSecrets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		data  map[string][]byte
		ready bool
		log   string
	}{
		{"an empty secret is used", nil, true, ""},
		{
			"a secret of another program is kept",
			map[string][]byte{"tls.crt": []byte("x")},
			false,
			"has data that this package has not written",
		},
		{
			"an invalid secret is written again",
			map[string][]byte{"rotation": []byte("{}"), "ca.crt": []byte("x")},
			true,
			"ca.crt: has no certificate; writing it again",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				secrets := client.Namespaced[corev1.Secret](w.api.Client(), "prod")
				if _, err := secrets.Create(t.Context(), &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Name: "shop-webhook-tls"}, Data: tt.data,
				}, nil); err != nil {
					t.Fatal(err)
				}
				r := w.start(webhook.Options{StopDelay: -1})
				synctest.Wait()
				if err := r.Ready(t.Context()); (err == nil) != tt.ready {
					t.Error(err)
				}
				if log := w.log.String(); !strings.Contains(log, tt.log) || tt.log == "" && strings.Contains(log, "WARN") {
					t.Errorf("log: %s", log)
				}
				r.stop(errStop)
				if err := <-r.result; err != errStop {
					t.Error(err)
				}
			})
		})
	}
}

func TestInvalidOptions(t *testing.T) {
	c := fakeapi.New().Client()
	some := []string{"shop"}
	for _, tt := range []struct {
		o    webhook.Options
		want string
	}{
		{webhook.Options{Service: "shop", Validating: some}, "Options.Namespace is empty"},
		{webhook.Options{Namespace: "prod", Validating: some}, "Options.Service is empty"},
		{webhook.Options{Namespace: "prod", Secret: "x", Validating: some}, "Options.Service and Options.Hosts are empty"},
		{webhook.Options{Namespace: "prod", Service: "shop"}, "Validating and Definitions are empty"},
		{
			webhook.Options{Namespace: "prod", Service: "shop", Validating: some, AuthorityLifetime: time.Hour},
			"Options.AuthorityLifetime is 1h0m0s",
		},
		{
			webhook.Options{Namespace: "prod", Service: "shop", Validating: some, PublishDelay: 31 * 24 * time.Hour},
			"Options.PublishDelay is 744h",
		},
		{webhook.Options{CertDir: "x", Service: "shop"}, "Options.CertDir is set together with Service"},
		{webhook.Options{CertDir: "x", Namespace: "prod"}, "Options.CertDir is set together with Namespace"},
		{webhook.Options{CertDir: "x", Hosts: some}, "Options.CertDir is set together with Hosts"},
		{webhook.Options{CertDir: "x", Mutating: some}, "Options.CertDir is set together with Mutating"},
		{webhook.Options{CertDir: "x", Validating: some}, "Options.CertDir is set together with Validating"},
		{webhook.Options{CertDir: "x", Definitions: some}, "Options.CertDir is set together with Definitions"},
		{webhook.Options{CertDir: "x", Secret: "x"}, "Options.CertDir is set together with Secret"},
		{webhook.Options{CertDir: "x", AuthorityLifetime: 1}, "Options.CertDir is set together with AuthorityLifetime"},
		{webhook.Options{CertDir: "x", CertificateLifetime: 1}, "Options.CertDir is set together with CertificateLifetime"},
		{webhook.Options{CertDir: "x", PublishDelay: 1}, "Options.CertDir is set together with PublishDelay"},
		{webhook.Options{CertDir: "x", Interval: -1}, "Options.Interval is -1ns"},
		{webhook.Options{CertDir: "x", MaxBodyBytes: -1}, "Options.MaxBodyBytes is -1"},
	} {
		if err := webhook.NewServer(c, &tt.o).Run(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.o, err, tt.want)
		}
	}
	if err := webhook.NewServer(nil, nil).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Error(err)
	}
	for _, path := range []string{"validate", "/", "/a b", "/readyz", "/x"} {
		s := webhook.NewServer(nil, &webhook.Options{CertDir: "x"})
		s.Handle("/x", http.NotFoundHandler())
		s.Handle(path, http.NotFoundHandler())
		if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the path "+fmt.Sprintf("%q", path)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAPathWithoutAHandlerIsAnError(t *testing.T) {
	s := webhook.NewServer(nil, &webhook.Options{CertDir: "x"})
	s.Handle("/validate", nil)
	const want = `the handler of the path "/validate" is nil`
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run() = %v", err)
	}
}

func TestRunWithInvalidOptionsClosesItsListener(t *testing.T) {
	p := newPipe()
	if err := webhook.NewServer(nil, &webhook.Options{Listener: p}).Run(t.Context()); err == nil {
		t.Error("Run() = nil without a client")
	}
	select {
	case <-p.closed:
	default:
		t.Error("the listener is not closed, so clients can connect and wait")
	}
}

func TestFailedServerClosesItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(webhook.Options{})
		synctest.Wait()
		conn, err := r.pipe.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(w.bundles()[0]))
		open := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "shop.prod.svc", MinVersion: tls.VersionTLS12})
		if err := open.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := open.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		// The server writes a TLS alert before it closes the connection. A pipe has no buffer, so that needs a reader.
		read := make(chan error, 1)
		go func() {
			_, err := open.Read(make([]byte, 1))
			read <- err
		}()
		synctest.Wait()
		close(r.pipe.failed)
		if err := <-r.result; !errors.Is(err, errAccept) {
			t.Errorf("Run() = %v, want %v", err, errAccept)
		}
		if err := r.Ready(t.Context()); err == nil {
			t.Error("a server whose Run has returned is ready")
		}
		if err := <-read; err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read of a connection after Run has returned = %v, want its end", err)
		}
	})
}

// TestAConfigurationThatAProxyDoesNotFindIsAnError checks that a response that does not come from an API server is not
// taken for a configuration that does not exist.
func TestAConfigurationThatAProxyDoesNotFindIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		api, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if !strings.Contains(r.URL.Path, "webhookconfigurations") {
					return w.api.RoundTrip(r)
				}
				return &http.Response{
					StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
					Body: io.NopCloser(strings.NewReader("404 page not found\n")),
				}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		s := webhook.NewServer(api, &webhook.Options{
			Service: "shop", Validating: []string{"shop"}, Logger: w.log.logger(), Listener: newPipe(), StopDelay: -1,
		})
		s.Handle("/validate", allowing[corev1.Pod]())
		ctx, stop := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() { result <- s.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if text := w.log.String(); strings.Contains(text, "does not exist") || !strings.Contains(text, "does not serve") {
			t.Errorf("the log is %s", text)
		}
		stop(errStop)
		if err := <-result; err != errStop {
			t.Error(err)
		}
	})
}

func TestMissingConfigurationIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(webhook.Options{StopDelay: -1})
		warnings := func(want int) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			const text = `does not exist" configuration="ValidatingWebhookConfiguration shop"`
			if got := strings.Count(w.log.String(), text); got != want || strings.Count(w.log.String(), "level=WARN") != want {
				t.Errorf("%d warnings, want %d: %s", got, want, w.log.String())
			}
		}
		warnings(0)
		for n := range 2 {
			w.api.Delete(w.hooks, core.ObjectRef{Name: "shop"})
			warnings(n + 1)
			w.configure()
			warnings(n + 1)
		}
		r.stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

func TestAConfigurationOfAnotherServiceIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		crd := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "documents.example.com"}}}
		w.api.Put(w.crds, crd)
		r := w.start(webhook.Options{StopDelay: -1})
		time.Sleep(time.Minute)
		synctest.Wait()
		const text = "CustomResourceDefinition documents.example.com has no webhook of the service prod/shop"
		if got := strings.Count(w.log.String(), text); got != 1 {
			t.Errorf("the log has the mistake %d times, want once: %s", got, w.log.String())
		}
		r.stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// TestFilesAreReadAgain checks the server with the files of another program.
func TestFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// The secrets of two other servers are the source of certificates.
		var certs [2]*corev1.Secret
		for i := range certs {
			w := newWorld(t)
			r := w.start(webhook.Options{StopDelay: -1})
			synctest.Wait()
			r.stop(errStop)
			if err := <-r.result; err != errStop {
				t.Error(err)
			}
			var err error
			secrets := client.Namespaced[corev1.Secret](w.api.Client(), "prod")
			if certs[i], err = secrets.Get(t.Context(), "shop-webhook-tls", nil); err != nil {
				t.Fatal(err)
			}
		}
		write := func(name string, from int) {
			if err := os.WriteFile(filepath.Join(dir, name), certs[from].Data[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log logs
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(nil, &webhook.Options{
			CertDir: dir, Listener: r.pipe, StopDelay: -1, Logger: log.logger(),
		})
		allow := func(context.Context, *webhook.Request[corev1.Pod]) error { return nil }
		r.Handle("/validate", webhook.Validate(allow, nil))
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- r.Run(ctx) }()
		expect := func(step string, trusted int) {
			t.Helper()
			time.Sleep(11 * time.Second)
			synctest.Wait()
			if err := r.Ready(t.Context()); (err == nil) != (trusted >= 0) {
				t.Errorf("%s: %v", step, err)
			}
			for i, secret := range certs {
				if _, err := r.call(t.Context(), string(secret.Data["ca.crt"])); (err == nil) != (i == trusted) {
					t.Errorf("%s, bundle %d: %v", step, i, err)
				}
			}
		}
		expect("without files", -1)
		write("tls.crt", 0)
		write("tls.key", 0)
		expect("with files", 0)
		write("tls.crt", 1)
		expect("with half of the new files", 0)
		write("tls.key", 1)
		expect("with new files", 1)
		stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "are not a certificate and its key"); n != 1 {
			t.Errorf("%d warnings: %s", n, log.String())
		}
		for line := range strings.Lines(string(certs[0].Data["tls.key"])) {
			if strings.Contains(log.String(), strings.TrimSpace(line)) {
				t.Error("the log contains the key")
			}
		}
	})
}

// TestCertificatesOfFilesAreLogged checks that a new certificate is logged with its end, and that one that has expired
// is logged again each hour.
func TestCertificatesOfFilesAreLogged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		source := w.start(webhook.Options{StopDelay: -1, CertificateLifetime: time.Hour, AuthorityLifetime: 3 * time.Hour})
		synctest.Wait()
		source.stop(errStop)
		if err := <-source.result; err != errStop {
			t.Error(err)
		}
		secrets := client.Namespaced[corev1.Secret](w.api.Client(), "prod")
		secret, err := secrets.Get(t.Context(), "shop-webhook-tls", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tls.crt", "tls.key"} {
			if err := os.WriteFile(filepath.Join(dir, name), secret.Data[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log logs
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(nil, &webhook.Options{
			CertDir: dir, Listener: r.pipe, StopDelay: -1, Interval: time.Minute, Logger: log.logger(),
		})
		r.Handle("/validate", allowing[corev1.Pod]())
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- r.Run(ctx) }()
		for _, tt := range []struct {
			after    time.Duration
			expiries int
		}{{30 * time.Minute, 0}, {40 * time.Minute, 1}, {time.Hour, 2}} {
			time.Sleep(tt.after)
			synctest.Wait()
			text := log.String()
			if n := strings.Count(text, "the certificate expired at"); n != tt.expiries {
				t.Errorf("%d records of the expiry, want %d:\n%s", n, tt.expiries, text)
			}
			n := strings.Count(text, "the certificate of webhooks has changed")
			if n != 1 || !strings.Contains(text, "validUntil=") {
				t.Errorf("%d records of the certificate, want 1 with its end:\n%s", n, text)
			}
		}
		stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// TestMetricsCountRequests checks the numbers of requests that succeed, fail and panic, with and without a handler of
// this package.
func TestMetricsCountRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(w.api.Client(), &webhook.Options{
			Service: "shop", Namespace: "prod", Validating: []string{"shop"}, Logger: w.log.logger(), Listener: r.pipe,
			StopDelay: -1,
		})
		o := &webhook.HandlerOptions{Logger: w.log.logger()}
		r.Handle("/slow", webhook.Validate(func(ctx context.Context, _ *webhook.Request[corev1.Pod]) error {
			time.Sleep(20 * time.Millisecond)
			return ctx.Err()
		}, o))
		r.Handle("/panics", webhook.Validate(func(context.Context, *webhook.Request[corev1.Pod]) error { panic("oh") }, o))
		r.Handle("/aborts", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		r.Handle("/teapot", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			if err := http.NewResponseController(rw).SetWriteDeadline(time.Time{}); err != nil {
				t.Error(err)
			}
			rw.WriteHeader(http.StatusTeapot)
		}))
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- r.Run(ctx) }()
		synctest.Wait()
		transport := r.transport(t)
		var calls sync.WaitGroup
		for _, path := range []string{"slow", "slow", "panics", "aborts", "teapot"} {
			calls.Go(func() {
				body := strings.NewReader(toAdmit)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://shop/"+path, body)
				if err != nil {
					t.Error(err)
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := transport.RoundTrip(req)
				if (err != nil) != (path == "aborts") {
					t.Errorf("%s: %v", path, err)
				}
				if err == nil {
					resp.Body.Close()
				}
			})
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if n := r.Metrics()[0].InFlight; n != 2 {
			t.Errorf("%d slow requests are in flight, want 2", n)
		}
		calls.Wait()
		for i, want := range []string{
			"/slow 0 map[200:2 500:0] 0, 2 in 40ms, 2 in 25ms, 0 in 10ms",
			"/panics 0 map[200:0 500:1] 1, 1 in 0s, 1 in 25ms, 1 in 10ms",
			"/aborts 0 map[200:0 500:1] 1, 1 in 0s, 1 in 25ms, 1 in 10ms",
			"/teapot 0 map[200:0 418:1 500:0] 0, 1 in 0s, 1 in 25ms, 1 in 10ms",
		} {
			m := r.Metrics()[i]
			var got strings.Builder
			fmt.Fprintf(&got, "%s %d %v %d, %d in %v", m.Path, m.InFlight, m.Codes, m.Panics, m.Took.Count, m.Took.Sum)
			for _, limit := range []time.Duration{25 * time.Millisecond, 10 * time.Millisecond} {
				for _, b := range m.Took.Buckets {
					if b.UpperBound == limit {
						fmt.Fprintf(&got, ", %d in %v", b.Count, limit)
					}
				}
			}
			if got.String() != want {
				t.Errorf("the numbers are %s, want %s", got.String(), want)
			}
		}
		stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// TestFailedReviewsCountAsFailures checks the codes of failures whose response is a review, and that handlers without a
// logger have that of the server.
func TestFailedReviewsCountAsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := &replica{pipe: newPipe(), result: make(chan error, 1)}
		r.Server = webhook.NewServer(w.api.Client(), &webhook.Options{
			Service: "shop", Namespace: "prod", Definitions: []string{"documents.example.com"}, Logger: w.log.logger(),
			Listener: r.pipe, StopDelay: -1,
		})
		validate := func(err error) http.Handler {
			return webhook.Validate(func(context.Context, *webhook.Request[corev1.Pod]) error { return err }, nil)
		}
		tests := []struct {
			path    string
			handler http.Handler
			body    string
			want    map[int]uint64
			logged  string
		}{
			{
				"/converts", webhook.Conversion(func(wire.Packed, string) (core.Object, error) { return nil, errStop }, nil),
				toConvert,
				map[int]uint64{200: 0, 500: 1},
				"convert object 0",
			},
			{"/requests", validate(&client.OpError{Err: errStop}), toAdmit, map[int]uint64{200: 0, 500: 1}, "err=\""},
			{"/nodes", allowing[corev1.Node](), toAdmit, map[int]uint64{200: 0, 400: 1, 500: 0}, "this path is for Node"},
			{"/invalid", validate(nil), "{", map[int]uint64{200: 0, 400: 1, 500: 0}, "is not JSON"},
			{"/denies", validate(errStop), toAdmit, map[int]uint64{200: 1, 500: 0}, ""},
		}
		for _, tt := range tests {
			r.Handle(tt.path, tt.handler)
		}
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { r.result <- r.Run(ctx) }()
		synctest.Wait()
		transport := r.transport(t)
		for i, tt := range tests {
			body := strings.NewReader(tt.body)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://shop"+tt.path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			synctest.Wait()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d", tt.path, resp.StatusCode)
			}
			if got := r.Metrics()[i].Codes; !maps.Equal(got, tt.want) {
				t.Errorf("%s: the codes are %v, want %v", tt.path, got, tt.want)
			}
			line := ""
			for l := range strings.Lines(w.log.String()) {
				if strings.Contains(l, "path="+tt.path+" ") {
					line = l
				}
			}
			if (line == "") != (tt.logged == "") || !strings.Contains(line, tt.logged) {
				t.Errorf("%s: the record is %q, want %q", tt.path, line, tt.logged)
			}
		}
		stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// TestAFailedRenewalIsLoggedAgain checks that the log names the end of the certificate before it has come, and that the
// certificate has expired.
func TestAFailedRenewalIsLoggedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var forbidden atomic.Bool // writes of the secret
		api, err := client.New(t.Context(), &client.Options{
			Config: w.api.Client().Config(),
			Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if !forbidden.Load() || r.Method != http.MethodPut {
					return w.api.RoundTrip(r)
				}
				return &http.Response{
					StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
					Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure",
						"reason":"Forbidden","code":403,"message":"no"}`)),
				}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		s := webhook.NewServer(api, &webhook.Options{
			Service: "shop", Namespace: "prod", Validating: []string{"shop"}, Logger: w.log.logger(), Listener: newPipe(),
			StopDelay: -1, Interval: 20 * time.Minute, CertificateLifetime: 90 * time.Hour,
		})
		s.Handle("/validate", allowing[corev1.Pod]())
		ctx, stop := context.WithCancelCause(t.Context())
		result := make(chan error, 1)
		go func() { result <- s.Run(ctx) }()
		synctest.Wait()
		end := time.Now().Add(90 * time.Hour).UTC()
		time.Sleep(time.Minute)
		synctest.Wait()
		forbidden.Store(true)
		records := func(after time.Duration, text string, least, most int) {
			t.Helper()
			before := strings.Count(w.log.String(), text)
			time.Sleep(after)
			synctest.Wait()
			if n := strings.Count(w.log.String(), text) - before; n < least || n > most {
				t.Errorf("%d new records of %s, want %d to %d:\n%s", n, text, least, most, w.log.String())
			}
		}
		failed := `msg="can't update the certificates of webhooks" validUntil=` + end.Format("2006-01-02T15:04:05.000Z")
		records(59*time.Hour, failed, 0, 0)
		records(30*time.Hour, failed, 28, 30)
		records(time.Minute, "the certificate expired at", 0, 0)
		records(5*time.Hour, "the certificate expired at "+end.Format(time.RFC3339), 4, 5)
		forbidden.Store(false)
		records(5*time.Hour, "level=WARN", 0, 1)
		if err := s.Ready(ctx); err != nil {
			t.Error(err)
		}
		stop(errStop)
		if err := <-result; err != errStop {
			t.Error(err)
		}
	})
}

// TestTLSSettingsCanBeChanged checks a server that requires a certificate of its clients.
func TestTLSSettingsCanBeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(webhook.Options{StopDelay: -1, TLS: func(c *tls.Config) {
			if c.MinVersion != tls.VersionTLS12 || c.GetCertificate == nil {
				t.Errorf("the settings are not those of the server: %+v", c)
			}
			c.ClientAuth = tls.RequireAnyClientCert
		}})
		synctest.Wait()
		secret, err := client.Namespaced[corev1.Secret](w.api.Client(), "prod").Get(t.Context(), "shop-webhook-tls", nil)
		if err != nil {
			t.Fatal(err)
		}
		own, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
		if err != nil {
			t.Fatal(err)
		}
		for _, certs := range [][]tls.Certificate{nil, {own}} {
			code, err := r.call(t.Context(), w.bundles()[0], certs...)
			if (err == nil && code == http.StatusOK) != (certs != nil) {
				t.Errorf("a call with %d certificates: %d, %v", len(certs), code, err)
			}
		}
		r.stop(errStop)
		if err := <-r.result; err != errStop {
			t.Error(err)
		}
	})
}

// transport returns a transport to the replica that does not verify its certificate.
func (r *replica) transport(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{
		DialContext: r.pipe.dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // not the subject
	}
	closeAtEnd(t, transport)
	return transport
}

// closeAtEnd closes the idle connections of a transport at the end of a test. If both ends of a pipe send the end of TLS
// at once, each waits for seconds.
func closeAtEnd(t *testing.T, transport *http.Transport) {
	t.Helper()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		time.Sleep(time.Minute)
	})
}
