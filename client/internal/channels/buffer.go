// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package channels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// ErrStalled ends a channel that nobody has read for too long while its buffer was full.
var ErrStalled = errors.New("output was lost, since nobody read it")

// errReadClosed ends a channel whose reader has closed it.
var errReadClosed = errors.New("read on a closed stream")

// Buffer is one incoming channel: what has come and is not read yet. It is safe for concurrent use.
type Buffer struct {
	max   int
	stall time.Duration // how long a full buffer waits for its reader; negative: for ever

	mu      sync.Mutex // guards what follows
	changed sync.Cond  // of mu: anything below
	data    bytes.Buffer
	reads   int   // how often something was read
	err     error // why nothing more comes; nil while it may
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
	case b.limit.passed:
		return 0, os.ErrDeadlineExceeded
	case b.data.Len() == 0:
		return 0, b.err
	}
	n, _ := b.data.Read(p) // it is not empty
	if b.data.Len() == 0 && b.data.Cap() > 64<<10 {
		b.data = bytes.Buffer{} // a burst need not be paid for ever
	}
	b.reads++
	b.changed.Broadcast()
	return n, nil
}

// SetReadDeadline sets the time at which reading fails with [os.ErrDeadlineExceeded]; zero is never.
func (b *Buffer) SetReadDeadline(t time.Time) {
	b.limit.set(t, &b.changed)
}

// Close makes the buffer drop what it holds and what comes.
func (b *Buffer) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil || b.data.Len() > 0 {
		b.data = bytes.Buffer{}
		b.err = errReadClosed
	}
	b.changed.Broadcast()
	return nil
}

// write appends data, and waits for room first. It reports whether it had to wait.
func (b *Buffer) write(p []byte) (waited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && b.data.Len() > 0 && b.data.Len()+len(p) > b.max {
		waited = true
		b.awaitReader()
	}
	if b.err == nil {
		b.data.Write(p)
		b.changed.Broadcast()
	}
	return waited
}

// awaitReader waits until something was read, or the buffer has ended, which it does itself when that takes too long.
func (b *Buffer) awaitReader() {
	seen := b.reads
	if b.stall >= 0 {
		timer := time.AfterFunc(b.stall, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.err == nil && b.reads == seen {
				b.err = fmt.Errorf("%w for %v while %d bytes were waiting; read it, or decline it", ErrStalled, b.stall, b.data.Len())
			}
			b.changed.Broadcast()
		})
		defer timer.Stop()
	}
	for b.err == nil && b.reads == seen {
		b.changed.Wait()
	}
}

// end says why nothing more comes; the first reason stays. What has come can still be read.
func (b *Buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
	b.changed.Broadcast()
}
