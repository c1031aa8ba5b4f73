// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
)

// cable is a connection that can be cut: afterwards, writes are lost without an error.
type cable struct {
	net.Conn
	cut *atomic.Bool
}

func (c *cable) Write(p []byte) (int, error) {
	if c.cut.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// pipes is a listener for connections over cables instead of sockets.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	cut   *atomic.Bool // cuts the cable that was dialled last
}

func (s *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *pipes) Close() error   { return nil }
func (s *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (s *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.conns <- far
	s.cut = new(atomic.Bool)
	return &cable{near, s.cut}, nil
}

// TestDeadConnectionIsReplaced checks that a watch and a request detect a dead connection within 45 seconds, and that
// the next request uses a new one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	model := httptest.NewTLSServer(nil) // for its certificate
	defer model.Close()
	synctest.Test(t, func(t *testing.T) {
		s := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{
			TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: model.TLS.Certificates},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				object := `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`
				if !r.URL.Query().Has("watch") {
					_, _ = io.WriteString(w, object)
					return
				}
				_, _ = io.WriteString(w, `{"type":"ADDED","object":`+object+`}`)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}),
		}
		go func() { _ = server.ServeTLS(s, "", "") }()
		defer func() { _ = server.Close() }()
		defer close(s.done)

		rt, err := newHTTP(&config.Config{InsecureSkipTLSVerify: true}, protocols(true), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		rt.DialContext = s.dial
		defer rt.CloseIdleConnections()
		c, err := New(t.Context(), &Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: rt})
		if err != nil {
			t.Fatal(err)
		}
		nodes := ClusterWide[corev1.Node](c)

		start, events := time.Now(), 0
		err = nil
		for _, err = range nodes.WatchOnce(t.Context(), nil) {
			if err == nil {
				events++
				<-time.After(time.Minute) // a quiet connection that answers pings is kept
				start = time.Now()
				s.cut.Store(true)
			}
		}
		check := func(what string) {
			t.Helper()
			if took := time.Since(start); took < pingTimeout || took >= 45*time.Second {
				t.Errorf("%s ended after %v, want less than 45 s", what, took)
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || !core.IsRetryable(err) || !strings.Contains(err.Error(), "http2: client connection lost") {
				t.Errorf("%s ended with %v, want a broken connection", what, err)
			}
		}
		if check("the watch"); events != 1 {
			t.Errorf("%d events, want 1", events)
		}

		if _, err := nodes.Get(t.Context(), "n1", nil); err != nil {
			t.Errorf("get after the watch: %v", err)
		}
		start = time.Now()
		s.cut.Store(true)
		_, err = nodes.Get(t.Context(), "n1", nil)
		check("the request")
		if _, ok := errors.AsType[*ConnectError](err); !ok {
			t.Errorf("error = %v, want a ConnectError", err)
		}
	})
}
