// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// getNode gets one object.
func getNode(ctx context.Context, c *client.Client) error {
	_, err := client.ClusterWide[corev1.Node](c).Get(ctx, "n1", nil)
	return err
}

// quiet discards the log of a server whose TLS errors the test provokes.
func quiet(s *httptest.Server, certs ...tls.Certificate) *httptest.Server {
	s.Config.ErrorLog = discard()
	s.TLS = &tls.Config{Certificates: certs, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	return s
}

// TestConnectErrorNamesServerAndRemedy checks the errors of servers that can't be reached.
func TestConnectErrorNamesServerAndRemedy(t *testing.T) {
	ca := newAuthority(t)
	secure := func(t *testing.T, p pair) string {
		s := quiet(httptest.NewUnstartedServer(http.NotFoundHandler()), p.load(t))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, tc := range []struct {
		name string
		cfg  func(t *testing.T) *config.Config
		want string // hint
	}{
		{"nothing listens", func(*testing.T) *config.Config { return newConfig("https://" + deadAddress) }, "connection refused; nothing listens on this address: start the server, or correct the address"},
		{"another authority", func(t *testing.T) *config.Config {
			cfg := newConfig(secure(t, ca.issue(t, "kube", time.Hour)))
			cfg.CAData = newAuthority(t).pem
			return cfg
		}, "; the server's certificate is not signed by the configured certificate-authority, or by one of " +
			"this machine's if none is configured: use the current certificate authority of the cluster"},
		{"another host name", func(t *testing.T) *config.Config {
			cfg := newConfig(secure(t, ca.issue(t, "kube", time.Hour)))
			cfg.CAData, cfg.TLSServerName = ca.pem, "cluster.test"
			return cfg
		}, "; the server's certificate is not for cluster.test: correct the address, or set tls-server-name"},
		{"an expired certificate", func(t *testing.T) *config.Config {
			cfg := newConfig(secure(t, ca.issue(t, "kube", -time.Hour)))
			cfg.CAData = ca.pem
			return cfg
		}, "; renew the server's certificate, or correct this machine's clock"},
		{"plain http behind an https URL", func(t *testing.T) *config.Config {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return newConfig(strings.Replace(s.URL, "http://", "https://", 1))
		}, "; the server uses plain http: correct the port, or write http://"},
		{"an old server", func(t *testing.T) *config.Config {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = discard()
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
			s.StartTLS()
			t.Cleanup(s.Close)
			return newConfig(s.URL)
		}, "; the server supports neither TLS 1.2 nor 1.3, or shares no cipher with the client: update the server"},
		{"TLS behind an http URL", func(t *testing.T) *config.Config {
			return newConfig(strings.Replace(secure(t, ca.issue(t, "kube", time.Hour)), "https://", "http://", 1))
		}, "; write https://"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			testserver.CheckGoroutines(t)
			cfg := tc.cfg(t)
			err := getNode(t.Context(), testserver.NewClient(t, &client.Options{Config: cfg}))
			if _, ok := errors.AsType[*client.ConnectError](err); !ok {
				t.Fatalf("error = %v, want a ConnectError", err)
			}
			if want := "get nodes n1: reach " + cfg.Server + " (the test): "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error = %v, want %s", err, want)
			}
			if !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

// alert returns the error of a TLS handshake that a server ends with an alert.
func alert(t *testing.T, code byte) error {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	var peer sync.WaitGroup
	peer.Go(func() {
		defer theirs.Close()
		head := make([]byte, 5) // the header of the client's first record, which ends with its length
		_, _ = io.ReadFull(theirs, head)
		_, _ = io.CopyN(io.Discard, theirs, int64(head[3])<<8+int64(head[4]))
		_, _ = theirs.Write([]byte{21, 3, 3, 0, 2, 2, code})
	})
	err := tls.Client(ours, &tls.Config{ServerName: "cluster.test", MinVersion: tls.VersionTLS12}).HandshakeContext(t.Context())
	peer.Wait()
	return err
}

// TestConnectErrorOfTransportErrors checks causes that a test can't provoke on every machine.
func TestConnectErrorOfTransportErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   error
		want string
	}{
		{
			"an unknown host", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "cluster.test", IsNotFound: true}},
			"dial tcp: lookup cluster.test: no such host; correct the host name, or the resolver",
		},
		{
			"a time-out", &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded},
			"dial tcp: i/o timeout; nothing responds at this address: correct the address, or check for a firewall",
		},
		{
			"a clock that is behind",
			x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time A is before B"},
			"x509: certificate has expired or is not yet valid: current time A is before B; " +
				"correct the clock of this machine, or of the issuer of the certificate",
		},
		{
			"a rejected client certificate", alert(t, 48),
			"remote error: tls: unknown certificate authority; the server rejects the client certificate: renew it, or use the one for this cluster",
		},
		{
			"no client certificate", alert(t, 116),
			"remote error: tls: certificate required; the server requires a client certificate: configure one",
		},
		{
			"a handshake that fails", alert(t, 40),
			"remote error: tls: handshake failure; the server requires a client certificate, or shares no cipher with the client: configure one, or update the server",
		},
		{
			"an old server", alert(t, 70),
			"remote error: tls: protocol version not supported; the server supports neither TLS 1.2 nor 1.3, or shares no cipher with the client: update the server",
		},
		{
			"a server with many names", alert(t, 112),
			"remote error: tls: unrecognized name; the server does not know the requested name: correct the address, or set tls-server-name",
		},
		{"another alert", alert(t, 80), "remote error: tls: internal error"},
		{"anything else", errors.New("boom"), "boom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testserver.NewClient(t, &client.Options{
				Config:    newConfig("https://cluster.test"),
				Transport: middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, tc.in }),
			})
			err := getNode(t.Context(), c)
			if want := "get nodes n1: reach https://cluster.test (the test): " + tc.want; err == nil || err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}
			if !errors.Is(err, tc.in) {
				t.Errorf("error = %v does not wrap its cause", err)
			}
		})
	}
}

