// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels_test

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake requires it
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/kube-go/sdk/client/internal/channels"
)

// The kinds of frames.
const (
	textKind   = 1
	binaryKind = 2
	closeKind  = 8
	pingKind   = 9
	pongKind   = 10
)

// peer is the server side of a WebSocket. It can send invalid data.
type peer struct {
	t       testing.TB
	conn    net.Conn
	in      *bufio.Reader
	writing chan struct{} // holds a token while nothing writes; a mutex does not work in a bubble
	muted   atomic.Bool   // sent data is dropped
}

// connect returns a connection and its peer.
func connect(t testing.TB, protocol string, incoming ...channels.Channel) (*channels.Conn, *peer) {
	t.Helper()
	near, far := net.Pipe()
	p := &peer{t: t, conn: far, in: bufio.NewReader(far), writing: make(chan struct{}, 1)}
	p.writing <- struct{}{}
	return open(t, near, protocol, incoming...), p
}

// open returns a connection over a socket whose peer accepts the handshake.
func open(t testing.TB, socket io.ReadWriteCloser, protocol string, incoming ...channels.Channel) *channels.Conn {
	t.Helper()
	c, err := channels.Dial([]string{protocol}, incoming, func(h http.Header) (io.ReadWriteCloser, http.Header, error) {
		return socket, accepted(h, protocol), nil
	}, unchanged)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unchanged is the redaction of a connection without credentials.
func unchanged(err error) error { return err }

// accepted returns the headers with which a server accepts a handshake.
func accepted(h http.Header, protocol string) http.Header {
	canonical := http.Header{}
	for name, values := range h {
		canonical[http.CanonicalHeaderKey(name)] = values
	}
	//nolint:gosec // the protocol requires SHA-1
	sum := sha1.Sum([]byte(canonical.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {protocol},
		"Sec-Websocket-Accept": {base64.StdEncoding.EncodeToString(sum[:])},
	}
}

// frame returns a frame as servers send it.
func frame(kind byte, payload string) []byte {
	f := []byte{0x80 | kind}
	switch {
	case len(payload) < 126:
		f = append(f, byte(len(payload)))
	default:
		f = append(f, 127)
		f = append(f, make([]byte, 8)...)
		for i, n := 0, len(payload); i < 8; i++ {
			f[len(f)-1-i] = byte(n >> (8 * i))
		}
	}
	return append(f, payload...)
}

// goodbye is the payload of a frame that closes a connection normally.
const goodbye = "\x03\xe8"

// send sends a frame and waits until the connection has read it.
func (p *peer) send(kind byte, payload string) {
	p.t.Helper()
	if err := p.write(frame(kind, payload)); err != nil {
		p.t.Errorf("send %q: %v", payload[:min(len(payload), 20)], err)
	}
}

func (p *peer) write(data []byte) error {
	<-p.writing
	defer func() { p.writing <- struct{}{} }()
	if p.muted.Load() {
		return nil
	}
	_, err := p.conn.Write(data)
	return err
}

// receive returns the next frame, or kind 0 at the end of the connection.
func (p *peer) receive() (kind byte, payload string) {
	head := make([]byte, 14)
	if _, err := io.ReadFull(p.in, head[:2]); err != nil {
		return 0, ""
	}
	size, more := int(head[1]&0x7f), 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	if _, err := io.ReadFull(p.in, head[2:2+more+4]); err != nil {
		return 0, ""
	}
	if more > 0 {
		size = 0
		for _, b := range head[2 : 2+more] {
			size = size<<8 | int(b)
		}
	}
	mask := head[2+more : 2+more+4]
	data := make([]byte, size)
	if _, err := io.ReadFull(p.in, data); err != nil {
		return 0, ""
	}
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return head[0] & 0xf, string(data)
}

// respond responds to pings and passes other frames to note until the connection ends. It runs in its own goroutine.
func (p *peer) respond(note func(kind byte, payload string)) {
	for {
		switch kind, payload := p.receive(); kind {
		case 0:
			return
		case pingKind:
			if p.write(frame(pongKind, payload)) != nil {
				return
			}
		default:
			note(kind, payload)
		}
	}
}
