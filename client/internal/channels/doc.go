// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package channels carries several streams of bytes over one WebSocket, in the protocol of kubelets and API servers for
// exec, attach and port-forward.
//
// The first byte of each binary message is the channel; the rest is the channel's data. In version 5 of the protocol, a
// message on channel 255 contains the number of a channel that has ended.
//
// # Flow control
//
// The protocol has no flow control: all channels share one TCP connection. Therefore each incoming channel has a
// buffer. A full buffer blocks all channels until it is read. After StallTimeout, its channel ends with [ErrStalled]
// and its data is dropped, so that the others continue.
//
// One goroutine writes to the WebSocket. It sends one message while [Conn.Write] fills the next one, and blocks while
// the peer reads nothing. Reading never waits for it: the last ping of the peer gets a pong once the peer reads.
//
// # Concurrency
//
// A [Conn] is safe for concurrent use. Its goroutines have ended when Close returns.
package channels