// TestErrorOfMiddlewareIsNotAConnectError checks that errors of middleware are not mistaken for errors of the
// connection.
func TestErrorOfMiddlewareIsNotAConnectError(t *testing.T) {
	boom := errors.New("boom")
	c := testserver.NewClient(t, &client.Options{
		Config:    newConfig("https://cluster.test"),
		Transport: canned(200, nil, ""),
		Middleware: []middleware.Func{func(http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, boom })
		}},
	})
	if err := getNode(t.Context(), c); !errors.Is(err, boom) || err.Error() != "get nodes n1: boom" {
		t.Errorf("error = %v, want get nodes n1: boom", err)
	}
}

// TestErrorHasTheCauseOfTheContext checks the error of a request whose context ends.
func TestErrorHasTheCauseOfTheContext(t *testing.T) {
	cause := errors.New("enough")
	arrived := make(chan struct{})
	for _, tc := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"before the response", func(_ http.ResponseWriter, r *http.Request) {
			arrived <- struct{}{}
			<-r.Context().Done()
		}},
		{"within the response", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			send(w, []byte(`{"kind":"No`))
			arrived <- struct{}{}
			<-r.Context().Done()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, tc.answer)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-arrived
				cancel(cause)
			}()
			err := getNode(ctx, s.Client(t))
			if _, ok := errors.AsType[*client.ConnectError](err); ok || !errors.Is(err, cause) {
				t.Errorf("error = %v, want the cause", err)
			}
		})
	}
}

// TestTruncatedBodyIsARetryableError checks the error of an incomplete object.
func TestTruncatedBodyIsARetryableError(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		send(w, []byte(`{"kind":"Node","apiVersion":"v1"`))
		panic(http.ErrAbortHandler)
	})
	err := getNode(t.Context(), s.Client(t))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !core.IsRetryable(err) || !strings.HasPrefix(err.Error(), "get nodes n1: read body: connection broke: ") {
		t.Errorf("error = %v, want an error about a broken connection", err)
	}
}

// TestResponsesMayBeCompressed checks that compressed responses are decoded, and not requested if the configuration
// disables compression.
func TestResponsesMayBeCompressed(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		body := configMapJSON(t, "web", "green")
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			body = gzipped(t, body)
		}
		testserver.Reply(w, 200, jsonType, body)
	})
	for _, off := range []bool{false, true} {
		cfg := s.Config()
		cfg.DisableCompression = off
		got, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod").Get(t.Context(), "web", nil)
		if err != nil || got.Data["color"] != "green" {
			t.Errorf("DisableCompression %v: Get = %+v, %v", off, got, err)
		}
	}
	asks := s.Asked()
	if on, off := asks[0].Header.Get("Accept-Encoding"), asks[1].Header.Get("Accept-Encoding"); on != "gzip" || off != "" {
		t.Errorf("Accept-Encoding = %q and %q when disabled, want gzip and no header", on, off)
	}
}

// TestHTTP2IsUsedIfAvailable checks that the client uses HTTP/2 if the server supports it, and HTTP/1.1 otherwise.
func TestHTTP2IsUsedIfAvailable(t *testing.T) {
	protocols := make(chan string, 2)
	answer := func(w http.ResponseWriter, r *http.Request) {
		protocols <- r.Proto
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Node","apiVersion":"v1"}`))
	}
	if err := getNode(t.Context(), testserver.New(t, answer).Client(t)); err != nil {
		t.Fatal(err)
	}
	old := &testserver.Server{Server: httptest.NewTLSServer(http.HandlerFunc(answer))}
	defer old.Close()
	if err := getNode(t.Context(), old.Client(t)); err != nil {
		t.Fatal(err)
	}
	if first, second := <-protocols, <-protocols; first != "HTTP/2.0" || second != "HTTP/1.1" {
		t.Errorf("protocols = %s and %s, want HTTP/2.0 and HTTP/1.1", first, second)
	}
}

// TestConnectionIsReused checks that an HTTP/1.1 connection can be reused after every verb.
func TestConnectionIsReused(t *testing.T) {
	testserver.CheckGoroutines(t)
	remotes := map[string]bool{}
	s := &testserver.Server{Server: httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		remotes[r.RemoteAddr] = true
		switch {
		case r.Method == http.MethodDelete:
			testserver.Reply(w, 200, jsonType, []byte(strings.Repeat(" ", 100<<10)+"{}"))
		case r.URL.Query().Has("watch"):
			w.Header().Set("Content-Type", jsonType)
			send(w, event(t, jsonType, core.Added, "a"))
		case strings.HasSuffix(r.URL.Path, "web"):
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
		default:
			testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a", "b"))
		}
	}))}
	defer s.Close()
	ctx := t.Context()
	maps := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	for range 3 {
		if _, err := maps.Get(ctx, "web", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := maps.List(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, "web", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := drain(maps.WatchOnce(ctx, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if len(remotes) != 1 {
		t.Errorf("%d connections, want 1", len(remotes))
	}
}
