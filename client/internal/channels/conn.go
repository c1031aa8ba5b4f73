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

	"github.com/coder/websocket"

	"github.com/kube-go/sdk/client/internal/broken"
)

// The channels of exec and attach; those of the first port of port-forward are the first two.
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

// messageBytes is the most data that is sent in one message, as client-go and the servers do it.
const messageBytes = 32 << 10

// When a peer is taken for dead: it has to answer pings, see [Conn.watch].
const (
	pingInterval = 8 * time.Second
	pingTimeout  = 15 * time.Second // the least that an answer may take
	silence      = 30 * time.Second // the least that nothing at all was heard
	checkEvery   = 2 * time.Second

	// unread is how much data a peer surely takes though its program reads none of it, so that it can answer a ping.
	unread = 4 << 10
)

// ErrNoHalfClose says that only version 5 of the protocol can end one channel.
var ErrNoHalfClose = errors.New("the server speaks " + V4 + ", which has no way to say that the input has ended; close the whole stream")

// Channel is an incoming channel.
type Channel struct {
	ID           byte
	BufferBytes  int           // how much is kept while nobody reads
	StallTimeout time.Duration // how long a full buffer holds up the others; negative: for ever
}

// Conn is a WebSocket with its channels. When the peer ends it, or it breaks, it frees everything by itself.
type Conn struct {
	ws      *websocket.Conn
	out     *Outbox
	buffers map[byte]*Buffer
	running sync.WaitGroup

	start      time.Time
	heard      atomic.Int64 // how long after the start something was received last
	delivering atomic.Bool  // waiting for our own readers, maybe
	sent       atomic.Int64 // bytes of data

	mu   sync.Mutex // guards err
	err  error      // why the connection has ended
	done chan struct{}
}

// New returns a connection whose WebSocket writes to an outbox.
func New(ws *websocket.Conn, out *Outbox, incoming []Channel) *Conn {
	c := &Conn{ws: ws, out: out, buffers: map[byte]*Buffer{}, start: time.Now(), done: make(chan struct{})}
	for _, ch := range incoming {
		c.buffers[ch.ID] = newBuffer(ch.BufferBytes, ch.StallTimeout)
	}
	ws.SetReadLimit(-1) // messages are read in pieces, and never held
	c.running.Go(func() { c.fail(c.read()) })
	c.running.Go(c.watch)
	return c
}

// Incoming returns a channel that was given to [New].
func (c *Conn) Incoming(id byte) *Buffer { return c.buffers[id] }

// Outbox returns what the connection sends through.
func (c *Conn) Outbox() *Outbox { return c.out }

// HalfCloses reports whether [Conn.End] works.
func (c *Conn) HalfCloses() bool { return c.ws.Subprotocol() == V5 }

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection has ended: io.EOF when the peer has closed it.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Write sends data on a channel. It waits as long as the peer takes nothing.
func (c *Conn) Write(id byte, p []byte) (int, error) {
	n := 0
	var message []byte
	for n < len(p) {
		part := p[n:min(len(p), n+messageBytes)]
		message = append(append(message[:0], id), part...)
		if err := c.send(message); err != nil {
			return n, err
		}
		n += len(part)
		c.sent.Add(int64(len(part)))
	}
	return n, nil
}

// End says that nothing more comes on a channel of ours.
func (c *Conn) End(id byte) error {
	if !c.HalfCloses() {
		return ErrNoHalfClose
	}
	return c.send([]byte{halfClose, id})
}

func (c *Conn) send(message []byte) error {
	if err := c.out.reserve(len(message)); err != nil {
		return c.cause(err)
	}
	defer c.out.release(len(message))
	return c.cause(c.ws.Write(context.Background(), websocket.MessageBinary, message)) // it does not wait
}

// cause returns why the connection has ended, if it has, instead of an error that comes of it.
func (c *Conn) cause(err error) error {
	if err == nil {
		return nil
	}
	switch ended := c.Err(); {
	case ended == io.EOF:
		return fmt.Errorf("the server has closed the stream: %w", io.ErrClosedPipe)
	case ended != nil:
		return ended
	}
	return err
}

// read hands the messages to the channels until the connection ends.
func (c *Conn) read() error {
	buf := make([]byte, messageBytes)
	for {
		kind, message, err := c.ws.Reader(context.Background())
		if err == nil && kind != websocket.MessageBinary {
			err = errors.New("a text message, where only binary ones may be")
		}
		if err == nil {
			err = c.deliver(message, buf)
		}
		if err != nil {
			return ending(err)
		}
	}
}

