// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/kube-go/sdk/core/abi"
)

// addImports adds the functions of [abi.Module] to a runtime.
func addImports(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.Module)
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	add := func(name string, f func(context.Context, *instance, []uint64), params, results []api.ValueType) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(
			func(ctx context.Context, _ api.Module, stack []uint64) { f(ctx, instanceOf(ctx), stack) },
		), params, results).Export(name)
	}
	add(abi.Submit, submit, []api.ValueType{i32, i32, i32, i64}, []api.ValueType{i64})
	add(abi.Cancel, cancel, []api.ValueType{i64}, nil)
	add(abi.Call, call, []api.ValueType{i32, i32, i32, i32, i32}, []api.ValueType{i64})
	add(abi.Fetch, fetch, []api.ValueType{i32, i32}, []api.ValueType{i64})
	add(abi.Log, logRecord, []api.ValueType{i32, i32, i32}, nil)
	_, err := b.Instantiate(ctx)
	return err
}

// result returns a code as the result of an import.
func result(code abi.Code) uint64 { return uint64(int64(code)) }

// read returns a message of the guest, which is valid until the guest runs again.
func (i *instance) read(ptr, size uint64) ([]byte, error) {
	if uint32(size) > abi.MaxMessage {
		return nil, abi.TooLarge
	}
	data, ok := i.body.Memory().Read(uint32(ptr), uint32(size))
	if !ok {
		return nil, abi.BadPointer
	}
	return data, nil
}

func submit(_ context.Context, i *instance, stack []uint64) {
	kind, deadline := abi.Operation(int32(stack[0])), int64(stack[3])
	message, err := i.read(stack[1], stack[2])
	i.tape.output(frameSubmit, fmt.Appendf(nil, "%d %d %s", kind, deadline, message))
	answer := i.tape.input(frameID, func() []byte {
		var id int64
		if err == nil {
			id, err = i.submit(kind, message, deadline)
		}
		if err != nil {
			id = int64(codeOf(err))
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(id))
	})
	stack[0] = number(answer)
}

// millis returns a duration that a guest has chosen. It is at most a century.
func millis(n int64) time.Duration {
	const century = 100 * 365 * 24 * time.Hour
	return time.Duration(min(n, int64(century/time.Millisecond))) * time.Millisecond
}

// number returns the number at the beginning of a result.
func number(answer []byte) uint64 {
	if len(answer) < 8 {
		panic(errDiverged)
	}
	return binary.LittleEndian.Uint64(answer)
}

func cancel(_ context.Context, i *instance, stack []uint64) {
	i.tape.output(frameCancel, fmt.Appendf(nil, "%d", int64(stack[0])))
	i.cancel(int64(stack[0]))
}

// submit starts an operation. The deadline is in milliseconds from now; 0 means no deadline.
func (i *instance) submit(kind abi.Operation, message []byte, deadline int64) (int64, error) {
	limits := &i.guest.module.Limits
	switch {
	case !i.open:
		return 0, abi.NotReady
	case i.guest.description.Profile != abi.ProfileActor || deadline < 0:
		return 0, abi.Invalid
	case len(i.operations) >= limits.InFlight, kind == abi.OpWatch && i.watching >= limits.Watches:
		return 0, abi.OverLimit
	}
	op := &operation{id: i.last + 1, instance: i, cost: costOf(kind) + int64(len(message)), space: make(chan struct{}, 1)}
	if !i.guest.budget.reserve(op.cost) {
		return 0, abi.OverLimit
	}
	ctx, cancel := context.WithCancelCause(i.ctx)
	if i.guest.trial != nil {
		deadline = 0 // the recording has the error
	}
	if deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, millis(deadline))
		context.AfterFunc(ctx, stop)
	}
	op.ctx, op.cancel = ctx, cancel
	if err := op.start(kind, message); err != nil {
		cancel(err)
		i.guest.budget.free(op.cost)
		return 0, err
	}
	i.last++
	i.operations[op.id] = op
	if op.watch != nil {
		i.watching++
	}
	if deadline > 0 { // the producer of items may not notice it
		context.AfterFunc(ctx, func() {
			if context.Cause(ctx) == context.DeadlineExceeded {
				op.fail(abi.DeadlineExceeded)
			}
		})
	}
	return op.id, nil
}

// costOf returns the memory that an operation needs, apart from its message and its items.
func costOf(kind abi.Operation) int64 {
	switch kind {
	case abi.OpRequest, abi.OpHTTP:
		return requestCost
	case abi.OpWatch:
		return watchCost
	default:
		return delayCost
	}
}

// cancel ends an operation, if it exists.
func (i *instance) cancel(id int64) {
	if op := i.operations[id]; op != nil {
		i.forget(op)
		op.cancel(context.Canceled)
		op.drop()
	}
}

func call(ctx context.Context, i *instance, stack []uint64) {
	out, size := stack[3], stack[4]
	i.kept = nil
	kind := abi.Operation(int32(stack[0]))
	message, err := i.read(stack[1], stack[2])
	i.tape.output(frameCall, fmt.Appendf(nil, "%d %s", kind, message))
	answer := i.tape.input(frameAnswer, func() []byte {
		var data []byte
		if err == nil {
			data, err = i.call(ctx, kind, message)
		}
		if err == nil && len(data) > abi.MaxMessage {
			err = abi.TooLarge
		}
		if err != nil {
			return binary.LittleEndian.AppendUint64(nil, uint64(codeOf(err)))
		}
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), data...)
	})
	stack[0] = number(answer)
	if int64(stack[0]) <= 0 {
		return
	}
	answer = answer[8:]
	switch {
	case len(answer) > int(uint32(size)):
		i.kept = answer
	case !i.body.Memory().Write(uint32(out), answer):
		stack[0] = result(abi.BadPointer)
	}
}

// call performs an operation.
func (i *instance) call(ctx context.Context, kind abi.Operation, message []byte) ([]byte, error) {
	switch {
	case !i.open:
		return nil, abi.NotReady
	case i.guest.trial != nil:
		return i.guest.trial.called(kind, message)
	case kind == abi.OpGet:
		return i.get(message)
	case kind == abi.OpList:
		return i.list(ctx, message)
	case kind == abi.OpRequest, kind == abi.OpHTTP:
		return i.roundTrip(ctx, kind, message)
	}
	return nil, abi.UnknownOperation // the other operations can only be submitted
}

func fetch(_ context.Context, i *instance, stack []uint64) {
	switch {
	case i.kept == nil:
		stack[0] = result(abi.NotFound)
	case len(i.kept) > int(uint32(stack[1])):
		stack[0] = result(abi.TooLarge)
	case !i.body.Memory().Write(uint32(stack[0]), i.kept):
		stack[0] = result(abi.BadPointer)
	default:
		stack[0] = uint64(len(i.kept))
	}
}

// logBytes is the maximum size of a log record; the rest is cut off.
const logBytes = 16 << 10

func logRecord(_ context.Context, i *instance, stack []uint64) {
	data, ok := i.body.Memory().Read(uint32(stack[1]), min(uint32(stack[2]), logBytes))
	if ok {
		i.log(slog.Level(int32(stack[0])), data)
	}
}
