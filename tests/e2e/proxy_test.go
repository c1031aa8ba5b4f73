// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/kube-go/sdk/kube"
)

// proxy is a TCP proxy to the API server. It can interrupt the connections of the clients that use it, while other
// clients stay connected. It forwards bytes and does not terminate TLS. It is safe for concurrent use.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup
	ended    chan struct{} // closed when the test ends

	mu    sync.Mutex        // guards the fields below
	conns map[net.Conn]bool // true for silenced connections
	shut  bool              // new connections are reset
	gate  chan struct{}     // closed while bytes are forwarded
	quota int64             // bytes from the server until all connections are reset; negative means no limit
	spent chan struct{}     // closed when the quota is used up; nil without a quota
}

// newProxy returns a proxy to the server of a configuration, and a configuration that uses the proxy.
func newProxy(t *testing.T, cfg *kube.Config) (*proxy, *kube.Config) {
	t.Helper()
	server, err := url.Parse(cfg.Server)
	if err != nil {
		t.Fatal(err)
	}
	target := server.Host
	if server.Port() == "" {
		target = net.JoinHostPort(server.Hostname(), "443")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{
		listener: listener, target: target, ended: make(chan struct{}),
		conns: map[net.Conn]bool{}, gate: make(chan struct{}), quota: -1,
	}
	close(p.gate)
	p.running.Go(p.accept)
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		p.restore()
		close(p.ended)
		p.running.Wait()
	})
	through := *cfg
	if through.TLSServerName == "" {
		through.TLSServerName = server.Hostname()
	}
	server.Host = listener.Addr().String()
	through.Server = server.String()
	through.Source = "through a proxy: " + cfg.Source
	return p, &through
}

// cut resets all connections, and resets new ones until restore.
func (p *proxy) cut() { p.reset(true) }

// drop resets all connections. New ones are accepted.
func (p *proxy) drop() { p.reset(false) }

// dropAfter drops all connections after n more bytes from the server. The channel is closed when those bytes have
// arrived.
func (p *proxy) dropAfter(n int64) (dropped <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quota, p.spent = n, make(chan struct{})
	return p.spent
}

// pause stops forwarding bytes and connecting to the server until restore. It resets no connection.
func (p *proxy) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// silence permanently stops forwarding bytes on the existing connections, without resetting them. New ones are
// accepted.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		p.conns[conn] = true
	}
}

// restore ends cut and pause.
func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = false
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

func (p *proxy) reset(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = shut
	for conn := range p.conns {
		abort(conn)
	}
}

// abort resets a connection, as a crash does.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	conn.Close()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	defer p.forget(client)
	if !p.admit(client) {
		return
	}
	p.wait(client)
	server, err := net.Dial("tcp", p.target) //nolint:noctx // the end of the test resets it
	if err != nil {
		return
	}
	defer p.forget(server)
	if !p.admit(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, func(n int) (int, bool) { return n, false }) })
	both.Go(func() { p.pass(client, server, p.spend) })
	both.Wait()
}

// admit registers a new connection, and reports whether it may stay open.
func (p *proxy) admit(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.conns[conn] = false
	}
	return !p.shut
}

// wait waits until bytes of a connection may be forwarded.
func (p *proxy) wait(conn net.Conn) {
	p.mu.Lock()
	gate, silent := p.gate, p.conns[conn]
	p.mu.Unlock()
	if silent {
		gate = p.ended
	}
	<-gate
}

func (p *proxy) forget(conn net.Conn) {
	abort(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

// pass copies data until one side closes its connection, and then closes the other one. May returns how many of n bytes
// may be forwarded, and reports whether all connections must be dropped after them.
func (p *proxy) pass(to, from net.Conn, may func(n int) (allowed int, last bool)) {
	defer abort(to)
	defer abort(from)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.wait(from)
		n, last := may(n)
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		if last {
			p.drop()
		}
		if err != nil {
			if err == io.EOF {
				to.Close() // gracefully, so that the written data arrives
			}
			return
		}
	}
}

// spend subtracts n bytes from the server from the quota. Its results are those of may.
func (p *proxy) spend(n int) (allowed int, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quota < 0:
		return n, false
	case p.quota > int64(n):
		p.quota -= int64(n)
		return n, false
	}
	n, p.quota = int(p.quota), -1
	close(p.spent)
	return n, true
}
