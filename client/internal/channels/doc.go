// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package channels carries several streams of bytes over one WebSocket, as kubelets and API servers do it for exec,
// attach and port-forward.
//
// The first byte of each binary message is the channel; the rest is the channel's data. In version 5 of the protocol a
// message on channel 255 says which channel of ours has ended.
//
// # Flow control
//
// The protocol has none: all channels share one TCP connection. So each incoming channel has a buffer. When one is full
// because nobody reads it, the others are held up until somebody does, or, after [Config.StallTimeout], until that
// channel is given up: it ends with [ErrStalled], what comes for it is dropped, and the others go on. Outgoing data waits
// outside of the WebSocket, in an [Outbox], so that answers to pings can always be sent.
//
// # Concurrency
//
// A [Conn] may be used by several goroutines. Its own goroutines have ended when Close returns.
package channels
