// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"io"
	"log"
	"net/http"
	"sync"
)

// endpoint serves requests that come through its transport.
type endpoint struct {
	network   *network
	transport *http.Transport
	server    *http.Server
	serving   sync.WaitGroup
}

// newEndpoint returns an endpoint, which runs until close is called.
func newEndpoint(h http.Handler) *endpoint {
	n := newNetwork()
	e := &endpoint{
		network: n,
		// Each connection has one request at a time, so it needs no limit for the idle ones.
		transport: &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 1000},
		server:    &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)},
	}
	e.serving.Go(func() { _ = e.server.Serve(n) }) // until cut
	return e
}

// closeConnections cuts all connections. The next requests use new ones.
func (e *endpoint) closeConnections() {
	e.transport.CloseIdleConnections() // else a request could use one before its end is known
	e.network.closeConnections()
}

// cut makes requests fail, those that run and those that come.
func (e *endpoint) cut() {
	_ = e.server.Close() // the listener is in memory
	e.closeConnections()
}

// close cuts all connections and waits until the server has ended.
func (e *endpoint) close() {
	e.cut()
	e.transport.CloseIdleConnections()
	e.serving.Wait()
}
