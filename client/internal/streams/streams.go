// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"io"
	"sync"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// Item is an item of an operation.
type Item struct {
	Data  []byte
	Flags abi.Flags
}

// Table has the streams of the operations that have not ended. The zero value is an empty table.
type Table struct {
	mu      sync.Mutex // guards streams, and the queues of all streams
	streams map[int64]*Stream
}

// Stream is the items of one operation that have not been read. It is for one reader at a time.
type Stream struct {
	table   *Table
	id      int64
	alerted chan struct{} // has a token if there may be a new item

	// Guarded by table.mu.
	queue []Item
	ended bool // no further item follows
}

// Add adds the stream of an operation.
func (t *Table) Add(id int64) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.streams == nil {
		t.streams = make(map[int64]*Stream)
	}
	s := &Stream{table: t, id: id, alerted: make(chan struct{}, 1)}
	t.streams[id] = s
	return s
}

// Deliver adds an item to a stream, and returns the stream. It never waits, and returns nil if the id is unknown.
func (t *Table) Deliver(id int64, item Item) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.streams[id]
	if s == nil {
		return nil
	}
	s.queue = append(s.queue, item)
	if item.Flags&(abi.FlagLast|abi.FlagError) != 0 {
		s.ended = true
		delete(t.streams, id)
	}
	select {
	case s.alerted <- struct{}{}:
	default:
	}
	return s
}

// Find returns a stream, or nil if the id is unknown.
func (t *Table) Find(id int64) *Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams[id]
}

// ID returns the id of the operation.
func (s *Stream) ID() int64 { return s.id }

// Depth returns the number of items that have not been read. It is 0 for nil.
func (s *Stream) Depth() int {
	if s == nil {
		return 0
	}
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return len(s.queue)
}

// Next waits for the next item. It returns io.EOF after the last item, the [*abi.Error] of a failed operation, or the
// cause of ctx.
func (s *Stream) Next(ctx context.Context) (Item, error) {
	for {
		if ctx.Err() != nil {
			return Item{}, context.Cause(ctx)
		}
		item, ok, ended := s.pop()
		switch {
		case ok && item.Flags&abi.FlagError != 0:
			return Item{}, errorOf(item.Data)
		case ok:
			return item, nil
		case ended:
			return Item{}, io.EOF
		}
		select {
		case <-s.alerted:
		case <-ctx.Done():
		}
	}
}

func (s *Stream) pop() (item Item, ok, ended bool) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	if len(s.queue) == 0 {
		return Item{}, false, s.ended
	}
	item = s.queue[0]
	s.queue[0] = Item{}
	s.queue = s.queue[1:]
	return item, true, s.ended
}

// Close discards the items that have not been read. It reports whether the operation is still in progress, so that the
// caller cancels it.
func (s *Stream) Close() (inProgress bool) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	inProgress = !s.ended
	s.queue, s.ended = nil, true
	delete(s.table.streams, s.id)
	return inProgress
}

// errorOf returns the error of an item.
func errorOf(data []byte) error {
	e := new(abi.Error)
	if err := wire.UnmarshalJSON(data, e); err != nil || e.Code >= 0 {
		return &abi.Error{Code: abi.Internal, Message: "the host sent an error that is not valid"}
	}
	return e
}
