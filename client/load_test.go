// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/client/middleware"
)

// TestManyClientsReleaseTheirResources checks that many clients and many requests leak no descriptor and no goroutine,
// whether the requests succeed, fail or never end.
func TestManyClientsReleaseTheirResources(t *testing.T) {
	testserver.CheckGoroutines(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-Wish") {
		case "error":
			testserver.Fail(w, 409, "Conflict", "no")
		case "silence":
			<-r.Context().Done()
		default:
			testserver.Reply(w, 200, jsonType, []byte(node))
		}
	}))
	s.EnableHTTP2 = true
	ca := newAuthority(t)
	quiet(s, ca.issue(t, "kube", time.Hour).load(t))
	defer s.Close()
	cfg := newConfig(s.URL)
	cfg.CAData, cfg.TLSServerName = ca.pem, "kube"
	wish := func(header *string) middleware.Func {
		return func(next http.RoundTripper) http.RoundTripper {
			return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("X-Wish", *header)
				return next.RoundTrip(r)
			})
		}
	}
	turns := make(chan bool, 8) // limits concurrent handshakes, so that they end in time on a busy machine
	before := descriptors(t)
	var clients []*client.Client
	var running sync.WaitGroup
	for n := range 100 {
		var kind string
		c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once(), Middleware: []middleware.Func{wish(&kind)}})
		clients = append(clients, c)
		running.Go(func() {
			turns <- true
			defer func() { <-turns }()
			if err := getNode(t.Context(), c); err != nil {
				t.Error(err)
			}
			kind = []string{"", "error", "silence"}[n%3]
			for range 20 {
				patience := time.Minute
				if kind == "silence" {
					patience = 5 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				err := getNode(ctx, c)
				cancel()
				if (err == nil) != (kind == "") {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
	running.Wait()
	eventuallyDescriptors(t, before, clients...)
}

// TestRotationUnderLoadFailsNoRequest checks that no request fails while an authority and a client certificate are
// replaced repeatedly, and that connections with the old ones do not accumulate.
func TestRotationUnderLoadFailsNoRequest(t *testing.T) {
	testserver.CheckGoroutines(t)
	ca, other, dir := newAuthority(t), newAuthority(t), t.TempDir()
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(node))
	}))
	s.Config.ErrorLog = discard()
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.issue(t, "kube", time.Hour).load(t)},
		ClientAuth: tls.RequireAnyClientCert,
	}
	s.StartTLS()
	defer s.Close()
	before := descriptors(t)
	replace := func(name string, data []byte) {
		next := write(t, dir, name+".new", data)
		if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	me := ca.issue(t, "me-0", time.Hour)
	cfg := newConfig(s.URL)
	cfg.TLSServerName = "kube"
	cfg.CAFile = write(t, dir, "ca.crt", ca.pem)
	cfg.ClientCertFile, cfg.ClientKeyFile = write(t, dir, "me.crt", me.cert), write(t, dir, "me.key", me.key)
	c := testserver.NewClient(t, &client.Options{Config: cfg, Retry: testserver.Once()})

	over := make(chan struct{})
	var requests atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := getNode(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
				requests.Add(1)
			}
		})
	}
	for n := range 30 {
		replace("ca.crt", slices.Concat(ca.pem, slices.Repeat(other.pem, n%3)))
		next := ca.issue(t, "me", time.Hour) // until both files are written, certificate and key do not match
		replace("me.crt", next.cert)
		replace("me.key", next.key)
		for seen := requests.Load(); requests.Load() < seen+20 && !t.Failed(); {
			<-time.After(time.Millisecond)
		}
	}
	close(over)
	running.Wait()
	if n := connections.Load(); n < 30 {
		t.Errorf("%d connections, want more: some changes had no effect", n)
	}
	eventuallyDescriptors(t, before, c)
}
