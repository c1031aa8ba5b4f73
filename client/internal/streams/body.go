// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
)

// Source is the items of an operation, such as a [Stream].
type Source interface {
	Next(ctx context.Context) (Item, error)
}

// Body is the body of a response.
type Body struct {
	ctx    context.Context //nolint:containedctx // a body ends with the context of its request
	stop   context.CancelCauseFunc
	items  Source
	cancel func()
	chunk  []byte
	err    error // after the last chunk
	closed atomic.Bool
}

var errClosed = errors.New("the body is closed")

// NewBody returns a body whose chunks are the items of src. Its reads end with ctx. Close calls cancel once. If ended
// is true, the body is empty.
func NewBody(ctx context.Context, src Source, ended bool, cancel func()) *Body {
	b := &Body{items: src, cancel: cancel}
	b.ctx, b.stop = context.WithCancelCause(ctx)
	if ended {
		b.err = io.EOF
	}
	return b
}

// Read reads from the body.
func (b *Body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, errClosed
	}
	for len(b.chunk) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		var item Item
		if item, b.err = b.items.Next(b.ctx); b.err != nil {
			continue
		}
		b.chunk = item.Data
	}
	n := copy(p, b.chunk)
	b.chunk = b.chunk[n:]
	return n, nil
}

// Close ends the operation, also while another goroutine reads.
func (b *Body) Close() error {
	if !b.closed.Swap(true) {
		b.stop(errClosed)
		b.cancel()
	}
	return nil
}
