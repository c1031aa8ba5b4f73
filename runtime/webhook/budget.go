// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// smallBytes is the size of a small body. Most reviews are smaller.
const smallBytes = 64 << 10

// budget bounds the memory of the bodies of all current requests. One half of it is for the first [smallBytes] of each
// body, the other half for the rest, so that a few large or slow requests leave space for small ones. No request waits
// for another.
type budget struct {
	total int64

	mu           sync.Mutex // guards the fields below
	first, above int64      // the bytes in each half
}

// reserve increases what a request holds by n bytes. It returns an error if that is too much.
func (b *budget) reserve(held, n int64) error {
	first := min(held+n, smallBytes) - min(held, smallBytes)
	b.mu.Lock()
	defer b.mu.Unlock()
	half := b.total / 2
	switch {
	case held+n > half:
		return &bodyError{text: fmt.Sprintf("the body is larger than %d bytes, which is half of webhook.Options.MaxBodyBytes: "+
			"raise it", half)}
	case first > 0 && b.first+first > half, n > first && b.above+n-first > half:
		return &bodyError{busy: true, text: fmt.Sprintf("the bodies of the current requests have %d bytes: try again "+
			"later, or raise webhook.Options.MaxBodyBytes, which is %d", b.first+b.above, b.total)}
	}
	b.first += first
	b.above += n - first
	return nil
}

// release ends a request that holds n bytes.
func (b *budget) release(n int64) {
	first := min(n, smallBytes)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first -= first
	b.above -= n - first
}

// bodyError is the error of reading a body that the budget does not allow.
type bodyError struct {
	text string
	busy bool // it is allowed when other requests have ended
}

func (e *bodyError) Error() string { return e.text }

// limit returns the body of a request, whose bytes count until the release. The body of a request that is known to be
// too large is not kept.
func (b *budget) limit(r *http.Request) (body io.ReadCloser, release func()) {
	l := &limitedBody{ReadCloser: r.Body, budget: b}
	if n := r.ContentLength; n > 0 {
		if l.refused = b.reserve(0, n); l.refused == nil {
			b.release(n) // until it has arrived: a client may send it slowly
		}
	}
	return l, func() { b.release(l.held) }
}

// limitedBody is a body whose bytes are reserved as they are read.
type limitedBody struct {
	io.ReadCloser
	budget  *budget
	held    int64
	refused error
}

func (l *limitedBody) Read(p []byte) (n int, err error) {
	if l.refused == nil {
		n, err = l.ReadCloser.Read(p)
		if l.refused = l.budget.reserve(l.held, int64(n)); l.refused == nil {
			l.held += int64(n)
			return n, err
		}
	}
	discard(l.ReadCloser)
	return 0, l.refused
}
