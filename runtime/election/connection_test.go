// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
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
	for _, limit := range []time.Duration{0, 150 * time.Millisecond, 250 * time.Millisecond} {
		t.Run(fmt.Sprint("ResponseHeaderTimeout ", limit), func(t *testing.T) { replaceConnection(t, limit) })
	}
}

func replaceConnection(t *testing.T, limit time.Duration) {
	t.Helper()
	c := newCluster(t)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: "cluster.test"}) },
		Transport: c.server,
	})
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b := &balancer{Listener: l, server: server.Listener.Addr().String()}
	go b.run(t.Context())
	api, err := client.New(t.Context(), &client.Options{ResponseHeaderTimeout: limit, Config: &config.Config{
		Server: "https://" + l.Addr().String(), Namespace: "prod",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer api.CloseIdleConnections()
	e := election.New(api, &election.Options{
		Name: "shop", Logger: slog.New(slog.DiscardHandler),
		LeaseDuration: time.Second, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 50 * time.Millisecond,
	})
	err = e.Run(t.Context(), func(ctx context.Context) error {
		b.dead.Store(b.opened.Load())
		select {
		case <-time.After(900 * time.Millisecond):
		case <-ctx.Done():
		}
		return context.Cause(ctx)
	})
	if errors.Is(err, election.ErrLost) || b.opened.Load() < 2 {
		t.Errorf("Run = %v after %d connections, want another one and no error", err, b.opened.Load())
	}
}