// deliver hands one message to its channel, piece by piece. What comes for a channel that nobody knows is dropped.
func (c *Conn) deliver(message io.Reader, buf []byte) error {
	switch _, err := io.ReadFull(message, buf[:1]); {
	case err == io.EOF:
		return errors.New("an empty message, which names no channel")
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

// ending returns io.EOF when the peer has closed the connection in the way it should.
func ending(err error) error {
	closed, ok := errors.AsType[websocket.CloseError](err)
	switch {
	case ok && (closed.Code == websocket.StatusNormalClosure || closed.Code == websocket.StatusNoStatusRcvd):
		return io.EOF
	case ok:
		return &broken.Error{Err: fmt.Errorf("the server said: %d %s", closed.Code, closed.Reason)}
	case errors.Is(err, io.EOF):
		return &broken.Error{Err: errors.New("it was closed without a word")}
	}
	return &broken.Error{Err: err}
}

// conclude notes why the connection ends, unless it has ended before.
func (c *Conn) conclude(err error) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return false
	}
	c.err = err
	close(c.done)
	c.out.refuse(err)
	return true
}

// fail ends the connection and all channels with the first reason that there is.
func (c *Conn) fail(err error) {
	if !c.conclude(err) {
		return
	}
	for _, b := range c.buffers {
		b.end(err)
	}
	_ = c.ws.CloseNow() // what it could say is said by err
}

// Abort ends the connection at once, for a reason that all who use it then get.
func (c *Conn) Abort(err error) {
	c.fail(err)
	c.running.Wait()
}

// Close ends the connection after the peer was told, which takes some seconds if it does not listen. What was not read
// is dropped.
func (c *Conn) Close() {
	if c.conclude(net.ErrClosed) {
		for _, b := range c.buffers {
			_ = b.Close() // never fails
		}
		_ = c.ws.Close(websocket.StatusNormalClosure, "") // whoever is not there any more needs no farewell
	}
	c.running.Wait()
}

// Finish waits until the peer, which has nothing more to say, closes the connection. It closes the connection itself
// when the peer has been silent for that long, or when the context ends, whose cause it then returns. What has
// arrived can still be read.
func (c *Conn) Finish(ctx context.Context, silent time.Duration) error {
	for {
		left := silent - time.Since(c.spoke())
		if left <= 0 {
			c.Abort(io.EOF)
			return nil
		}
		select {
		case <-time.After(left):
		case <-c.done:
			return nil
		case <-ctx.Done():
			c.Abort(context.Cause(ctx))
			return context.Cause(ctx)
		}
	}
}

// watch takes a peer for dead that does not answer pings, and is silent otherwise. Only a silent one is asked, or one that
// may not have taken all we have sent: what a server finds unread when it closes its socket, or gets after that, makes its
// kernel drop all that is still on its way to us.
//
// A server reads what we send in one loop, so while it waits for a program to take its input it does not answer. Such a
// program may well do something else for an hour. So silence means death only when nearly all we had sent before the
// ping was taken, as an earlier answer has shown; else it is left to TCP.
func (c *Conn) watch() {
	interval, check := time.NewTicker(pingInterval), time.NewTicker(checkEvery)
	defer interval.Stop()
	defer check.Stop()
	for taken := int64(0); ; {
		select {
		case <-interval.C:
		case <-c.done:
			return
		}
		if c.sent.Load() == taken && time.Since(c.lastHeard()) < pingInterval {
			continue // it is alive, and a ping that comes when it has just closed would make it drop what is on its way
		}
		sent, began := c.sent.Load(), time.Now()
		pong := make(chan error, 1)
		c.running.Go(func() { pong <- c.ws.Ping(context.Background()) })
		for waiting := true; waiting; {
			select {
			case err := <-pong:
				if err != nil {
					return // the connection is at its end, and says why itself
				}
				taken, waiting = sent, false
			case <-check.C:
				if sent-taken <= unread && time.Since(began) >= pingTimeout && time.Since(c.lastHeard()) >= silence {
					c.fail(&broken.Error{Err: fmt.Errorf("the server has been silent for %v", time.Since(c.lastHeard()).Round(time.Second))})
					return
				}
			case <-c.done:
				return
			}
		}
	}
}

// spoke returns when the peer last gave a sign of life, or could not since we did not listen.
func (c *Conn) spoke() time.Time {
	if c.delivering.Load() {
		return time.Now()
	}
	return c.start.Add(time.Duration(c.heard.Load()))
}

// lastHeard returns the same, and counts a peer that does not listen as one that can't speak.
func (c *Conn) lastHeard() time.Time {
	heard := c.spoke()
	if held := c.out.heldUp(); held.After(heard) {
		return held
	}
	return heard
}
