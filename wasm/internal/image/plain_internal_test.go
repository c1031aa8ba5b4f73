// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// Short names of the encoder.
var (
	section = wasmtest.Section[string]
	vector  = wasmtest.Vector[string]
	name    = wasmtest.Sized[string]
)

// plain is a module with:
//
//   - an import host.f
//   - a memory of 1 to 16 pages, with "abc" at 8
//   - the mutable globals 0 (i32) and 1 (f64)
//   - a start function that adds 1 to global 0
//   - the exports memory, call (calls host.f) and copy (copies the passive segment "xyz" to 32)
var plain = plainWith("")

// plainWith returns the module with further code in the function call.
func plainWith(code string) string {
	return wasmtest.Preamble +
		section(1, vector("\x60\x00\x00")) +
		section(2, vector(name("host")+name("f")+"\x00\x00")) +
		section(3, vector("\x00", "\x00", "\x00")) +
		section(4, vector("\x70\x01\x01\x02")) +
		section(5, vector("\x01\x01\x10")) +
		section(6, vector("\x7f\x01\x41\x07\x0b", "\x7c\x01\x44"+strings.Repeat("\x00", 8)+"\x0b")) +
		section(7, vector(name("memory")+"\x02\x00", name("call")+"\x00\x02", name("copy")+"\x00\x03")) +
		section(8, "\x01") +
		section(12, "\x02") +
		section(10, vector(
			name("\x00\x23\x00\x41\x01\x6a\x24\x00\x0b"),
			name("\x00\x10\x00"+code+"\x0b"),
			name("\x00\x41\x20\x41\x00\x41\x03\xfc\x08\x01\x00\x0b"))) +
		section(11, vector("\x00\x41\x08\x0b"+name("abc"), "\x01"+name("xyz")))
}

// hostCall is what host.f does, by the context of the call.
type hostCall struct{}

var plainRuntime = sync.OnceValue(func() wazero.Runtime {
	r := wazero.NewRuntime(context.Background())
	f := func(ctx context.Context) {
		if f, ok := ctx.Value(hostCall{}).(func()); ok {
			f()
		}
	}
	if _, err := r.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(f).Export("f").
		Instantiate(context.Background()); err != nil {
		panic(err)
	}
	return r
})

func newPlain(t testing.TB, code string, s system) *Program {
	t.Helper()
	m, err := wasm.Read([]byte(code))
	if err != nil {
		t.Fatal(err)
	}
	p, err := compile(t.Context(), plainRuntime(), m, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func plainConfig() Config { return Config{Module: wazero.NewModuleConfig(), MaxMemory: 12 << 16} }

// plainImage returns an instance of plain and an image of it.
func plainImage(t testing.TB, p *Program) (*Instance, *Image) {
	t.Helper()
	seed, err := p.Start(t.Context(), plainConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = seed.Close() })
	if err := seed.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	img, err := seed.Image()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(img.Close)
	return seed, img
}

func TestImageHasTheEffectOfSegmentsAndStartFunctionOnce(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		p := newPlain(t, plain, s)
		seed, img := plainImage(t, p)
		seed.Memory().Write(8, []byte("ABC"))
		i, err := img.Start(t.Context(), plainConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = i.Close() }()
		if b, _ := i.Memory().Read(8, 3); string(b) != "abc" {
			t.Errorf("the memory has %q, want abc", b)
		}
		if got := i.engine.globals[0].Get(); got != 8 {
			t.Errorf("global 0 is %d, want 8: the start function was called not once", got)
		}
		i.engine.globals[0].Set(100)
		i.engine.globals[1].Set(api.EncodeF64(2.5))
		var out bytes.Buffer
		if err := i.Snapshot(&out); err != nil {
			t.Fatal(err)
		}
		again, err := img.Restore(t.Context(), plainConfig(), &out)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		if got := again.globalValues(); !slices.Equal(got, []uint64{100, api.EncodeF64(2.5)}) {
			t.Errorf("globals %x", got)
		}
		if _, err := again.Call(t.Context(), "copy"); err != nil {
			t.Fatal(err)
		}
		if b, _ := again.Memory().Read(32, 3); string(b) != "xyz" {
			t.Errorf("the passive segment is %q, want xyz", b)
		}
	})
}

