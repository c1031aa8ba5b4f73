// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"net"
	"sync"
)

// network is a listener for connections in memory. In a bubble of testing/synctest, goroutines that wait for them are
// durably blocked.
type network struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()

	mu    sync.Mutex // guards conns
	conns map[net.Conn]struct{}
}

func newNetwork() *network {
	n := &network{accepted: make(chan net.Conn), closed: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	n.close = sync.OnceFunc(func() { close(n.closed) })
	return n
}

// dial connects to the listener, whatever the address.
func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	local, remote := net.Pipe()
	select {
	case n.accepted <- &conn{remote, n}:
		return local, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept waits for the next connection.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns[c] = struct{}{}
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener, but no connections.
func (n *network) Close() error {
	n.close()
	return nil
}

// Addr returns an address for messages.
func (*network) Addr() net.Addr { return &net.UnixAddr{Net: "pipe", Name: "kubetest"} }

// closeConnections closes all connections.
func (n *network) closeConnections() {
	n.mu.Lock()
	conns := n.conns
	n.conns = make(map[net.Conn]struct{})
	n.mu.Unlock()
	for c := range conns {
		c.Close()
	}
}

// conn is the server's end of a connection.
type conn struct {
	net.Conn
	network *network
}

// Close closes the connection.
func (c *conn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}
