// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
)

// maxQueued is the number of items of an operation that wait in the host, after which its producer waits.
const maxQueued = 4

// noLimit is the limit of items that must be queued.
const noLimit = math.MaxInt

// item is what the host sends to a guest at once.
type item struct {
	flags    abi.Flags
	data     []byte
	reserved int64 // in the budget of the module
	quiet    bool  // it has only the version of a watch
}

// operation is something that an instance has submitted and that has not ended.
type operation struct {
	id       int64
	instance *instance
	ctx      context.Context //nolint:containedctx // it is the life of the operation
	cancel   context.CancelCauseFunc
	watch    *watch // of OpWatch
	cost     int64  // what is reserved in the budget of the module, apart from the items

	depth   int  // items that the guest has not read; used by its turns
	pending bool // it is one of the pending operations of the guest; used by its turns

	space   chan struct{} // has one token when an item was taken
	dropped atomic.Bool   // it has no items and gets no more

	mu    sync.Mutex // guards the fields below
	items []item     // that the guest has not received
	ended bool       // the last item was queued
}

// start performs an operation.
func (op *operation) start(kind abi.Operation, message []byte) error {
	if t := op.instance.guest.trial; t != nil {
		return t.start(op, kind, message)
	}
	switch kind {
	case abi.OpRequest, abi.OpHTTP:
		return op.request(kind, bytes.Clone(message))
	case abi.OpWatch:
		return op.startWatch(message)
	case abi.OpDelay:
		return op.delay(message)
	default:
		return abi.UnknownOperation
	}
}

// send queues an item. It waits while there are too many, or while the module has no memory for it, unless some is
// reserved for it. It reports whether the operation still exists. What is reserved for the item belongs to the
// operation.
func (op *operation) send(it item) bool {
	budget, size := &op.instance.guest.budget, int64(len(it.data))
	if it.reserved > 0 {
		budget.force(size - it.reserved) // little
	} else if budget.wait(op.ctx, size) != nil {
		return false
	}
	it.reserved = size
	for !op.offer(it, maxQueued) {
		select {
		case <-op.space:
		case <-op.ctx.Done():
			budget.free(it.reserved)
			return false
		}
	}
	return op.ctx.Err() == nil
}

// put queues an item without waiting. It must be small.
func (op *operation) put(it item) {
	it.reserved = int64(len(it.data))
	op.instance.guest.budget.force(it.reserved)
	op.offer(it, noLimit)
}

// offer queues an item, whose memory is reserved, unless there are too many.
func (op *operation) offer(it item, limit int) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	switch {
	case op.ended:
		op.instance.guest.budget.free(it.reserved)
		return true
	case len(op.items) >= limit:
		return false
	}
	op.items = append(op.items, it)
	op.ended = it.flags&abi.FlagLast != 0
	op.instance.guest.ready(op)
	return true
}

// take returns the next item.
func (op *operation) take() (item, bool) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if len(op.items) == 0 {
		return item{}, false
	}
	it := op.items[0]
	op.items[0] = item{}
	op.items = op.items[1:]
	op.instance.guest.budget.free(it.reserved)
	select {
	case op.space <- struct{}{}:
	default:
	}
	return it, true
}

// drop discards the items of an operation that has ended.
func (op *operation) drop() {
	op.mu.Lock()
	defer op.mu.Unlock()
	for _, it := range op.items {
		op.instance.guest.budget.free(it.reserved)
	}
	op.items, op.ended = nil, true
	op.dropped.Store(true)
}

// waiting returns the number of items that wait.
func (op *operation) waiting() int {
	op.mu.Lock()
	defer op.mu.Unlock()
	return len(op.items)
}

// fail ends the operation with an error that the guest receives. It does not wait for space.
func (op *operation) fail(err error) {
	if cause := context.Cause(op.ctx); errors.Is(cause, context.DeadlineExceeded) {
		err = &abi.Error{Code: abi.DeadlineExceeded, Message: "the deadline of the operation has passed"}
	}
	if op.watch != nil {
		op.watch.revoke(err)
	}
	op.put(item{flags: abi.FlagLast | abi.FlagError, data: marshal(messageOf(err))})
}

// messageOf returns an error as a guest receives it.
func messageOf(err error) *abi.Error {
	if e, ok := errors.AsType[*abi.Error](err); ok {
		return e
	}
	return &abi.Error{Code: codeOf(err), Message: err.Error()}
}

// codeOf returns the code of an error.
func codeOf(err error) abi.Code {
	if code, ok := errors.AsType[abi.Code](err); ok {
		return code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return abi.DeadlineExceeded
	}
	return abi.Internal
}

// marshal encodes a message of the interface, whose types can always be encoded.
func marshal(message any) []byte {
	data, err := wire.MarshalJSON(message)
	if err != nil {
		panic(err)
	}
	return data
}

// delay ends an operation after a time.
func (op *operation) delay(message []byte) error {
	var d abi.Delay
	if err := wire.UnmarshalJSON(message, &d); err != nil {
		return abi.Invalid
	}
	timer := time.AfterFunc(millis(d.Millis), func() { op.put(item{flags: abi.FlagLast}) })
	context.AfterFunc(op.ctx, func() { timer.Stop() })
	return nil
}
