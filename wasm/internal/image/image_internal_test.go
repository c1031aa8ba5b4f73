// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// onEachSystem runs a test with the memory of this platform and with the portable one.
func onEachSystem(t *testing.T, test func(t *testing.T, s system)) {
	for _, s := range []system{platform, copied{}} {
		t.Run(fmt.Sprintf("%T", s), func(t *testing.T) { test(t, s) })
	}
}

// snapshot stores an instance and closes it.
func (g *guest) snapshot(i *Instance) []byte {
	g.t.Helper()
	var out bytes.Buffer
	if err := i.Snapshot(&out); err != nil {
		g.t.Fatal(err)
	}
	if err := i.Close(); err != nil {
		g.t.Fatal(err)
	}
	return out.Bytes()
}

func (g *guest) restore(snapshot []byte) *Instance {
	g.t.Helper()
	i, err := g.image.Restore(g.t.Context(), g.config(), bytes.NewReader(snapshot))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = i.Close() })
	return i
}

func TestStateGoroutinesAndTimersSurviveASnapshot(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		i := g.start()
		const hour = 3_600_000_000_000
		g.call(i, "add", 40)
		g.call(i, "send", 2)
		g.call(i, "keep", 100_000, 7)
		g.call(i, "wake", 1)
		g.call(i, "sleep", hour)
		g.call(i, "sleep", 3*hour)
		sum := g.call(i, "sum")
		for round := range int64(3) {
			i = g.restore(g.snapshot(i))
			if got := g.call(i, "sum"); got != sum {
				t.Errorf("the heap has the sum %d after round %d, want %d", got, round, sum)
			}
			if got := g.call(i, "send", 1); got != 43+round {
				t.Errorf("the total is %d, want %d", got, 43+round)
			}
			if got := g.call(i, "wake", 1); got != 1 {
				t.Errorf("the map has %d items, want 1", got)
			}
			g.call(i, "collect")
		}
		for hours, want := range []int64{0, 1, 1, 2, 2} {
			if got := g.call(i, "tick"); got != want {
				t.Errorf("after %d hours %d timers have fired, want %d", hours, got, want)
			}
			stored := g.snapshot(i)
			g.now.Add(hour)
			i = g.restore(stored)
		}
	})
}

func TestMemoryBeyondTheImageSurvivesASnapshot(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		i := g.start()
		g.call(i, "keep", 9*mebibyte, 3)
		if size := int64(i.Memory().Size()); size <= g.image.size {
			t.Fatalf("the memory has %d bytes, and its image %d", size, g.image.size)
		}
		sum, size := g.call(i, "sum"), i.Memory().Size()
		i = g.restore(g.snapshot(i))
		if got := g.call(i, "sum"); got != sum || i.Memory().Size() != size {
			t.Errorf("sum %d, size %d after the restoration, want %d and %d", got, i.Memory().Size(), sum, size)
		}
	})
}

func TestInstancesDoNotChangeTheImage(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		before := sha256.Sum256(g.image.content.bytes())
		i := g.start()
		g.call(i, "add", 1)
		g.call(i, "keep", 5*mebibyte, 9)
		g.call(i, "collect")
		all, _ := i.Memory().Read(0, i.Memory().Size())
		for n := range all {
			all[n] = 0xff
		}
		if sha256.Sum256(g.image.content.bytes()) != before {
			t.Error("the image has changed")
		}
		if got := g.call(g.start(), "add", 5); got != 5 {
			t.Errorf("a new instance has the total %d, want 5", got)
		}
	})
}

func TestHundredInstancesAreIndependent(t *testing.T) {
	g := newGuest(t, platform)
	var wait sync.WaitGroup
	for n := range uint64(100) {
		wait.Go(func() {
			i, err := g.image.Start(t.Context(), g.config())
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				if _, err := i.Call(t.Context(), "send", n); err != nil {
					t.Error(err)
				}
				var out bytes.Buffer
				if err := i.Snapshot(&out); err != nil {
					t.Error(err)
				}
				_ = i.Close()
				if i, err = g.image.Restore(t.Context(), g.config(), &out); err != nil {
					t.Error(err)
					return
				}
			}
			if got, err := i.Call(t.Context(), "add", 0); err != nil || got[0] != 3*n {
				t.Errorf("instance %d has the total %d, %v", n, got, err)
			}
			_ = i.Close()
		})
	}
	wait.Wait()
	if g.image.users != 1 {
		t.Errorf("the image has %d users after all instances were closed", g.image.users)
	}
}

