// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// newShared returns a guest whose instances share engines, or skips the test.
func newShared(t *testing.T) *guest {
	t.Helper()
	m, ok := platform.(mover)
	if !ok || !m.moves() {
		t.Skip("this system does not move memories")
	}
	g := newGuest(t, platform)
	if g.program.mover == nil {
		t.Fatal("the instances of a program in Go do not share engines")
	}
	return g
}

// evictAll takes the engines of all parked instances.
func (img *Image) evictAll() {
	img.mu.Lock()
	defer img.mu.Unlock()
	for len(img.parked) > 0 {
		if e := img.evict(func(*engine) bool { return true }); e != nil {
			img.keepEngine(e)
		}
	}
}

func TestParkedInstancesShareEngines(t *testing.T) {
	g := newShared(t)
	var all []*Instance
	for range runtime.GOMAXPROCS(0) {
		all = append(all, g.start())
	}
	for n, i := range all {
		g.call(i, "add", uint64(100*n))
		i.Park()
		i.Park()
	}
	first := all[0].engine
	b := g.start()
	if b.engine != first || all[0].engine != nil {
		t.Error("a new instance does not have the engine of the one that was parked first")
	}
	g.call(b, "add", 10)
	b.Park()
	for n := range int64(5) {
		if got := g.call(all[0], "add", 1); got != 1+n {
			t.Errorf("the first instance has the total %d, want %d", got, 1+n)
		}
		all[0].Park()
		if got := g.call(b, "add", 1); got != 11+n {
			t.Errorf("the last instance has the total %d, want %d", got, 11+n)
		}
		b.Park()
		g.image.evictAll()
	}
	if n := len(g.image.engines); n != runtime.GOMAXPROCS(0) {
		t.Errorf("%d engines are free, want one for each CPU", n)
	}
}

// TestInstanceThatIsUsedKeepsItsEngine is about an instance that was parked before.
func TestInstanceThatIsUsedKeepsItsEngine(t *testing.T) {
	g := newShared(t)
	i := g.start()
	for name, use := range map[string]func(){
		"Call":     func() { g.call(i, "add", 1) },
		"Snapshot": func() { _ = i.Snapshot(new(bytes.Buffer)) },
		"Image": func() {
			img, err := i.Image()
			if err != nil {
				t.Fatal(err)
			}
			img.Close()
		},
	} {
		i.Park()
		use()
		g.image.evictAll()
		if i.engine == nil {
			t.Errorf("%s: the engine was taken", name)
		}
	}
}

// TestParkedInstanceCanBeStored needs no engine for a snapshot.
func TestParkedInstanceCanBeStored(t *testing.T) {
	g := newShared(t)
	i := g.start()
	g.call(i, "keep", 9*mebibyte, 3)
	sum := g.call(i, "sum")
	i.Park()
	g.image.evictAll()
	i = g.restore(g.snapshot(i))
	i.Park()
	g.image.evictAll()
	if got := g.call(i, "sum"); got != sum {
		t.Errorf("the heap has the sum %d, want %d", got, sum)
	}
}

func TestEngineIsNotUsedForASmallerMemory(t *testing.T) {
	g := newShared(t)
	large := g.start()
	g.call(large, "keep", 9*mebibyte, 3)
	size := large.Memory().Size()
	large.Park()
	g.image.evictAll()
	small := g.start()
	if got := int64(small.Memory().Size()); got != g.image.size {
		t.Errorf("an instance from the image has %d bytes, want %d", got, g.image.size)
	}
	small.Park()
	g.image.evictAll()
	g.call(large, "sum")
	if got := large.Memory().Size(); got != size {
		t.Errorf("the large instance has %d bytes, want %d", got, size)
	}
}

func TestEngineOfAFailedInstanceIsNotShared(t *testing.T) {
	g := newShared(t)
	for name, fail := range map[string]func(*Instance){
		"trap": func(i *Instance) {
			if _, err := i.Call(t.Context(), "fail"); err == nil {
				t.Error("a panic is not an error")
			}
		},
		"trap after Close": func(i *Instance) {
			i.calls++ // as during a call
			_ = i.Close()
			i.exit(t.Context(), errors.New("as asked"))
		},
		"end of the context": func(i *Instance) {
			ctx, cancel := context.WithCancel(t.Context())
			i.calls++
			cancel()
			i.exit(ctx, nil) // the call has returned before wazero has noticed
		},
	} {
		i := g.start()
		used := i.engine
		fail(i)
		i.Park()
		_ = i.Close()
		for _, e := range g.image.engines {
			if e == used {
				t.Errorf("%s: the engine is free", name)
			}
		}
	}
}

// TestCallAfterTheEndOfAContextHasAnotherEngine is about the moment in which wazero closes a module although its
// function has returned.
func TestCallAfterTheEndOfAContextHasAnotherEngine(t *testing.T) {
	g := newShared(t)
	i := g.start()
	g.call(i, "add", 1)
	ctx, cancel := context.WithCancel(t.Context())
	i.calls++
	cancel()
	_ = i.engine.module.Close(t.Context())
	i.exit(ctx, nil)
	if got := g.call(i, "add", 1); got != 2 {
		t.Errorf("the total is %d, want 2", got)
	}
}

