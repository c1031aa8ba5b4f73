// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// testActor is an actor, which a test encodes as a module. Its kube_start waits for a clock and for the stall
// descriptor. Its other exports do nothing, and kube_quiesce agrees.
type testActor struct{ timeout time.Duration }

// encode returns the module.
func (g testActor) encode() []byte {
	const (
		i32, i64, end                                   = 0x7f, 0x7e, 0x0b
		describesAt, pollsAt, eventsAt, countAt, allocs = 1024, 2048, 3072, 3584, 4096
		describes                                       = `{"abi":"kube_v1","profile":"actor"}`
	)
	number := func(n int64) []byte { return append([]byte{0x41}, wasmtest.Signed(n)...) }
	message := append([]byte{0x42}, wasmtest.Signed(describesAt<<32|int64(len(describes)))...)
	waits := slices.Concat(number(pollsAt), number(eventsAt), number(2), number(countAt), []byte{0x10, 0})
	segment := func(at int64, content []byte) []byte {
		return slices.Concat([]byte{0}, number(at), []byte{end}, wasmtest.Sized(content))
	}
	polls := make([]byte, 2*subscriptionBytes)
	polls[16] = clockMonotonic
	binary.LittleEndian.PutUint64(polls[24:], uint64(g.timeout))
	polls[subscriptionBytes+8], polls[subscriptionBytes+16] = eventFDRead, abi.StallFD
	function := func(in, out []byte) []byte {
		return slices.Concat([]byte{0x60}, wasmtest.Sized(in), wasmtest.Sized(out))
	}
	types := [][]byte{function([]byte{i32, i32, i32, i32}, []byte{i32})}
	exports := [][]byte{append(wasmtest.Sized([]byte("memory")), 2, 0)}
	var functions, codes [][]byte
	for _, f := range []struct {
		name          string
		in, out, code []byte
	}{
		{"_initialize", nil, nil, nil},
		{abi.Describe, nil, []byte{i64}, message},
		{abi.Alloc, []byte{i32}, []byte{i32}, number(allocs)},
		{abi.Start, []byte{i32, i32}, []byte{i32}, waits},
		{abi.Wake, []byte{i64, i32, i32, i32}, []byte{i32}, number(0)},
		{abi.Tick, nil, nil, nil},
		{abi.Quiesce, []byte{i32}, []byte{i32}, number(0)},
	} {
		n := byte(len(types)) // of the type and of the function: the import and its type are the first ones
		types = append(types, function(f.in, f.out))
		functions = append(functions, []byte{n})
		exports = append(exports, append(wasmtest.Sized([]byte(f.name)), 0, n))
		codes = append(codes, wasmtest.Sized(slices.Concat([]byte{0}, f.code, []byte{end})))
	}
	from, name := wasmtest.Sized([]byte("wasi_snapshot_preview1")), wasmtest.Sized([]byte("poll_oneoff"))
	poll := slices.Concat(from, name, []byte{0, 0})
	return wasmtest.Module([][]byte{
		1: wasmtest.Vector(types...), 2: wasmtest.Vector(poll), 3: wasmtest.Vector(functions...), 5: {1, 0, 1},
		7: wasmtest.Vector(exports...), 10: wasmtest.Vector(codes...),
		11: wasmtest.Vector(segment(describesAt, []byte(describes)), segment(pollsAt, polls)),
	})
}

// TestTimerIsDueOnce has a guest that does not poll again in kube_tick.
func TestTimerIsDueOnce(t *testing.T) {
	h, _ := runTestHost(t, "http://127.0.0.1:1", Options{})
	setGuest(t, h, Module{Name: "a", Binary: testActor{timeout: time.Millisecond}.encode()})
	const calls = 5 // of _initialize, kube_describe, kube_alloc, kube_start and kube_tick
	await(t, "the timer", func() bool { return statusOf(h, "a").Stats.Calls >= calls })
	for range 10 {
		<-time.After(10 * time.Millisecond)
		if s := statusOf(h, "a"); s.Stats.Calls != calls {
			t.Fatalf("the guest was called %d times, want %d; the status is %+v", s.Stats.Calls, calls, s)
		}
	}
}

// TestUnloadedGuestIsAskedToEnd has a guest that is removed while its memory is stored.
func TestUnloadedGuestIsAskedToEnd(t *testing.T) {
	h, _ := runTestHost(t, "http://127.0.0.1:1", Options{IdleAfter: time.Millisecond})
	setGuest(t, h, Module{Name: "a", Binary: testActor{timeout: time.Hour}.encode()})
	await(t, "the phase Unloaded", func() bool { return statusOf(h, "a").Phase == Unloaded })
	h.mu.Lock()
	g := h.guests["a"]
	h.mu.Unlock()
	before := g.status().Stats.Calls
	h.Remove(t.Context(), "a")
	if n := g.status().Stats.Calls; n != before+1 {
		t.Errorf("the guest was called %d times at its end, want a call of %s", n-before, abi.Quiesce)
	}
}
