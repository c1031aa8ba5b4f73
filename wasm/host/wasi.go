// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/kube-go/sdk/core/abi"
)

// Numbers of WASI preview 1, see
// https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md.
const (
	errnoSuccess = 0
	errnoAgain   = 6
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28

	eventClock  = 0
	eventFDRead = 1

	subscriptionBytes = 48
	eventBytes        = 32
	maxSubscriptions  = 1024

	clockAbsolute   = 1
	clockRealtime   = 0
	clockMonotonic  = 1
	fdstatBytes     = 24
	fileTypeChar    = 2
	fdflagNonblock  = 4
	rightRead       = 1 << 1
	rightPollFDRead = 1 << 27
)

// addWASI adds WASI to a runtime. Guests have no files and no sockets, because their configuration has none. What
// concerns the stall descriptor and waiting is ours, see §8 of the document.
func addWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	i32 := api.ValueTypeI32
	override := func(name string, f func(context.Context, api.Memory, []uint64) uint32, params ...api.ValueType) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(
			func(ctx context.Context, mod api.Module, stack []uint64) {
				stack[0] = uint64(f(ctx, mod.Memory(), stack))
			}), params, []api.ValueType{i32}).Export(name)
	}
	override("poll_oneoff", pollOneoff, i32, i32, i32, i32)
	override("fd_read", fdRead, i32, i32, i32, i32)
	override("fd_fdstat_get", fdstatGet, i32, i32)
	override("fd_fdstat_set_flags", func(_ context.Context, _ api.Memory, stack []uint64) uint32 {
		if fd := uint32(stack[0]); fd > 2 && fd != abi.StallFD {
			return errnoBadf
		}
		return errnoSuccess
	}, i32, i32)
	override("fd_close", func(context.Context, api.Memory, []uint64) uint32 { return errnoBadf }, i32)
	_, err := b.Instantiate(ctx)
	return err
}

// fdstatGet describes the standard streams and the stall descriptor, which does not block.
func fdstatGet(_ context.Context, mem api.Memory, stack []uint64) uint32 {
	fd, out := uint32(stack[0]), uint32(stack[1])
	if fd > 2 && fd != abi.StallFD {
		return errnoBadf
	}
	var stat [fdstatBytes]byte
	stat[0] = fileTypeChar
	if fd == abi.StallFD {
		binary.LittleEndian.PutUint16(stat[2:], fdflagNonblock)
	}
	binary.LittleEndian.PutUint64(stat[8:], 1<<6|rightRead|rightPollFDRead) // 1<<6 is the right to write
	if !mem.Write(out, stat[:]) {
		return errnoFault
	}
	return errnoSuccess
}

// fdRead returns one byte from the stall descriptor after pollOneoff has reported it.
func fdRead(ctx context.Context, mem api.Memory, stack []uint64) uint32 {
	fd, iovs, n, out := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	i := instanceOf(ctx)
	switch {
	case fd != abi.StallFD:
		return errnoBadf
	case !i.stalled:
		return errnoAgain
	case n == 0:
		return errnoInval
	}
	ptr, ok1 := mem.ReadUint32Le(iovs)
	size, ok2 := mem.ReadUint32Le(iovs + 4)
	if !ok1 || !ok2 || size == 0 || !mem.WriteByte(ptr, 0) || !mem.WriteUint32Le(out, 1) {
		return errnoFault
	}
	i.stalled = false
	return errnoSuccess
}

