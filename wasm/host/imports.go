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
	kind, deadline := abi.Operation(int32(stack[0])), time.Duration(int64(stack[3]))*time.Millisecond
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

// submit starts an operation.
func (i *instance) submit(kind abi.Operation, message []byte, deadline time.Duration) (int64, error) {
	switch {
	case i.guest.description.Profile != abi.ProfileActor || deadline < 0:
		return 0, abi.Invalid
	case len(i.operations) >= i.guest.module.Limits.InFlight:
		return 0, abi.OverLimit
	}
	op := &operation{id: i.last + 1, instance: i, space: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancelCause(i.ctx)
	if deadline > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, deadline)
		context.AfterFunc(ctx, stop)
	}
	op.ctx, op.cancel = ctx, cancel
	var err error
	switch kind {
	case abi.OpRequest, abi.OpHTTP:
		err = op.request(kind, append([]byte(nil), message...))
	case abi.OpWatch:
		err = op.startWatch(message)
	case abi.OpDelay:
		err = op.delay(message)
	default:
		err = abi.UnknownOperation
	}
	if err != nil {
		cancel(err)
		return 0, err
	}
	i.last++
	i.operations[op.id] = op
	if deadline > 0 { // the producer of items may not notice it
		context.AfterFunc(ctx, func() {
			if context.Cause(ctx) == context.DeadlineExceeded {
				op.fail(abi.DeadlineExceeded)
			}
		})
	}
	return op.id, nil
}

// cancel ends an operation, if it exists.
func (i *instance) cancel(id int64) {
	if op := i.operations[id]; op != nil {
		delete(i.operations, id)
		op.cancel(context.Canceled)
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
	switch kind {
	case abi.OpGet:
		return i.get(message)
	case abi.OpList:
		return i.list(message)
	case abi.OpWatch, abi.OpDelay: // they can only be submitted
	case abi.OpRequest, abi.OpHTTP:
		message = append([]byte(nil), message...) // the guest does not run, but the memory may be unmapped at its end
		i.clock.pause()
		i.guest.host.release()
		defer i.clock.resume()
		defer i.guest.host.acquire()
		return i.roundTrip(ctx, kind, message)
	}
	return nil, abi.UnknownOperation
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
