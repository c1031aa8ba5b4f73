// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// ErrStalled is the error of a channel that was not read for too long while its buffer was full.
var ErrStalled = errors.New("output was lost because it was not read")

// Buffer contains the unread data of one incoming channel. It is safe for concurrent use.
type Buffer struct {
	max   int
	stall time.Duration // the maximum time that a full buffer waits for its reader; negative: no limit

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // of mu: signals a change of a field below
	data    bytes.Buffer
	reads   int   // the number of reads
	err     error // the reason why no more data is accepted; nil until then
	limit   deadline
}

func newBuffer(maxBytes int, stall time.Duration) *Buffer {
	b := &Buffer{max: maxBytes, stall: stall}
	b.changed.L = &b.mu
	return b
}

// Read waits for data. It returns io.EOF after the peer has ended the channel.
func (b *Buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	for b.data.Len() == 0 && b.err == nil && !b.limit.passed {
		b.changed.Wait()
	}
	switch {
	case b.data.Len() == 0 && b.err != nil:
		return 0, b.err
	case b.limit.passed:
		return 0, os.ErrDeadlineExceeded
	}
	n, _ := b.data.Read(p) // it is not empty
	if b.data.Len() == 0 && b.data.Cap() > 64<<10 {
		b.data = bytes.Buffer{} // a burst must not keep its memory
	}
	b.reads++
	b.changed.Broadcast()
	return n, nil
}

// SetReadDeadline sets the time at which Read fails with [os.ErrDeadlineExceeded]; zero means no limit.
func (b *Buffer) SetReadDeadline(t time.Time) {
	b.limit.set(t, &b.changed)
}

// Close drops unread and later data. A Read then returns [net.ErrClosed].
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || b.data.Len() > 0 {
		b.data = bytes.Buffer{}
		b.err = net.ErrClosed
	}
	b.changed.Broadcast()
	return nil
}

// write waits for room and appends data.
func (b *Buffer) write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && b.data.Len() > 0 && b.data.Len()+len(p) > b.max {
		b.awaitReader()
	}
	if b.err == nil {
		b.data.Write(p)
		b.changed.Broadcast()
	}
}

// awaitReader waits until data is read or the buffer ends. It ends the buffer after the stall timeout.
func (b *Buffer) awaitReader() {
	seen := b.reads
	if b.stall >= 0 {
		timer := time.AfterFunc(b.stall, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.err == nil && b.reads == seen {
				b.err = fmt.Errorf("%w for %v while %d bytes were waiting: read it, or do not request it",
					ErrStalled, b.stall, b.data.Len())
			}
			b.changed.Broadcast()
		})
		defer timer.Stop()
	}
	for b.err == nil && b.reads == seen {
		b.changed.Wait()
	}
}

// end sets the reason why no more data is accepted, unless it is set. Unread data can still be read.
func (b *Buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.changed.Broadcast()
}