func TestFreeEnginesAreLimitedAndClosedWithTheImage(t *testing.T) {
	g := newShared(t)
	var all []*Instance
	for range runtime.GOMAXPROCS(0) + 3 {
		all = append(all, g.start())
	}
	for _, i := range all {
		i.Park()
	}
	if n := len(g.image.parked); n != runtime.GOMAXPROCS(0) {
		t.Errorf("%d parked instances have engines, want %d", n, runtime.GOMAXPROCS(0))
	}
	g.image.evictAll()
	if n := len(g.image.engines); n != runtime.GOMAXPROCS(0) {
		t.Errorf("%d free engines, want %d", n, runtime.GOMAXPROCS(0))
	}
	free := g.image.engines[0]
	for _, i := range all {
		g.call(i, "add", 1)
		_ = i.Close()
	}
	g.image.Close()
	if len(g.image.engines) != 0 || !free.module.IsClosed() {
		t.Error("an engine is open after the image was closed")
	}
}

func TestMemoryThatCanNotBeMovedFailsTheInstance(t *testing.T) {
	g := newShared(t)
	i := g.start()
	g.program.mover = immovable{g.program.mover}
	i.Park()
	g.image.evictAll()
	if _, err := i.Call(t.Context(), "add", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Call: %v", err)
	}
	if err := i.Close(); err != nil || len(g.image.engines) != 0 {
		t.Errorf("Close: %v, and %d engines are free", err, len(g.image.engines))
	}
	if _, err := g.image.Start(t.Context(), g.config()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Start: %v", err)
	}
}

// TestMemoryThatCanNotComeBackFailsTheInstance is about an instance that has lost its engine: a part of its memory may
// be lost, too, so that it must not be tried again.
func TestMemoryThatCanNotComeBackFailsTheInstance(t *testing.T) {
	g := newShared(t)
	i, works := g.start(), g.program.mover
	i.Park()
	g.image.evictAll()
	g.program.mover = immovable{works}
	if _, err := i.Call(t.Context(), "add", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Call: %v", err)
	}
	g.program.mover = works
	if _, err := i.Call(t.Context(), "add", 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the second call: %v", err)
	}
}

// immovable is a system that fails to move memories.
type immovable struct{ mover }

func (immovable) move(_, _ memory) error { return errors.ErrUnsupported }

// TestSharedEnginesDoNotMixInstances runs instances at the same time. Each one is parked, stored, grown, closed and
// fails at random, and always has its own state.
func TestSharedEnginesDoNotMixInstances(t *testing.T) {
	g := newShared(t)
	var wait sync.WaitGroup
	for n := range uint64(12) {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(n, 7))
			c := g.config()
			if n%3 == 0 {
				c.MaxMemory = 48 * mebibyte
			}
			begin := func() *Instance {
				i, err := g.image.Start(t.Context(), c)
				if err != nil {
					t.Error(err)
				}
				return i
			}
			call := func(i *Instance, export string, params ...uint64) uint64 {
				results, err := i.Call(t.Context(), export, params...)
				if err != nil {
					t.Errorf("%s: %v", export, err)
				}
				if len(results) == 0 {
					return 0
				}
				return results[0]
			}
			i, total, sum := begin(), uint64(0), uint64(17)
			for range 60 {
				switch random.IntN(10) {
				case 0:
					var out bytes.Buffer
					if err := errors.Join(i.Snapshot(&out), i.Close()); err != nil {
						t.Error(err)
						return
					}
					var err error
					if i, err = g.image.Restore(t.Context(), c, &out); err != nil {
						t.Error(err)
						return
					}
				case 1:
					if err := i.checkIdle(); err != nil { // others could take the engine of a parked instance
						t.Error(err)
						return
					}
					if size := i.bytes(); len(size) < 24*mebibyte {
						call(i, "keep", uint64(random.IntN(mebibyte)), n)
						sum = call(i, "sum")
					}
				case 2:
					if random.IntN(4) > 0 {
						continue
					}
					if _, err := i.Call(t.Context(), "fail"); err == nil || !strings.Contains(err.Error(), "unreachable") {
						t.Errorf("fail: %v", err)
					}
					_ = i.Close()
					i, total, sum = begin(), 0, 17
				case 3:
					if got := call(i, "sum"); got != sum {
						t.Errorf("instance %d has the sum %d, want %d", n, got, sum)
					}
				case 4, 5:
					call(i, "send", n)
					total += n
				default:
					total++
					if got := call(i, "add", 1); got != total {
						t.Errorf("instance %d has the total %d, want %d", n, got, total)
					}
				}
				if random.IntN(3) > 0 {
					i.Park()
				}
			}
			_ = i.Close()
		})
	}
	wait.Wait()
	if g.image.users != 1 {
		t.Errorf("the image has %d users after all instances were closed", g.image.users)
	}
}
