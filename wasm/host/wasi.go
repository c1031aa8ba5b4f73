// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
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
	errnoNosys   = 52

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

// own are the names of the functions of wazero that guests have. They have bounds, and use nothing but the arguments
// and the environment.
func own() []string {
	return []string{
		"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "proc_exit", "sched_yield",
	}
}

// hostFunction is a function of WASI that is ours, by the types of its parameters: i for i32, I for i64.
type hostFunction struct {
	params string
	call   func(context.Context, api.Memory, []uint64) uint32 // nil if the function only returns an error number
}

// functions are the functions of WASI that are ours, by name. Guests have no files and no sockets. What concerns the
// stall descriptor and waiting is in §8 of the document.
func functions() map[string]hostFunction {
	all := map[string]hostFunction{
		"clock_res_get":       {"ii", clockResGet},
		"clock_time_get":      {"iIi", clockTimeGet},
		"poll_oneoff":         {"iiii", pollOneoff},
		"random_get":          {"ii", randomGet},
		"fd_write":            {"iiii", fdWrite},
		"fd_read":             {"iiii", fdRead},
		"fd_fdstat_get":       {"ii", fdstatGet},
		"fd_fdstat_set_flags": {"ii", fdstatSetFlags},
	}
	for name, params := range map[string]string{
		"fd_advise": "iIIi", "fd_allocate": "iII", "fd_close": "i", "fd_datasync": "i", "fd_fdstat_set_rights": "iII",
		"fd_filestat_get": "ii", "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_pread": "iiiIi",
		"fd_prestat_dir_name": "iii", "fd_prestat_get": "ii", "fd_pwrite": "iiiIi", "fd_readdir": "iiiIi",
		"fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i", "fd_tell": "ii", "path_create_directory": "iii", "path_filestat_get": "iiiii",
		"path_filestat_set_times": "iiiiIIi", "path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii",
		"path_remove_directory": "iii", "path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
		"proc_raise": "i", "sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
	} {
		all[name] = hostFunction{params: params}
	}
	return all
}

// wasiNames returns the names of all functions of WASI that a guest may import.
func wasiNames() []string { return slices.AppendSeq(own(), maps.Keys(functions())) }

