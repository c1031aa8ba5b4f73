// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// instance is a running guest. Its methods are called by the turns of the guest, one after another, and by the imports
// that the guest calls meanwhile.
type instance struct {
	guest *guest
	body  *image.Instance // nil while the instance is unloaded
	image *image.Image    // that the instance was started from; nil if it can't be unloaded
	store *os.File        // of an unloaded instance
	path  string          // of store; empty if the file has no name
	ctx   context.Context //nolint:containedctx // the life of the instance, and its value for the imports
	stop  context.CancelCauseFunc

	keep time.Time // before which the instance is not unloaded, because its memory could not be stored
	used time.Time // when the guest last had something to do, see touch; used by turns

	open       bool  // the program was started: it may use operations
	last       int64 // the last id
	watching   int   // operations that are watches
	operations map[int64]*operation
	counted    counted
	wrote      atomic.Int64 // when the last request that is not a read has begun or ended, in Unix nanoseconds
	kept       []byte       // a result that did not fit into a buffer of the guest
	next       time.Time    // when the next timer of the guest is due; zero for never
	stalled    bool         // poll_oneoff has reported the stall descriptor, and it was not read yet
	output     []byte       // an incomplete line of the standard output
	seat       seat
	clock      *stopwatch
	slept      time.Duration // by poll_oneoff in the current call
	tape       *tape         // nil unless the instance is recorded or replayed
}

// instanceKey is the key of the instance in the contexts of its calls.
type instanceKey struct{}

// instanceOf returns the instance that calls an import.
func instanceOf(ctx context.Context) *instance { return ctx.Value(instanceKey{}).(*instance) }

// errTimeLimit is why a call of a guest is interrupted.
var errTimeLimit = errors.New("the guest did not return within the time limit of a call (Limits.CallTimeout)")

