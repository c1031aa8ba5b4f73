// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/base64"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// newTestInstance returns an instance of smallReconciler on a host that does not run.
func newTestInstance(t *testing.T, l Limits) *instance {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: "http://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := base64.StdEncoding.DecodeString(smallReconciler)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.setDefaults(); err != nil {
		t.Fatal(err)
	}
	digest := digestOf(binary)
	g := h.newGuest(Module{Name: "a", Limits: l}, digest)
	if g.program, err = h.program(t.Context(), digest, binary); err != nil {
		t.Fatal(err)
	}
	h.acquire()
	i, err := h.newInstance(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		i.end(errRemoved)
		h.release()
		h.leave(context.Background(), digest, g.program)
		if err := h.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// TestLargestLimitsAreValid has a module for which a user wants no limits.
func TestLargestLimitsAreValid(t *testing.T) {
	i := newTestInstance(t, Limits{
		MemoryBytes: math.MaxInt64, CallTimeout: math.MaxInt64, CPU: math.MaxFloat64, InFlight: math.MaxInt,
		Watches: math.MaxInt, RequestsPerSecond: math.MaxInt, LogsPerSecond: math.MaxInt,
		BufferBytes: math.MaxInt64, CacheBytes: math.MaxInt64,
	})
	g := i.guest
	if err := g.pay(t.Context()); err != nil {
		t.Errorf("a request can't be sent: %v", err)
	}
	if !g.mayLog() {
		t.Error("a log record is dropped")
	}
	if g.budget.force(1); !g.budget.reserve(1) {
		t.Error("no memory can be reserved")
	}
	if wait := g.cpu.wait(time.Now()); wait != 0 {
		t.Errorf("a call waits for %v", wait)
	}
}

// TestGuestThatReturnsAfterTheTimeLimitHasFailed has a guest that waits in poll_oneoff until the limit ends the wait,
// and returns before the runtime notices the limit.
func TestGuestThatReturnsAfterTheTimeLimitHasFailed(t *testing.T) {
	i := newTestInstance(t, Limits{})
	returns := func(context.Context) ([]uint64, error) { return []uint64{7}, nil }
	if results, err := i.limited("kube_tick", returns); err != nil || len(results) != 1 || results[0] != 7 {
		t.Errorf("limited = %v, %v, want the result of the guest", results, err)
	}
	i.guest.module.Limits.CallTimeout = time.Millisecond
	results, err := i.limited("kube_tick", func(ctx context.Context) ([]uint64, error) {
		i.sleep(ctx, time.Now().Add(time.Hour))
		return returns(ctx)
	})
	if !errors.Is(err, errTimeLimit) || results != nil {
		t.Errorf("limited = %v, %v after the time limit, want the error %v", results, err, errTimeLimit)
	}
}

// TestWaitForOtherGuestsIsNotTimeOfTheGuest has a guest that sleeps, while other guests take all places of the host.
func TestWaitForOtherGuestsIsNotTimeOfTheGuest(t *testing.T) {
	i := newTestInstance(t, Limits{CallTimeout: time.Second})
	h := i.guest.host
	taken := make(chan struct{})
	go func() {
		for range cap(h.slots) {
			h.acquire()
		}
		close(taken)
		<-time.After(1500 * time.Millisecond)
		for range cap(h.slots) {
			h.release()
		}
	}()
	before := i.guest.stats.Running
	_, err := i.limited("kube_tick", func(ctx context.Context) ([]uint64, error) {
		i.sleep(ctx, time.Now().Add(10*time.Millisecond))
		return nil, nil
	})
	<-taken
	if took := i.guest.stats.Running - before; err != nil || took > 500*time.Millisecond {
		t.Errorf("a guest that sleeps for 10 ms has run for %v, %v", took, err)
	}
}

// TestCallWithoutMemoryIsCounted has an instance without an engine, as after a call for which the kernel has refused
// memory.
func TestCallWithoutMemoryIsCounted(t *testing.T) {
	i := newTestInstance(t, Limits{})
	body := i.body
	defer func() { i.body = body }()
	i.body = &image.Instance{}
	i.guest.called(i, time.Second)
	if s := i.guest.stats; s.Calls == 0 || s.MemoryBytes != 0 {
		t.Errorf("the stats are %+v, want a call and no memory", s)
	}
}

// TestCallsWithoutARecordingDoNotEncodeTheirMessages counts the memory that the calls of an instance take.
func TestCallsWithoutARecordingDoNotEncodeTheirMessages(t *testing.T) {
	const calls, size = 200, 100 << 10
	h, _ := newTestHost(t, "http://127.0.0.1:1", Options{})
	r := newTestReconciler(t, h, testGuest{describes: describing(podController("")), response: `{}`})
	message := make([]byte, size)
	var before, after runtime.MemStats
	for n := range calls + 1 {
		if n == 1 { // the first call has started the instance
			runtime.ReadMemStats(&before)
		}
		if _, err := r.ask(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > calls*size {
		t.Errorf("%d calls have allocated %d bytes, more than their messages have", calls, took)
	}
}