// addWASI adds WASI to a runtime.
func addWASI(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasi_snapshot_preview1.ModuleName)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	types := map[rune]api.ValueType{'i': api.ValueTypeI32, 'I': api.ValueTypeI64}
	for name, f := range functions() {
		var params []api.ValueType
		for _, p := range f.params {
			params = append(params, types[p])
		}
		call := f.call
		if call == nil {
			call = unavailable(name)
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(
			func(ctx context.Context, mod api.Module, stack []uint64) {
				stack[0] = uint64(call(ctx, mod.Memory(), stack))
			}), params, []api.ValueType{api.ValueTypeI32}).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// unavailable returns a function that returns EBADF, or ENOSYS if it does not concern a descriptor.
func unavailable(name string) func(context.Context, api.Memory, []uint64) uint32 {
	errno := uint32(errnoBadf)
	if strings.HasPrefix(name, "proc_") {
		errno = errnoNosys
	}
	return func(context.Context, api.Memory, []uint64) uint32 { return errno }
}

// fdstatSetFlags accepts flags, which have no effect.
func fdstatSetFlags(_ context.Context, _ api.Memory, stack []uint64) uint32 {
	if fd := uint32(stack[0]); fd > 2 && fd != abi.StallFD {
		return errnoBadf
	}
	return errnoSuccess
}

// The maximums of one call, so that it does not take long. A longer text is written in part.
const (
	writeBytes   = 64 << 10
	writeVectors = 1024
)

// fdWrite writes to the log.
func fdWrite(ctx context.Context, mem api.Memory, stack []uint64) uint32 {
	fd, iovs, n, out := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if fd != 1 && fd != 2 {
		return errnoBadf
	}
	vectors, ok := mem.Read(iovs, 8*min(n, writeVectors))
	if !ok {
		return errnoFault
	}
	i, written := instanceOf(ctx), uint32(0)
	for ; len(vectors) > 0 && written < writeBytes; vectors = vectors[8:] {
		size := min(binary.LittleEndian.Uint32(vectors[4:]), writeBytes-written)
		text, ok := mem.Read(binary.LittleEndian.Uint32(vectors), size)
		if !ok {
			return errnoFault
		}
		i.print(text)
		written += size
	}
	if !mem.WriteUint32Le(out, written) {
		return errnoFault
	}
	return errnoSuccess
}

// clockResGet returns a nanosecond.
func clockResGet(_ context.Context, mem api.Memory, stack []uint64) uint32 {
	if uint32(stack[0]) > clockMonotonic {
		return errnoInval
	}
	if !mem.WriteUint64Le(uint32(stack[1]), 1) {
		return errnoFault
	}
	return errnoSuccess
}

// clockTimeGet returns the time of a clock.
func clockTimeGet(ctx context.Context, mem api.Memory, stack []uint64) uint32 {
	clock, i := uint32(stack[0]), instanceOf(ctx)
	if clock > clockMonotonic {
		return errnoInval
	}
	now := i.tape.clock(func() int64 { return int64(i.elapsed(clock, i.time())) })
	if !mem.WriteUint64Le(uint32(stack[2]), uint64(now)) {
		return errnoFault
	}
	return errnoSuccess
}

// randomGet fills memory with random bytes, in pieces, so that the time limit ends it.
func randomGet(ctx context.Context, mem api.Memory, stack []uint64) uint32 {
	const piece = 64 << 10
	ptr, size := uint32(stack[0]), uint32(stack[1])
	if _, ok := mem.Read(ptr, size); !ok {
		return errnoFault
	}
	i := instanceOf(ctx)
	for size > 0 && ctx.Err() == nil {
		n := min(size, piece)
		data := i.tape.input(frameRandom, func() []byte {
			b := make([]byte, n)
			i.random(b)
			return b
		})
		mem.Write(ptr, data[:min(len(data), int(n))])
		ptr, size = ptr+n, size-n
	}
	return errnoSuccess
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
	poll, errno := i.readSubscriptions(data, i.time())
	if errno != errnoSuccess {
		return []byte{byte(errno)}, errno
	}
	events := poll.due
	if len(events) == 0 {
		switch {
		case poll.stall != nil:
			i.next = poll.next
			events = append(events, *poll.stall)
		case poll.stall == nil && !poll.next.IsZero():
			i.sleep(ctx, poll.next)
			events = append(events, poll.first)
		case poll.stall == nil:
			return []byte{errnoInval}, errnoInval // it would wait forever
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
	due   []event   // clocks whose timeout has passed
	stall *event    // the event of the stall descriptor, if the guest waits for it
	next  time.Time // the earliest timeout; zero if the guest waits for no clock
	first event     // the event of that timeout
}

// readSubscriptions decodes the subscriptions of poll_oneoff.
func (i *instance) readSubscriptions(data []byte, now time.Time) (p poll, errno uint32) {
	for ; len(data) >= subscriptionBytes; data = data[subscriptionBytes:] {
		sub := data[:subscriptionBytes]
		switch sub[8] {
		case eventClock:
			e := newEvent(sub[:8], eventClock)
			after := time.Duration(min(binary.LittleEndian.Uint64(sub[24:]), 1<<62))
			if binary.LittleEndian.Uint16(sub[40:])&clockAbsolute != 0 {
				after -= i.elapsed(binary.LittleEndian.Uint32(sub[16:]), now)
			}
			switch at := now.Add(after); {
			case after <= 0:
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
	return p, errnoSuccess
}

// elapsed returns the time of a clock of WASI.
func (i *instance) elapsed(clock uint32, now time.Time) time.Duration {
	switch t := i.guest.trial; {
	case clock == clockRealtime:
		return time.Duration(now.UnixNano())
	case t != nil:
		return now.Sub(t.zero)
	}
	return now.Sub(started)
}

// time returns the time of the guest.
func (i *instance) time() time.Time {
	if t := i.guest.trial; t != nil {
		return t.clock()
	}
	return time.Now()
}

// random fills b with random bytes.
func (i *instance) random(b []byte) {
	if t := i.guest.trial; t != nil {
		_, _ = t.random.Read(b) // it never fails
		return
	}
	_, _ = rand.Read(b) // it never fails
}

// started is the zero of the monotonic clock of guests.
//
//nolint:gochecknoglobals // one clock for the process
var started = time.Now()

// sleep waits until a time, or until the time limit of the call.
func (i *instance) sleep(ctx context.Context, until time.Time) {
	if t := i.guest.trial; t != nil {
		t.sleep(until)
		return
	}
	i.seat.leave()
	begun := time.Now()
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	i.slept += time.Since(begun)
	i.clock.pause() // while other guests run
	defer i.clock.resume()
	i.seat.back()
}