// pollOneoff never waits if the guest has a scheduler, see §8 of the document.
func pollOneoff(ctx context.Context, mem api.Memory, stack []uint64) uint32 {
	i := instanceOf(ctx)
	in, out, n, nevents := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if n == 0 || n > maxSubscriptions {
		return errnoInval
	}
	data, ok := mem.Read(in, n*subscriptionBytes)
	if !ok {
		return errnoFault
	}
	var errno uint32 = errnoSuccess
	encoded := i.tape.input(framePoll, func() (events []byte) {
		events, errno = i.poll(ctx, data)
		return events
	})
	if errno == errnoSuccess && len(encoded)%eventBytes != 0 {
		errno = uint32(encoded[0]) // of a replay
	}
	if errno != errnoSuccess {
		return errno
	}
	for e := encoded; len(e) > 0; e = e[eventBytes:] {
		i.stalled = i.stalled || e[10] == eventFDRead
	}
	if !mem.Write(out, encoded) || !mem.WriteUint32Le(nevents, uint32(len(encoded)/eventBytes)) {
		return errnoFault
	}
	return errnoSuccess
}

// poll returns the events for the subscriptions of a guest. If there is an error, the result is its number.
func (i *instance) poll(ctx context.Context, data []byte) (encoded []byte, errno uint32) {
	poll, errno := readSubscriptions(data, time.Now())
	if errno != errnoSuccess {
		return []byte{byte(errno)}, errno
	}
	events := poll.due
	if len(events) == 0 {
		switch {
		case poll.stall != nil && !poll.opportunistic:
			i.next = poll.next
			events = append(events, *poll.stall)
		case poll.stall == nil && !poll.next.IsZero():
			i.sleep(ctx, poll.next)
			events = append(events, poll.first)
		case poll.stall == nil:
			return []byte{errnoInval}, errnoInval // it would wait for ever
		}
	}
	for _, e := range events {
		encoded = append(encoded, e[:]...)
	}
	return encoded, errnoSuccess
}

// event is an encoded event.
type event [eventBytes]byte

func newEvent(userdata []byte, kind byte) (e event) {
	copy(e[:8], userdata)
	e[10] = kind
	if kind == eventFDRead {
		e[16] = 1 // a byte can be read
	}
	return e
}

// poll is what a guest waits for.
type poll struct {
	due           []event   // clocks whose timeout has passed
	stall         *event    // the event of the stall descriptor, if the guest waits for it
	opportunistic bool      // a timeout is zero: the guest only asks
	next          time.Time // the earliest timeout; zero if there is none
	first         event     // the event of that timeout
}

// readSubscriptions decodes the subscriptions of poll_oneoff.
func readSubscriptions(data []byte, now time.Time) (p poll, errno uint32) {
	for ; len(data) >= subscriptionBytes; data = data[subscriptionBytes:] {
		sub := data[:subscriptionBytes]
		switch sub[8] {
		case eventClock:
			e := newEvent(sub[:8], eventClock)
			after := time.Duration(min(binary.LittleEndian.Uint64(sub[24:]), 1<<62))
			if binary.LittleEndian.Uint16(sub[40:])&clockAbsolute != 0 {
				after -= elapsed(binary.LittleEndian.Uint32(sub[16:]), now)
			}
			switch at := now.Add(after); {
			case after <= 0:
				p.opportunistic = true
				p.due = append(p.due, e)
			case p.next.IsZero() || at.Before(p.next):
				p.next, p.first = at, e
			}
		case eventFDRead:
			if binary.LittleEndian.Uint32(sub[16:]) != abi.StallFD {
				return p, errnoBadf
			}
			p.stall = new(newEvent(sub[:8], eventFDRead))
		default:
			return p, errnoInval
		}
	}
	if p.stall != nil && p.opportunistic {
		p.due = nil // a scheduler asks whether something can run, and expects no event of the clock
	}
	return p, errnoSuccess
}

// elapsed returns the time of a clock of WASI.
func elapsed(clock uint32, now time.Time) time.Duration {
	if clock == clockRealtime {
		return time.Duration(now.UnixNano())
	}
	return now.Sub(started)
}

// started is the zero of the monotonic clock of guests.
//
//nolint:gochecknoglobals // one clock for the process
var started = time.Now()

// sleep waits until a time, or until the time limit of the call.
func (i *instance) sleep(ctx context.Context, until time.Time) {
	i.guest.host.release()
	defer i.guest.host.acquire()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
