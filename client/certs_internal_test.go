// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/config"
)

// TestCertSourceIsCalledForEachRequest checks that a source of client certificates is called before each request, that
// a new certificate requires a new connection, and that an error of the source is not an error of the server.
func TestCertSourceIsCalledForEachRequest(t *testing.T) {
	remotes := make(chan string, 10)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		name := "nobody"
		if certs := r.TLS.PeerCertificates; len(certs) > 0 {
			name = certs[0].Subject.Organization[0]
		}
		remotes <- name + " " + r.RemoteAddr
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()

	cert, failure, asked := (*tls.Certificate)(nil), error(nil), 0
	source := func(context.Context) (*tls.Certificate, error) {
		asked++
		return cert, failure
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	requests, upgrades, err := newTransports(&config.Config{Server: server.URL, CAData: ca}, source, nil)
	if err != nil {
		t.Fatal(err)
	}
	send := func(rt http.RoundTripper) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		return <-remotes
	}
	for _, rt := range []http.RoundTripper{requests, upgrades} {
		cert = nil
		if got := send(rt); !strings.HasPrefix(got, "nobody ") {
			t.Errorf("without a certificate the server receives %s", got)
		}
		cert = &server.TLS.Certificates[0]
		first, second := send(rt), send(rt)
		if !strings.HasPrefix(first, "Acme Co ") || (first == second) != (rt == requests) {
			t.Errorf("the server receives %s, then %s; want Acme Co, on one connection only for requests", first, second)
		}
		cert = new(*cert)
		if third := send(rt); third == second {
			t.Error("the request with another certificate used the old connection")
		}
	}
	if asked != 8 {
		t.Errorf("the source was called %d times, want 8", asked)
	}

	failure = errors.New("the plugin has failed")
	c, err := New(t.Context(), &Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: requests})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.rt.RoundTrip(r)
	if err == nil {
		resp.Body.Close()
	}
	if err != failure {
		t.Errorf("error = %v, want the error of the source", err)
	}
	for _, rt := range []http.RoundTripper{requests, upgrades} {
		rt.(*transport).CloseIdleConnections()
	}
}
