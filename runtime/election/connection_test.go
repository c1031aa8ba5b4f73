// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/election"
)

// balancer passes connections on to a server, like a load balancer. It drops what passes through the first ones.
type balancer struct {
	net.Listener
	server string
	opened atomic.Int32
	dead   atomic.Int32 // the number of connections that are dead
}

func (b *balancer) run(ctx context.Context) {
	for {
		in, err := b.Accept()
		if err != nil {
			return
		}
		out, err := new(net.Dialer).DialContext(ctx, "tcp", b.server)
		if err != nil {
			return
		}
		number := b.opened.Add(1)
		go b.pass(number, out, in)
		go b.pass(number, in, out)
	}
}

func (b *balancer) pass(number int32, to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if number > b.dead.Load() {
			_, _ = to.Write(buf[:n])
		}
	}
}

// TestADeadConnectionDoesNotEndTheTerm checks that a leader uses another connection after a renewal without a response:
// HTTP/2 notices a dead connection later than the term ends. The client may give up before the elector does.
func TestADeadConnectionDoesNotEndTheTerm(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Second} {
		t.Run(fmt.Sprint("ResponseHeaderTimeout ", limit), func(t *testing.T) {
			t.Parallel()
			replaceConnection(t, limit)
		})
	}
}

func replaceConnection(t *testing.T, limit time.Duration) {
	t.Helper()
	c, b, renewed := newCluster(t), &balancer{}, make(chan struct{})
	renew := sync.OnceFunc(func() { close(renewed) })
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: "cluster.test"}) },
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := c.server.RoundTrip(r)
			if r.Method == http.MethodPut && b.dead.Load() > 0 && b.opened.Load() > b.dead.Load() {
				renew()
			}
			return resp, err
		}),
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b.Listener, b.server = l, server.Listener.Addr().String()
	go b.run(t.Context())
	api, err := client.New(t.Context(), &client.Options{ResponseHeaderTimeout: limit, Config: &config.Config{
		Server: "https://" + l.Addr().String(), Namespace: "prod",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer api.CloseIdleConnections()
	e := election.New(api, &election.Options{ // a renewal without a response ends after half of RenewDeadline
		Name: "shop", Logger: slog.New(slog.DiscardHandler),
		LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 100 * time.Millisecond,
	})
	err = e.Run(t.Context(), func(ctx context.Context) error {
		b.dead.Store(b.opened.Load())
		select {
		case <-renewed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		t.Errorf("Run = %v after %d connections, want another one and no error", err, b.opened.Load())
	}
}