func TestImageBeforeTheInitialisationServesInstancesThatAreInitialised(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		p := newPlain(t, plain, s)
		seed, err := p.Start(t.Context(), plainConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = seed.Close() }()
		img, err := seed.Image()
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		i, err := img.Start(t.Context(), plainConfig())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = i.Close() }()
		if err := i.Snapshot(&bytes.Buffer{}); err == nil {
			t.Error("an instance was stored before its initialisation")
		}
		before := i.engine.globals[0].Get()
		for range 2 {
			if err := i.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after := i.engine.globals[0].Get(); before != 7 || after != 8 {
			t.Errorf("global 0 is %d and then %d, want 7 and 8", before, after)
		}
		if b, _ := i.Memory().Read(8, 3); string(b) != "abc" {
			t.Errorf("the memory has %q, want abc", b)
		}
		var out bytes.Buffer
		if err := i.Snapshot(&out); err != nil {
			t.Fatal(err)
		}
		again, err := img.Restore(t.Context(), plainConfig(), &out)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		if err := again.Initialize(t.Context()); err != nil || again.engine.globals[0].Get() != 8 {
			t.Errorf("a restored instance was initialised again: %d, %v", again.engine.globals[0].Get(), err)
		}
	})
}

func TestMemoryIsNotReleasedDuringACall(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		p := newPlain(t, plain, s)
		_, img := plainImage(t, p)
		i, err := img.Start(t.Context(), plainConfig())
		if err != nil {
			t.Fatal(err)
		}
		called := false
		ctx := context.WithValue(t.Context(), hostCall{}, func() {
			called = true
			if err := i.Snapshot(&bytes.Buffer{}); err == nil {
				t.Error("an instance was stored during a call")
			}
			if err := i.Close(); err != nil {
				t.Error(err)
			}
			img.Close()
			m := i.Memory()
			if b, ok := m.Read(8, 3); !ok || string(b) != "abc" || !m.Write(0, []byte("x")) {
				t.Errorf("the memory has %q during a call", b)
			}
			if _, ok := m.Grow(2); !ok {
				t.Error("the memory can't grow during a call")
			}
		})
		if _, err := i.Call(ctx, "call"); err != nil || !called {
			t.Fatal(called, err)
		}
		if img.users != 0 {
			t.Errorf("the image has %d users after the call", img.users)
		}
	})
}

