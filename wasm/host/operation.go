// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"math"
	"sync"
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
	flags abi.Flags
	data  []byte
}

// operation is something that an instance has submitted and that has not ended.
type operation struct {
	id       int64
	instance *instance
	ctx      context.Context //nolint:containedctx // it is the life of the operation
	cancel   context.CancelCauseFunc
	watch    *watch // of OpWatch
	cost     int64  // what is reserved in the budget of the module, apart from the items

	depth int           // items that the guest has not read; used by its turns
	space chan struct{} // has one token when an item was taken

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
		return op.request(kind, append([]byte(nil), message...))
	case abi.OpWatch:
		return op.startWatch(message)
	case abi.OpDelay:
		return op.delay(message)
	default:
		return abi.UnknownOperation
	}
}

// send queues an item. It waits while there are too many, and reports whether the operation still exists.
func (op *operation) send(it item) bool {
	for !op.offer(it, maxQueued) {
		select {
		case <-op.space:
		case <-op.ctx.Done():
			return false
		}
	}
	return op.ctx.Err() == nil
}

// offer queues an item unless there are too many, or the module has no memory for another one.
func (op *operation) offer(it item, limit int) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	size, budget := int64(len(it.data)), &op.instance.guest.budget
	switch {
	case op.ended:
		return true
	case len(op.items) >= limit:
		return false
	case len(op.items) == 0 || limit == noLimit: // each operation makes progress
		budget.force(size)
	case !budget.reserve(size):
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
	op.instance.guest.budget.free(int64(len(it.data)))
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
		op.instance.guest.budget.free(int64(len(it.data)))
	}
	op.items, op.ended = nil, true
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
	op.offer(item{abi.FlagLast | abi.FlagError, marshal(messageOf(err))}, noLimit)
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
	timer := time.AfterFunc(millis(d.Millis), func() { op.offer(item{flags: abi.FlagLast}, 1) })
	context.AfterFunc(op.ctx, func() { timer.Stop() })
	return nil
}
