// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Dial opens a WebSocket with one of the protocols, and returns it with its incoming channels. The upgrade function
// sends the headers of the handshake and returns the upgraded connection with the headers of the response. Dial returns
// its error unchanged. The redact function removes the sent credentials from the errors that the server causes; it is
// called only after the upgrade.
func Dial(
	protocols []string, incoming []Channel,
	upgrade func(http.Header) (io.ReadWriteCloser, http.Header, error), redact func(error) error,
) (*Conn, error) {
	var request http.Header
	var refusal error
	dialer := websocket.Dialer{
		Subprotocols:    protocols,
		WriteBufferSize: 1 + messageBytes, // a message is one frame
		// The dialer passes its request to Proxy before it dials, and sends the same request on the connection, which
		// ignores it.
		Proxy: func(r *http.Request) (*url.URL, error) {
			request = r.Header
			return nil, nil
		},
		NetDial: func(string, string) (net.Conn, error) {
			conn, response, err := upgrade(request)
			if err != nil {
				refusal = err
				return nil, err
			}
			return newSocket(conn, response), nil
		},
	}
	ws, resp, err := dialer.Dial("ws://server", nil) //nolint:bodyclose // the body is empty
	switch {
	case refusal != nil:
		return nil, refusal
	case errors.Is(err, websocket.ErrBadHandshake):
		return nil, redact(fmt.Errorf("the server's upgrade to a WebSocket is invalid: "+
			"Upgrade is %q, Connection is %q, and Sec-WebSocket-Accept is %q",
			resp.Header.Get("Upgrade"), resp.Header.Get("Connection"), resp.Header.Get("Sec-WebSocket-Accept")))
	case err != nil:
		return nil, redact(fmt.Errorf("the server's upgrade to a WebSocket is invalid: %w", err))
	}
	switch extensions := resp.Header.Get("Sec-WebSocket-Extensions"); {
	case extensions != "":
		err = fmt.Errorf("the server chose the WebSocket extensions %q, but none was offered", extensions)
	case !slices.Contains(protocols, ws.Subprotocol()):
		err = fmt.Errorf("the server chose the protocol %q, which is not one of %s",
			ws.Subprotocol(), strings.Join(protocols, ", "))
	default:
		return newConn(ws, incoming, redact), nil
	}
	_ = ws.Close() // err is the reason
	return nil, redact(err)
}

// socket is an upgraded connection in the form that a [websocket.Dialer] requires.
type socket struct {
	net.Conn // nil; the WebSocket uses only the methods below

	conn     io.ReadWriteCloser
	in       io.Reader // the headers of the response, and then conn
	upgraded bool      // false while the dialer sends its request
	limit    time.Time // of the next Write; zero means none
}

func newSocket(conn io.ReadWriteCloser, response http.Header) *socket {
	head := bytes.NewBufferString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = response.Write(head) // a buffer never fails
	head.WriteString("\r\n")
	return &socket{conn: conn, in: io.MultiReader(head, conn)}
}

// Read reads from the connection.
func (s *socket) Read(p []byte) (int, error) {
	if !s.upgraded { // afterwards the field is only read, because writers use it at the same time
		s.upgraded = true
	}
	return s.in.Read(p)
}

// Write writes to the connection. A Write that exceeds its deadline closes the connection, since an incomplete frame
// breaks a WebSocket anyway.
func (s *socket) Write(p []byte) (int, error) {
	if !s.upgraded {
		return len(p), nil // the upgrade function has sent the request
	}
	if !s.limit.IsZero() {
		defer time.AfterFunc(time.Until(s.limit), func() { _ = s.conn.Close() }).Stop()
	}
	return s.conn.Write(p)
}

// Close closes the connection.
func (s *socket) Close() error { return s.conn.Close() }

// SetDeadline does nothing: the dialer calls it after a handshake without a deadline.
func (s *socket) SetDeadline(time.Time) error { return nil }

// SetWriteDeadline sets the deadline of the next Write. The WebSocket calls it before each.
func (s *socket) SetWriteDeadline(t time.Time) error {
	s.limit = t
	return nil
}