// invoke calls an export. An error means that the instance must not be used any more.
func (i *instance) invoke(name string, args ...uint64) (uint64, error) {
	results, err := i.limited(name, func(ctx context.Context) ([]uint64, error) { return i.body.Call(ctx, name, args...) })
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// limited runs the guest for at most the time of a call.
func (i *instance) limited(name string, run func(context.Context) ([]uint64, error)) ([]uint64, error) {
	ctx, cancel := context.WithCancelCause(i.ctx)
	defer cancel(nil)
	i.clock = startStopwatch(i.guest.module.Limits.CallTimeout, func() { cancel(errTimeLimit) })
	i.slept = 0
	i.seat.begin()
	results, err := run(ctx)
	i.clock.pause()
	i.seat.end()
	took := i.guest.module.Limits.CallTimeout - i.clock.left
	i.guest.cpu.spend(time.Now(), took-i.slept)
	i.guest.called(i, took)
	cause := context.Cause(ctx)
	if err == nil && !errors.Is(cause, errTimeLimit) {
		return results, nil
	}
	if cause != nil { // also if the guest has returned after the limit, which has ended its wait
		return nil, fmt.Errorf("%s: %w", name, cause)
	}
	if errors.Is(err, errDiverged) {
		return nil, err
	}
	if IsHostError(err) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	reason, _, _ := strings.Cut(err.Error(), "\n") // a stack of functions without names follows
	return nil, fmt.Errorf("%s: %s", name, reason)
}

// pass copies a message into the memory of the guest.
func (i *instance) pass(message []byte) (ptr uint64, err error) {
	switch {
	case len(message) == 0:
		return 0, nil
	case len(message) > abi.MaxMessage:
		return 0, fmt.Errorf("the message for the guest has %d bytes, more than %d", len(message), abi.MaxMessage)
	}
	ptr, err = i.invoke(abi.Alloc, uint64(len(message)))
	switch {
	case err != nil:
		return 0, err
	case uint32(ptr) == 0:
		return 0, fmt.Errorf("%s: the guest has no memory for a message of %d bytes", abi.Alloc, len(message))
	case !i.body.Memory().Write(uint32(ptr), message):
		return 0, fmt.Errorf("%s: returned %#x, which is not within the memory of the guest", abi.Alloc, uint32(ptr))
	}
	return ptr, nil
}

// export is a call of the host. Recordings contain it in JSON.
type export struct {
	Name    string    `json:"name"`
	ID      int64     `json:"id,omitempty"`      // of abi.Wake
	Flags   abi.Flags `json:"flags,omitempty"`   // of abi.Wake
	Message []byte    `json:"message,omitempty"` // of abi.Start, abi.Wake and abi.Reconcile
	Reason  int32     `json:"reason,omitempty"`  // of abi.Quiesce
}

// perform calls an export, and returns the message or the number that is its result. An error means that the instance
// must not be used any more.
func (i *instance) perform(e *export) (message []byte, code int32, err error) {
	if i.tape != nil {
		i.tape.input(frameExport, func() []byte { return marshal(e) })
	}
	message, code, err = i.act(e)
	i.tape.flush()
	return message, code, err
}

// act is perform for an export that is recorded already.
func (i *instance) act(e *export) (message []byte, code int32, err error) {
	i.open = i.open || e.Name == abi.Start || e.Name == abi.Reconcile
	var args []uint64
	switch e.Name {
	case abi.Wake, abi.Start, abi.Reconcile:
		ptr, err := i.pass(e.Message)
		if err != nil {
			return nil, 0, err
		}
		args = []uint64{ptr, uint64(len(e.Message))}
		if e.Name == abi.Wake {
			args = []uint64{uint64(e.ID), ptr, uint64(len(e.Message)), uint64(e.Flags)}
		}
	}
	if e.Name == abi.Quiesce {
		args = []uint64{uint64(uint32(e.Reason))}
	}
	result, err := i.invoke(e.Name, args...)
	if err != nil {
		return nil, 0, err
	}
	if e.Name == abi.Describe || e.Name == abi.Reconcile {
		message, err = i.result(e.Name, result)
		return message, 0, errors.Join(err, i.tape.emit(frameResult, message))
	}
	err = i.tape.emit(frameResult, binary.LittleEndian.AppendUint32(nil, uint32(result)))
	return nil, int32(uint32(result)), err
}

// result returns a copy of the message that an export has returned as pointer<<32 | length.
func (i *instance) result(name string, packed uint64) ([]byte, error) {
	ptr, size := uint32(packed>>32), uint32(packed)
	if size > abi.MaxMessage {
		return nil, fmt.Errorf("%s: the message has %d bytes, more than %d", name, size, abi.MaxMessage)
	}
	data, ok := i.body.Memory().Read(ptr, size)
	if !ok {
		return nil, fmt.Errorf("%s: the message is not within the memory of the guest", name)
	}
	return bytes.Clone(data), nil
}

// wake sends an item, and records the number of items that the guest has not read.
func (i *instance) wake(op *operation, it item) error {
	_, depth, err := i.perform(&export{Name: abi.Wake, ID: op.id, Flags: it.flags, Message: it.data})
	if err == nil && depth < 0 {
		return fmt.Errorf("%s: the guest returned the code %d (%w)", abi.Wake, depth, abi.Code(depth))
	}
	op.depth = int(depth)
	return err
}

// end ends the operations and discards the memory. The guest may have trapped: it is not called.
func (i *instance) end(cause error) {
	i.stop(cause)
	for _, op := range i.operations {
		i.forget(op)
		op.cancel(cause)
		op.drop()
	}
	if i.body != nil {
		_ = i.body.Close() // it has nothing that can fail to close
	}
	i.removeStore()
	i.guest.count(i, counted{})
	if err := i.tape.close(); err != nil {
		i.guest.logger.LogAttrs(i.ctx, slog.LevelWarn, "recording is not complete", slog.Any("err", err))
	}
}

// forget removes an operation that has ended, and what is reserved for it. Its items may still wait.
func (i *instance) forget(op *operation) {
	if i.operations[op.id] != op {
		return
	}
	delete(i.operations, op.id)
	i.guest.budget.free(op.cost)
	if op.watch != nil {
		i.watching--
	}
}

// stopwatch limits the time for which a guest runs. It stands still while the guest waits for the host.
type stopwatch struct {
	timer   *time.Timer
	left    time.Duration
	since   time.Time
	expired func()
}

func startStopwatch(limit time.Duration, expired func()) *stopwatch {
	return &stopwatch{timer: time.AfterFunc(limit, expired), left: limit, since: time.Now(), expired: expired}
}

// pause stops the time until resume is called.
func (s *stopwatch) pause() {
	s.timer.Stop()
	s.left -= time.Since(s.since)
}

func (s *stopwatch) resume() {
	s.since = time.Now()
	if s.left <= 0 {
		s.expired()
		return
	}
	s.timer.Reset(s.left)
}
