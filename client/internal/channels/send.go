// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kube-go/sdk/client/internal/broken"
)

// Write sends data on a channel. It blocks while the peer reads nothing.
func (c *Conn) Write(id byte, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k, err := c.queue(id, p[n:])
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}

// End notifies the peer that an outgoing channel has ended.
func (c *Conn) End(id byte) error {
	if c.ws.Subprotocol() != V5 {
		return ErrNoHalfClose
	}
	_, err := c.queue(halfClose, []byte{id})
	return err
}

// SetWriteDeadline sets the time at which Write fails with [os.ErrDeadlineExceeded]; zero means no limit.
func (c *Conn) SetWriteDeadline(t time.Time) { c.limit.set(t, &c.changed) }

// queue waits for room in the next message, adds data to it, and returns the number of added bytes. Only inputs are
// merged, since other messages must stay separate.
func (c *Conn) queue(id byte, p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := func() bool {
		return len(c.next) > 0 && (id != Stdin || c.next[0] != Stdin || len(c.next) > messageBytes)
	}
	for c.err == nil && c.unsent == nil && !c.limit.passed && full() {
		c.changed.Wait()
	}
	switch {
	case c.err == io.EOF:
		return 0, fmt.Errorf("the server has closed the stream: %w", io.ErrClosedPipe)
	case c.err != nil:
		return 0, c.err
	case c.unsent != nil:
		return 0, c.unsent
	case c.limit.passed:
		return 0, os.ErrDeadlineExceeded
	}
	if len(c.next) == 0 {
		c.next = append(c.next, id)
	}
	n := min(len(p), 1+messageBytes-len(c.next))
	c.next = append(c.next, p[:n]...)
	c.sent += int64(n)
	c.changed.Broadcast()
	return n, nil
}

// send writes messages, pings and pongs to the WebSocket until the connection ends. It writes without a deadline, since
// a program may leave its input unread for an hour.
func (c *Conn) send() {
	var message, pong, ping []byte
	for {
		c.mu.Lock()
		for c.err == nil && len(c.next) == 0 && c.pong == nil && !c.ping {
			c.changed.Wait()
		}
		message, c.next = c.next, message[:0]
		pong, c.pong = c.pong, nil
		if ping = nil; c.ping {
			ping, c.ping = strconv.AppendInt(nil, c.sent, 10), false
		}
		ended := c.err != nil
		c.changed.Broadcast()
		c.mu.Unlock()

		var err error
		if pong != nil {
			err = c.ws.WriteMessage(websocket.PongMessage, pong)
		}
		if len(message) > 0 && err == nil {
			err = c.ws.WriteMessage(websocket.BinaryMessage, message)
		}
		if ping != nil && err == nil {
			err = c.ws.WriteMessage(websocket.PingMessage, ping)
		}
		switch {
		case ended:
			// This fails if the connection is closed.
			_ = c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
			return
		case err != nil:
			c.mu.Lock()
			c.unsent = err
			c.changed.Broadcast()
			c.mu.Unlock()
			return
		}
	}
}

// pinged requests a pong. If the peer sends pings faster than it reads, only the last one gets a pong, as the protocol
// allows.
func (c *Conn) pinged(payload string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pong = []byte(payload)
	c.changed.Broadcast()
	return nil
}

// ponged records the amount of data that the peer has received. The payload of the ping is that amount.
func (c *Conn) ponged(payload string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := strconv.ParseInt(payload, 10, 64); err == nil && n >= c.taken && n <= c.sent {
		c.taken, c.awaiting = n, false
	}
	return nil
}

// watch ends the connection if the peer does not respond to pings and sends nothing else. It sends pings only to a
// silent peer, or to one that may not have taken all data: data that is unread when a server closes its socket, or that
// arrives afterwards, makes the server's kernel drop everything that is still in transit to the client.
//
// A server reads messages and pings in one loop, so it does not respond while it waits for a program to read its input,
// which may take an hour. Therefore a silent peer is considered dead only if an earlier response has shown that it has
// received nearly all data that was sent before the ping. Otherwise, TCP detects a dead peer.
func (c *Conn) watch() {
	check := time.NewTicker(checkInterval)
	defer check.Stop()
	for pinged := c.start; ; {
		select {
		case <-check.C:
		case <-c.done:
			return
		}
		silent := time.Since(c.lastHeard())
		c.mu.Lock()
		waiting, untaken := c.awaiting, c.sent-c.taken
		if !waiting && time.Since(pinged) >= pingInterval && (untaken > 0 || silent >= pingInterval) {
			pinged, c.ping, c.awaiting = time.Now(), true, true
			c.changed.Broadcast()
		}
		c.mu.Unlock()
		if waiting && untaken <= unread && time.Since(pinged) >= pingTimeout && silent >= silence {
			c.fail(&broken.Error{Err: fmt.Errorf("the server has been silent for %v", silent.Round(time.Second))})
		}
	}
}

// lastHeard returns the time at which the peer last sent data, or the current time while a full buffer blocks the peer.
func (c *Conn) lastHeard() time.Time {
	if c.delivering.Load() {
		return time.Now()
	}
	return c.start.Add(time.Duration(c.heard.Load()))
}