func TestDamagedSnapshotIsAnError(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		i := g.start()
		g.call(i, "wake", 1)
		stored := g.snapshot(i)
		restore := func(b []byte) {
			t.Helper()
			i, err := g.image.Restore(t.Context(), g.config(), bytes.NewReader(b))
			if err == nil {
				t.Error("a damaged snapshot was restored")
				_ = i.Close()
			}
		}
		random := rand.New(rand.NewPCG(3, 4))
		for n := range 150 {
			at := n
			if n >= 100 {
				at = random.IntN(len(stored))
			}
			damaged := bytes.Clone(stored)
			damaged[at] ^= 1 << random.IntN(8)
			restore(damaged)
			restore(stored[:at])
		}
		restore(stored[:len(stored)-1])
		restore(append(bytes.Clone(stored), 0))
		if g.image.users != 1 {
			t.Errorf("the image has %d users", g.image.users)
		}
		g.call(g.restore(stored), "wake", 1)
	})
}

func TestSnapshotOfAnotherImageIsAnError(t *testing.T) {
	g := newGuest(t, platform)
	i := g.start()
	g.call(i, "add", 1)
	other, err := i.Image()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, err = other.Restore(t.Context(), g.config(), bytes.NewReader(g.snapshot(i)))
	if err == nil || !strings.Contains(err.Error(), "another image") {
		t.Errorf("error %v", err)
	}
	second, err := other.Start(t.Context(), g.config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if got := g.call(second, "add", 1); got != 2 {
		t.Errorf("an image of a changed instance has the total %d, want 2", got)
	}
}

func TestFailedInstanceCanOnlyBeClosed(t *testing.T) {
	g := newGuest(t, platform)
	i := g.start()
	if _, err := i.Call(t.Context(), "fail"); err == nil {
		t.Fatal("a panic is not an error")
	}
	if _, err := i.Call(t.Context(), "add", 1); err == nil || !strings.Contains(err.Error(), "has failed") {
		t.Errorf("Call: error %v", err)
	}
	if err := i.Snapshot(&bytes.Buffer{}); err == nil {
		t.Error("a failed instance was stored")
	}
	if _, err := i.Image(); err == nil {
		t.Error("an image was taken of a failed instance")
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if _, err := i.Call(t.Context(), "add", 1); !errors.Is(err, errClosed) {
		t.Errorf("Call after Close: error %v", err)
	}
	if err := i.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		c := g.config()
		c.MaxMemory = g.image.size + 4*mebibyte
		i, err := g.image.Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.Call(t.Context(), "keep", 16*mebibyte, 1); err == nil {
			t.Error("the module has more memory than its limit")
		}
		if size := int64(i.Memory().Size()); size > c.MaxMemory {
			t.Errorf("the memory has %d bytes, and the limit is %d", size, c.MaxMemory)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		c.MaxMemory = 1 << 16
		const want = "the limit is 65536"
		if _, err := g.image.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start from an image: error %v", err)
		}
		if _, err := g.program.Start(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start: error %v", err)
		}
	})
}

func TestSnapshotThatNeedsMoreThanTheLimitIsAnError(t *testing.T) {
	g := newGuest(t, platform)
	i := g.start()
	g.call(i, "keep", 9*mebibyte, 3)
	c := g.config()
	c.MaxMemory = g.image.size + mebibyte
	_, err := g.image.Restore(t.Context(), c, bytes.NewReader(g.snapshot(i)))
	if err == nil || !strings.Contains(err.Error(), "the limit") {
		t.Errorf("error %v", err)
	}
}

func TestClosedImageStartsNothingButItsInstancesGoOn(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		g := newGuest(t, s)
		i := g.start()
		g.image.Close()
		g.image.Close()
		if _, err := g.image.Start(t.Context(), g.config()); !errors.Is(err, errImageClosed) {
			t.Errorf("error %v", err)
		}
		if got := g.call(i, "add", 1); got != 1 {
			t.Errorf("the total is %d, want 1", got)
		}
		g.snapshot(i)
	})
}

func TestModuleIsReadFromTheTestGuest(t *testing.T) {
	m, err := guestModule()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Exports {
		if e.Name == "keep" && (e.Kind != wasm.Function || e.Type != "(i32, i32)") {
			t.Errorf("export %+v", e)
		}
	}
	for _, i := range m.Imports {
		if i.Module != "wasi_snapshot_preview1" || i.Kind != wasm.Function {
			t.Errorf("import %+v", i)
		}
	}
}
