// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Bounds of an [Outbox]: how much data waits for the socket, and how much room there is beyond that for control frames,
// the answers to a peer that sends pings without reading.
const (
	outboxBytes  = 64 << 10
	controlBytes = 16 << 10
)

// slowWrite is after how long a write to the socket is held up by the peer, not by the machine.
const slowWrite = time.Second

// Outbox is what a WebSocket writes to: it never waits for the socket, to which a goroutine of its own writes. Senders of
// data wait for room before they write, see [Outbox.reserve]; control frames find room always. It is safe for concurrent use.
type Outbox struct {
	io.ReadWriteCloser // the socket

	mu      sync.Mutex // guards what follows
	changed sync.Cond  // of mu: anything below
	waiting []byte     // for the socket
	booked  int        // room that senders of data have reserved
	writing time.Time  // since when the socket has been taking bytes; zero when it isn't
	resumed time.Time  // when the socket last took bytes after a delay
	err     error      // why nothing more is sent
	full    error      // why no more data is taken, though what waits is sent
	limit   deadline   // of senders of data

	done chan struct{} // closed when the goroutine has ended
}

// NewOutbox returns the outbox of a socket. Close frees it.
func NewOutbox(socket io.ReadWriteCloser) *Outbox {
	o := &Outbox{ReadWriteCloser: socket, done: make(chan struct{})}
	o.changed.L = &o.mu
	go func() {
		defer close(o.done)
		o.send()
	}()
	return o
}

// Write hands bytes over for sending.
func (o *Outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && len(o.waiting)+len(p) > 2*outboxBytes+controlBytes {
		o.err = errors.New("the peer asks for more answers than it reads")
		o.changed.Broadcast()
	}
	if o.err != nil {
		return 0, o.err
	}
	o.waiting = append(o.waiting, p...)
	o.changed.Broadcast()
	return len(p), nil
}

// SetWriteDeadline sets the time at which sending data fails with [os.ErrDeadlineExceeded]; zero is never.
func (o *Outbox) SetWriteDeadline(t time.Time) {
	o.limit.set(t, &o.changed)
}

// reserve waits until there is room for a message of n bytes, which [Outbox.release] gives back.
func (o *Outbox) reserve(n int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.full == nil && !o.limit.passed && len(o.waiting)+o.booked >= outboxBytes {
		o.changed.Wait()
	}
	switch {
	case o.err != nil:
		return o.err
	case o.full != nil:
		return o.full
	case o.limit.passed:
		return os.ErrDeadlineExceeded
	}
	o.booked += n
	return nil
}

func (o *Outbox) release(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.booked -= n
	o.changed.Broadcast()
}

// refuse takes no more data.
func (o *Outbox) refuse(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.full = err
	o.changed.Broadcast()
}

// send writes to the socket what was handed over, until the outbox is closed or the socket fails.
func (o *Outbox) send() {
	var spare []byte
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for o.err == nil && len(o.waiting) == 0 {
			o.changed.Wait()
		}
		if o.err != nil {
			return
		}
		chunk := o.waiting
		o.waiting, o.writing = spare[:0], time.Now()
		o.changed.Broadcast()

		o.mu.Unlock()
		_, err := o.ReadWriteCloser.Write(chunk)
		o.mu.Lock()

		if time.Since(o.writing) > slowWrite {
			o.resumed = time.Now()
		}
		spare, o.writing = chunk, time.Time{}
		if err != nil && o.err == nil {
			o.err = err
		}
		o.changed.Broadcast()
	}
}

// heldUp returns when the peer was last known to hold up what we send, now included; zero when it never was.
func (o *Outbox) heldUp() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.writing.IsZero() && time.Since(o.writing) > slowWrite {
		return time.Now()
	}
	return o.resumed
}

// Close closes the socket; what waits for it is dropped.
func (o *Outbox) Close() error {
	o.mu.Lock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.changed.Broadcast()
	o.mu.Unlock()
	err := o.ReadWriteCloser.Close()
	<-o.done
	return err
}
