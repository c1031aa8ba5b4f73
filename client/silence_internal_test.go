// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
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
	cut   atomic.Pointer[atomic.Bool] // cuts the cable that was dialled last
	dials atomic.Int64
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
	s.dials.Add(1)
	cut := new(atomic.Bool)
	s.cut.Store(cut)
	return &cable{near, cut}, nil
}

// aNode is a response.
const aNode = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`

// overPipes runs a test in a bubble with the nodes of an HTTP/2 server.
func overPipes(t *testing.T, o Options, handler http.HandlerFunc, test func(t *testing.T, s *pipes, nodes *API[corev1.Node])) {
	t.Helper()
	model := httptest.NewTLSServer(nil) // for its certificate
	defer model.Close()
	synctest.Test(t, func(t *testing.T) {
		s := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{
			ErrorLog:  log.New(io.Discard, "", 0), // of connections that the client does not need after all
			TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: model.TLS.Certificates},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("the request has %s", r.Proto)
				}
				w.Header().Set("Content-Type", "application/json")
				handler(w, r)
			}),
		}
		go func() { _ = server.ServeTLS(s, "", "") }()
		defer func() { _ = server.Close() }()
		defer close(s.done)

		rt, err := newHTTP(&config.Config{InsecureSkipTLSVerify: true}, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		rt.DialContext = s.dial
		defer rt.CloseIdleConnections()
		o.Config, o.Transport = &config.Config{Server: "https://cluster.test"}, rt
		c, err := New(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, ClusterWide[corev1.Node](c))
	})
}

// TestDeadConnectionIsReplaced checks that a watch and a write detect a dead connection within 45 seconds, that the
// next request uses a new one, and that a read on a dead connection is repeated on a new one.
func TestDeadConnectionIsReplaced(t *testing.T) {
	overPipes(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			_, _ = io.WriteString(w, aNode)
			return
		}
		_, _ = io.WriteString(w, `{"type":"ADDED","object":`+aNode+`}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, s *pipes, nodes *API[corev1.Node]) {
		var err error
		start, events := time.Now(), 0
		for _, err = range nodes.WatchOnce(t.Context(), nil) {
			if err == nil {
				events++
				<-time.After(time.Minute) // a quiet connection that answers pings is kept
				start = time.Now()
				s.cut.Load().Store(true)
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
		s.cut.Load().Store(true)
		_, err = nodes.Create(t.Context(), &corev1.Node{}, nil)
		check("the write")
		if _, ok := errors.AsType[*ConnectError](err); !ok {
			t.Errorf("error = %v, want a ConnectError", err)
		}

		if _, err := nodes.Get(t.Context(), "n1", nil); err != nil {
			t.Errorf("get after the write: %v", err)
		}
		start = time.Now()
		s.cut.Load().Store(true)
		_, err = nodes.Get(t.Context(), "n1", nil)
		if took := time.Since(start); err != nil || took < pingTimeout || took >= 45*time.Second {
			t.Errorf("get on a dead connection: %v after %v, want no error within 45 s", err, took)
		}
	})
}

// TestReadSurvivesAStuckReplica checks that a read is repeated after ResponseHeaderTimeout, over an HTTP/2 connection
// that answers pings.
func TestReadSurvivesAStuckReplica(t *testing.T) {
	const timeout = 2 * time.Minute // longer than RetryOptions.MaxElapsedTime
	requests := 0
	overPipes(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests == 1 {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, aNode)
	}, func(t *testing.T, _ *pipes, nodes *API[corev1.Node]) {
		start := time.Now()
		if _, err := nodes.Get(t.Context(), "n1", nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < timeout || took > timeout+time.Second || requests != 2 {
			t.Errorf("%d requests in %v, want 2 in about %v", requests, took, timeout)
		}
	})
}

// TestGoAwayLosesNoRequest checks that no request fails when a server moves its clients to new connections, as API
// servers do occasionally. A server closes the old connection a second later, even if the client is slow.
func TestGoAwayLosesNoRequest(t *testing.T) {
	once := Options{Retry: &middleware.RetryOptions{MaxAttempts: 1}}
	var requests atomic.Int64
	overPipes(t, once, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%4 == 0 {
			w.Header().Set("Connection", "close") // HTTP/2: GOAWAY
		}
		_, _ = io.WriteString(w, aNode)
	}, func(t *testing.T, s *pipes, nodes *API[corev1.Node]) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 10 {
					if _, err := nodes.Get(t.Context(), "n1", nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := s.dials.Load(); n < 2 {
			t.Errorf("%d connections, want more than one", n)
		}
	})
}

// TestIdleConnectionThatTheServerClosesIsBroken checks writes for which package net/http chooses an idle HTTP/1.1
// connection at the moment at which the server closes it.
func TestIdleConnectionThatTheServerClosesIsBroken(t *testing.T) {
	for _, tc := range []struct {
		name  string
		write func(context.Context, *API[corev1.Node], *corev1.Node) (*corev1.Node, error)
		again bool // the write is idempotent
	}{
		{"update", func(ctx context.Context, a *API[corev1.Node], node *corev1.Node) (*corev1.Node, error) {
			return a.Update(ctx, node, nil)
		}, true},
		{"create", func(ctx context.Context, a *API[corev1.Node], node *corev1.Node) (*corev1.Node, error) {
			return a.Create(ctx, node, nil)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, aNode)
				})}
				go func() { _ = server.Serve(s) }()
				defer func() { _ = server.Close() }()
				defer close(s.done)
				rt, err := newHTTP(&config.Config{}, false, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				rt.DialContext = s.dial
				defer rt.CloseIdleConnections()
				c, err := New(t.Context(), &Options{Config: &config.Config{Server: "http://cluster.test"}, Transport: rt})
				if err != nil {
					t.Fatal(err)
				}
				nodes := ClusterWide[corev1.Node](c)
				if _, err := nodes.Get(t.Context(), "n1", nil); err != nil {
					t.Fatal(err)
				}
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
					if info.Reused {
						server.SetKeepAlivesEnabled(false) // closes the idle connections
						synctest.Wait()                    // package net/http notices it
					}
				}})
				_, err = tc.write(ctx, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
				if tc.again && err != nil {
					t.Errorf("error = %v, want none: the write is sent again", err)
				}
				if !tc.again && (!errors.Is(err, io.ErrUnexpectedEOF) || !core.IsRetryable(err)) {
					t.Errorf("error = %v, want a broken connection", err)
				}
			})
		})
	}
}