func TestModuleWithoutImageIsInstantiated(t *testing.T) {
	p := newPlain(t, plainWith("\x41\x00\xd0\x70\x26\x00"), platform)
	if err := p.CanImage(); err == nil || !strings.Contains(err.Error(), "table.set") {
		t.Errorf("CanImage: %v", err)
	}
	i, err := p.Start(t.Context(), plainConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Initialize(t.Context()); err != nil {
		t.Error(err)
	}
	if b, _ := i.Memory().Read(8, 3); string(b) != "abc" {
		t.Errorf("the memory has %q, want abc", b)
	}
	if _, err := i.Call(t.Context(), "call"); err != nil {
		t.Error(err)
	}
	if _, err := i.Image(); err == nil {
		t.Error("an image was taken")
	}
	if _, ok := i.Memory().Grow(15); ok {
		t.Error("the memory is larger than the limit")
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}

// TestInstantiationRunsNoCodeOfTheModule has a start function that traps. A host limits the time of Initialize, and has
// the instance that its functions need only after Start.
func TestInstantiationRunsNoCodeOfTheModule(t *testing.T) {
	tableSet := "\x41\x00\xd0\x70\x26\x00"
	for name, code := range map[string]string{"with an image": "", "without an image": tableSet} {
		wasm := wasmtest.Preamble + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) +
			section(4, vector("\x70\x00\x01")) + section(5, vector("\x00\x01")) + section(8, "\x00") +
			section(10, vector("\x0a\x00"+"\x00"+code+strings.Repeat("\x01", 7-len(code))+"\x0b"))
		p := newPlain(t, wasm, platform)
		if has := p.CanImage() == nil; has != (code == "") {
			t.Errorf("%s: CanImage: %v", name, p.CanImage())
		}
		i, err := p.Start(t.Context(), plainConfig())
		if err != nil {
			t.Errorf("%s: Start: %v", name, err)
			continue
		}
		if err := i.Initialize(t.Context()); err == nil || !strings.Contains(err.Error(), "start function") {
			t.Errorf("%s: Initialize: %v", name, err)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestStartFunctionAndAnExportOfItsReservedNameAreRefused(t *testing.T) {
	code := wasmtest.Preamble + section(1, vector("\x60\x00\x00")) + section(3, vector("\x00")) +
		section(7, vector(name("kube.image.start")+"\x00\x00")) + section(8, "\x00") + section(10, vector(name("\x00\x0b")))
	m, err := wasm.Read([]byte(code))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compile(t.Context(), plainRuntime(), m, platform); err == nil ||
		!strings.Contains(err.Error(), "kube.image.start") {
		t.Errorf("compile: %v", err)
	}
}

func TestSegmentBeyondTheMemoryIsAnError(t *testing.T) {
	wasm := wasmtest.Preamble + section(5, vector("\x00\x01")) +
		section(11, vector("\x00\x41\x00\x0b"+name("abc"), "\x00\x41\x7f\x0b"+name("abc")))
	_, err := newPlain(t, wasm, platform).Start(t.Context(), plainConfig())
	if err == nil || !strings.Contains(err.Error(), "segment 1: it is beyond the memory") {
		t.Errorf("error %v", err)
	}
}

func TestModuleWithoutMemoryHasNoImage(t *testing.T) {
	p := newPlain(t, wasmtest.Preamble, platform)
	i, err := p.Start(t.Context(), plainConfig())
	if err != nil {
		t.Fatal(err)
	}
	if i.Memory() != nil || p.CanImage() == nil {
		t.Errorf("memory %v, CanImage %v", i.Memory(), p.CanImage())
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}

// model is what an instance, an image or a snapshot must have.
type model struct {
	memory  []byte
	globals []uint64
}

func (m model) clone() model {
	return model{memory: bytes.Clone(m.memory), globals: slices.Clone(m.globals)}
}

// lab has the objects of the model test.
type lab struct {
	t       *testing.T
	random  *rand.Rand
	program *Program
	images  []modelled[*Image]
	stored  []modelled[storedState]
	live    []modelled[*Instance]
}

type modelled[T any] struct {
	real T
	model
}

type storedState struct {
	image int
	blob  []byte
}

// TestRandomStepsAgreeWithAModel writes, grows, stores, restores, parks and takes images at random, and compares all
// with copies. Half of the worlds share engines.
func TestRandomStepsAgreeWithAModel(t *testing.T) {
	onEachSystem(t, func(t *testing.T, s system) {
		for seed := range uint64(12) {
			l := &lab{t: t, random: rand.New(rand.NewPCG(seed, 5)), program: newPlain(t, plain, s)}
			if m, ok := s.(mover); ok && seed%2 == 0 {
				l.program.mover = m
			}
			i, _ := plainImage(t, l.program)
			memory := make([]byte, 1<<16)
			copy(memory[8:], "abc")
			l.live = append(l.live, modelled[*Instance]{i, model{memory, []uint64{8, 0}}})
			l.takeImage(l.live[0])
			for range 250 {
				l.step()
			}
			for _, i := range l.live {
				l.compare(i)
				_ = i.real.Close()
			}
			for _, img := range l.images {
				if !bytes.Equal(img.real.content.bytes(), img.memory) {
					t.Error("an image has changed")
				}
				img.real.Close()
			}
		}
	})
}

func (l *lab) step() {
	n := l.random.IntN(len(l.live))
	i := &l.live[n]
	l.attach(i.real)
	switch l.random.IntN(14) {
	case 0:
		pages := uint32(l.random.IntN(3))
		if _, ok := i.real.Memory().Grow(pages); ok != (len(i.memory)+int(pages)<<16 <= 12<<16) {
			l.t.Errorf("Grow(%d) of %d bytes returns %v", pages, len(i.memory), ok)
		} else if ok {
			i.memory = append(i.memory, make([]byte, pages<<16)...)
		}
	case 1:
		g := l.random.IntN(2)
		i.globals[g] = uint64(l.random.Uint32())
		i.real.engine.globals[g].Set(i.globals[g])
	case 2:
		if len(l.images) < 4 {
			l.takeImage(*i)
		}
	case 3:
		img := l.images[l.random.IntN(len(l.images))]
		l.add(img.real.Start(l.t.Context(), plainConfig()))(img.model)
	case 4:
		l.store(n)
	case 5:
		if len(l.stored) > 0 {
			s := l.stored[l.random.IntN(len(l.stored))]
			img := l.images[s.real.image].real
			l.add(img.Restore(l.t.Context(), plainConfig(), bytes.NewReader(s.real.blob)))(s.model)
		}
	case 6:
		l.compare(*i)
	case 7, 8:
		i.real.Park()
		if i.real.home != nil && l.random.IntN(2) == 0 {
			i.real.image.evictAll()
			if i.real.engine != nil {
				l.t.Error("an instance has an engine that was taken")
			}
		}
		l.compare(*i)
	default:
		at, size := l.random.IntN(len(i.memory)), l.random.IntN(1<<l.random.IntN(15))
		part := i.memory[at:min(at+size, len(i.memory))]
		for k := range part {
			part[k] = byte(l.random.Uint32()) * byte(l.random.IntN(2))
		}
		i.real.Memory().Write(uint32(at), part)
	}
}

// attach does what Call does first.
func (l *lab) attach(i *Instance) {
	if err := i.attach(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// add compares a new instance with its model, and keeps at most 5.
func (l *lab) add(i *Instance, err error) func(model) {
	return func(m model) {
		if err != nil {
			l.t.Fatal(err)
		}
		l.live = append(l.live, modelled[*Instance]{i, m.clone()})
		l.compare(l.live[len(l.live)-1])
		if len(l.live) > 5 {
			if err := l.live[0].real.Close(); err != nil {
				l.t.Error(err)
			}
			l.live = l.live[1:]
		}
	}
}

func (l *lab) takeImage(i modelled[*Instance]) {
	img, err := i.real.Image()
	if err != nil {
		l.t.Fatal(err)
	}
	l.images = append(l.images, modelled[*Image]{img, i.clone()})
}

// store stores an instance that was started from one of the images.
func (l *lab) store(n int) {
	i := l.live[n]
	image := slices.IndexFunc(l.images, func(m modelled[*Image]) bool { return m.real == i.real.image })
	if image < 0 {
		return
	}
	var out bytes.Buffer
	if err := i.real.Snapshot(&out); err != nil {
		l.t.Fatal(err)
	}
	l.stored = append(l.stored, modelled[storedState]{storedState{image, out.Bytes()}, i.clone()})
}

func (l *lab) compare(i modelled[*Instance]) {
	if got := i.real.bytes(); !bytes.Equal(got, i.memory) {
		l.t.Errorf("the memory of %d bytes is not that of the model with %d", len(got), len(i.memory))
	}
	if got := i.real.globalValues(); !slices.Equal(got, i.globals) {
		l.t.Errorf("globals %x, want %x", got, i.globals)
	}
}

// refusing is a system whose memories have at most a number of bytes.
type refusing struct {
	system

	most uint64
}

func (r *refusing) memory(content store, limit uint64) (memory, error) {
	m, err := r.system.memory(content, limit)
	return &refusedMemory{m, r}, err
}

type refusedMemory struct {
	memory

	system *refusing
}

func (m *refusedMemory) grow(size uint64) []byte {
	if size > m.system.most {
		return nil
	}
	return m.memory.grow(size)
}

func TestMemoryThatTheSystemRefusesIsAnError(t *testing.T) {
	r := &refusing{copied{}, 1 << 30}
	p := newPlain(t, plain, r)
	_, img := plainImage(t, p)
	i, err := img.Start(t.Context(), plainConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	r.most = 1
	if _, err := p.Start(t.Context(), plainConfig()); err == nil {
		t.Error("an instance has started without memory")
	}
	if _, err := img.Start(t.Context(), plainConfig()); err == nil {
		t.Error("an instance has started from an image without memory")
	}
}

// panicking is a runtime whose compiler panics.
type panicking struct {
	wazero.Runtime

	cause any
}

func (p panicking) CompileModule(context.Context, []byte) (wazero.CompiledModule, error) {
	panic(p.cause)
}

// TestPanicOfTheCompilerIsAnError has a system that refuses memory for the code, and a mistake of the compiler.
func TestPanicOfTheCompilerIsAnError(t *testing.T) {
	m, err := wasm.Read([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	for _, cause := range []any{syscall.ENOMEM, "unreachable"} {
		p, err := compile(t.Context(), panicking{cause: cause}, m, copied{})
		if p != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprint(cause)) {
			t.Errorf("after the panic %v, compile = %v, %v", cause, p, err)
		}
		if _, ok := errors.AsType[syscall.Errno](err); ok != (cause == syscall.ENOMEM) {
			t.Errorf("after the panic %v, the error of the system is in the error: %v", cause, ok)
		}
	}
}
