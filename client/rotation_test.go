// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
)

// mutual starts a server that uses the current certificate, and responds with an object that is named like the client's
// certificate. A watch sends an event for each value of the channel.
func mutual(t *testing.T, current *atomic.Pointer[tls.Certificate], events <-chan string) string {
	testserver.CheckGoroutines(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.TLS.PeerCertificates[0].Subject.CommonName
		if !r.URL.Query().Has("watch") {
			testserver.Reply(w, 200, jsonType, configMapJSON(t, name, "green"))
			return
		}
		w.Header().Set("Content-Type", jsonType)
		send(w)
		for e := range events {
			send(w, event(t, jsonType, core.Added, e+" of "+name))
		}
	}))
	s.Config.ErrorLog = discard()
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
			Certificates: []tls.Certificate{*current.Load()}, ClientAuth: tls.RequireAnyClientCert,
		}, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestCertificatesAreReplacedAtRunTime checks that certificates may be replaced while a program runs: requests use the
// new ones, an open watch continues, and partly written files have no effect.
func TestCertificatesAreReplacedAtRunTime(t *testing.T) {
	dir := t.TempDir()
	firstCA, secondCA, users := newAuthority(t), newAuthority(t), newAuthority(t)
	var current atomic.Pointer[tls.Certificate]
	show := func(ca *authority) {
		current.Store(new(ca.issue(t, "kube", time.Hour).load(t)))
	}
	show(firstCA)
	events := make(chan string)
	before, after := users.issue(t, "before", time.Hour), users.issue(t, "after", time.Hour)
	cfg := &config.Config{
		Server:         mutual(t, &current, events),
		CAFile:         write(t, dir, "ca.crt", firstCA.pem),
		ClientCertFile: write(t, dir, "tls.crt", before.cert),
		ClientKeyFile:  write(t, dir, "tls.key", before.key),
	}
	maps := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod")
	expect := func(when, want string) {
		t.Helper()
		got, err := maps.Get(t.Context(), "x", nil)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got.Name != want {
			t.Errorf("%s: the server receives %q, want %q", when, got.Name, want)
		}
	}

	expect("at first", "before")
	seen := make(chan string)
	var watchErr error
	go func() {
		defer close(seen)
		for ev, err := range maps.WatchOnce(t.Context(), nil) {
			if watchErr = err; err != nil {
				return
			}
			seen <- ev.Object.Name
		}
	}()
	events <- "one"
	if got := <-seen; got != "one of before" {
		t.Errorf("event = %q", got)
	}

	write(t, dir, "tls.crt", after.cert)
	expect("with a new certificate but the old key", "before")
	write(t, dir, "tls.key", after.key)
	expect("with a new pair", "after")
	show(secondCA)
	write(t, dir, "ca.crt", nil)
	expect("with an empty CA file", "after")
	write(t, dir, "ca.crt", secondCA.pem)
	expect("with a new CA", "after")
	for _, file := range []string{cfg.CAFile, cfg.ClientCertFile, cfg.ClientKeyFile} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	expect("without the files", "after")

	events <- "two"
	if got := <-seen; got != "two of before" {
		t.Errorf("event = %q", got)
	}
	close(events)
	if _, more := <-seen; more || watchErr != nil {
		t.Errorf("the watch did not end cleanly: %v", watchErr)
	}
}

// TestClientCertificateMayBeData checks that a certificate does not need a file.
func TestClientCertificateMayBeData(t *testing.T) {
	ca := newAuthority(t)
	var current atomic.Pointer[tls.Certificate]
	current.Store(new(ca.issue(t, "kube", time.Hour).load(t)))
	p := ca.issue(t, "me", time.Hour)
	cfg := &config.Config{
		Server: mutual(t, &current, nil), TLSServerName: "kube", CAData: ca.pem,
		ClientCertData: p.cert, ClientKeyData: config.Secret(p.key),
	}
	for _, insecure := range []bool{false, true} {
		if insecure {
			cfg.InsecureSkipTLSVerify, cfg.CAData, cfg.TLSServerName = true, nil, ""
		}
		t.Run(fmt.Sprint("insecure ", insecure), func(t *testing.T) {
			got, err := client.Namespaced[leanConfigMap](testserver.NewClient(t, &client.Options{Config: cfg}), "prod").Get(t.Context(), "x", nil)
			if err != nil || got.Name != "me" {
				t.Errorf("Get = %+v, %v; want an object named me", got, err)
			}
		})
	}
}

// TestClientCertificateIsSentWhateverAuthoritiesTheServerNames checks that a certificate is presented even to a server
// that requests certificates of other authorities, as in client-go: the server accepts it or returns the reason for its
// rejection.
func TestClientCertificateIsSentWhateverAuthoritiesTheServerNames(t *testing.T) {
	testserver.CheckGoroutines(t)
	ca, other, users := newAuthority(t), newAuthority(t), newAuthority(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(other.pem)
	p := users.issue(t, "me", time.Hour)
	for _, tc := range []struct {
		name string
		auth tls.ClientAuthType
		want string
	}{
		{"that accepts any", tls.RequireAnyClientCert, ""},
		{"that verifies it", tls.RequireAndVerifyClientCert, "the server rejects the client certificate: renew it, or use the one for this cluster"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				testserver.Reply(w, 200, jsonType, configMapJSON(t, r.TLS.PeerCertificates[0].Subject.CommonName, "green"))
			}))
			s.Config.ErrorLog = discard()
			s.TLS = &tls.Config{
				MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.issue(t, "kube", time.Hour).load(t)},
				ClientAuth: tc.auth, ClientCAs: pool,
			}
			s.StartTLS()
			defer s.Close()
			c := testserver.NewClient(t, &client.Options{Retry: testserver.Once(), Config: &config.Config{
				Server: s.URL, TLSServerName: "kube", CAData: ca.pem, ClientCertData: p.cert, ClientKeyData: config.Secret(p.key),
			}})
			defer c.CloseIdleConnections()
			got, err := client.Namespaced[leanConfigMap](c, "prod").Get(t.Context(), "x", nil)
			switch {
			case tc.want == "" && (err != nil || got.Name != "me"):
				t.Errorf("Get = %v, %v; want an object named me", got, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error = %v, want %q in it", err, tc.want)
			}
		})
	}
}
