// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kube-go/sdk/client/internal/broken"
)

// The channels of exec and attach. The first port of port-forward uses the first two.
const (
	Stdin  = 0
	Stdout = 1
	Stderr = 2
	Status = 3 // a metav1.Status in JSON, at the end
	Resize = 4 // {"Width":80,"Height":24}, to a terminal

	halfClose = 255 // followed by the channel that has ended; version 5 only
)

// The versions of the protocol, as WebSocket sub-protocols.
const (
	V5 = "v5.channel.k8s.io"
	V4 = "v4.channel.k8s.io" // the same, without a way to end a channel
)

// messageBytes is the maximum amount of data in one message, the same as in client-go and in servers.
const messageBytes = 32 << 10

// A peer that does not respond to pings is considered dead, see [Conn.watch].
const (
	checkInterval = 2 * time.Second
	pingInterval  = 8 * time.Second
	pingTimeout   = 15 * time.Second // the minimum time for the response
	silence       = 30 * time.Second // the minimum time without any data

	// unread is the amount of data that a peer accepts even if its program reads none of it, so that it still
	// responds to pings.
	unread = 4 << 10
)

// farewell is the maximum time for which Close waits for the peer.
const farewell = 5 * time.Second

// ErrNoHalfClose states that only version 5 of the protocol can end one channel.
var ErrNoHalfClose = errors.New("the server speaks " + V4 + ", which has no message for the end of the input; " +
	"close the whole stream")

// Channel is an incoming channel.
type Channel struct {
	ID           byte
	BufferBytes  int           // the maximum number of unread bytes
	StallTimeout time.Duration // the maximum time that a full buffer blocks the others; negative: no limit
}

// Conn is a WebSocket with its channels. It releases its resources when the peer closes it or it breaks.
type Conn struct {
	ws      *websocket.Conn
	buffers map[byte]*Buffer
	running sync.WaitGroup

	start      time.Time
	heard      atomic.Int64 // the time from start to the last received data
	delivering atomic.Bool  // a full buffer may be waiting for its reader

	mu       sync.Mutex // guards the fields below
	changed  sync.Cond  // of mu: signals a change of a field below
	next     []byte     // the message to send next: a channel and its data; empty if there is none
	pong     []byte     // the payload of the pong to send next; nil if there is none
	ping     bool       // a ping is to be sent next
	awaiting bool       // a ping was requested, and its pong has not arrived
	sent     int64      // bytes of data, those of the next message included
	taken    int64      // the value of sent that the last pong confirmed
	unsent   error      // the reason why nothing more can be sent; data may still arrive
	limit    deadline   // of Write
	err      error      // the reason why the connection has ended
	done     chan struct{}
}

// newConn returns a connection that owns the WebSocket.
func newConn(ws *websocket.Conn, incoming []Channel, redact func(error) error) *Conn {
	c := &Conn{ws: ws, buffers: map[byte]*Buffer{}, start: time.Now(), done: make(chan struct{})}
	c.changed.L = &c.mu
	for _, ch := range incoming {
		c.buffers[ch.ID] = newBuffer(ch.BufferBytes, ch.StallTimeout)
	}
	ws.SetPingHandler(c.pinged)
	ws.SetPongHandler(c.ponged)
	c.running.Go(func() { c.fail(redact(c.read())) })
	c.running.Go(c.send)
	c.running.Go(c.watch)
	return c
}

// Incoming returns a channel that was given to [Dial].
func (c *Conn) Incoming(id byte) *Buffer { return c.buffers[id] }

// Err returns the reason why the connection has ended: io.EOF if the peer has closed it.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// read passes the messages to the channels until the connection ends.
func (c *Conn) read() error {
	buf := make([]byte, messageBytes)
	for {
		kind, message, err := c.ws.NextReader()
		if err == nil && kind != websocket.BinaryMessage {
			err = errors.New("the server sent a text message, but only binary messages are allowed")
		}
		if err == nil {
			err = c.deliver(message, buf)
		}
		if err != nil {
			return ending(err)
		}
	}
}

// deliver passes one message to its channel, piece by piece. It drops a message for an unknown channel.
func (c *Conn) deliver(message io.Reader, buf []byte) error {
	switch _, err := io.ReadFull(message, buf[:1]); {
	case err == io.EOF:
		return errors.New("the server sent an empty message, which names no channel")
	case err != nil:
		return err
	}
	b := c.buffers[buf[0]]
	for {
		n, err := message.Read(buf)
		c.heard.Store(int64(time.Since(c.start)))
		if b != nil && n > 0 {
			c.delivering.Store(true)
			b.write(buf[:n])
			c.delivering.Store(false)
			c.heard.Store(int64(time.Since(c.start)))
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// ending returns io.EOF if the peer has closed the connection normally.
func ending(err error) error {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	switch {
	case ok && (closed.Code == websocket.CloseNormalClosure || closed.Code == websocket.CloseNoStatusReceived):
		return io.EOF
	case errors.Is(err, io.EOF), ok && closed.Code == websocket.CloseAbnormalClosure: // both mean EOF
		return &broken.Error{Err: errors.New("the server closed it without a close frame")}
	case ok:
		return &broken.Error{Err: fmt.Errorf("the server closed it with status %d: %s", closed.Code, closed.Text)}
	}
	return &broken.Error{Err: err}
}

// conclude sets the reason why the connection ends, unless it has ended before.
func (c *Conn) conclude(err error) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	close(c.done)
	c.changed.Broadcast()
	return true
}

// fail ends the connection and all channels. If the connection has ended before, the reason stays unchanged, and fail
// returns false.
func (c *Conn) fail(err error) (first bool) {
	if first = c.conclude(err); first {
		for _, b := range c.buffers {
			b.end(err)
		}
	}
	_ = c.ws.Close() // err is the reason
	return first
}

// Abort ends the connection at once. Pending and later calls return the error, unless the connection has ended before:
// then Abort returns false.
func (c *Conn) Abort(err error) (first bool) {
	first = c.fail(err)
	c.running.Wait()
	return first
}

// Close sends the written data and a close frame, and waits a few seconds for the close frame of the peer. It drops
// unread data.
func (c *Conn) Close() {
	if c.conclude(net.ErrClosed) {
		for _, b := range c.buffers {
			_ = b.Close() // never fails
		}
		defer time.AfterFunc(farewell, func() { _ = c.ws.Close() }).Stop()
	}
	c.running.Wait()
}

// Finish waits until the peer, which has sent everything, closes the connection. It closes the connection itself if the
// peer has sent nothing for the given time, or if the context ends before the connection, and then returns the
// context's cause. Data that has arrived can still be read.
func (c *Conn) Finish(ctx context.Context, silent time.Duration) error {
	for {
		select {
		case <-c.done: // Close may still be sending
			return nil
		default:
		}
		left := silent - time.Since(c.lastHeard())
		if left <= 0 {
			c.Abort(io.EOF)
			return nil
		}
		select {
		case <-time.After(left):
		case <-c.done:
			return nil
		case <-ctx.Done():
			if c.Abort(context.Cause(ctx)) {
				return context.Cause(ctx)
			}
			return nil
		}
	}
}
