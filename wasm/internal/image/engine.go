// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// engine is a module that wazero has instantiated: what an instance needs to run. It has a memory at fixed addresses,
// globals and tables.
type engine struct {
	module  api.Module
	memory  memory // nil if the module has none
	limit   uint64 // of the memory
	globals []api.MutableGlobal
}

// newEngine returns an engine with the given memory, which has at least the given size then. It releases the memory if
// there is an error.
func (p *Program) newEngine(ctx context.Context, c Config, m memory, limit, size uint64) (*engine, error) {
	e := &engine{memory: m, limit: limit}
	if m != nil {
		// Otherwise wazero panics if the system refuses the memory that the module declares.
		if need := uint64(p.limits.Min) * wasm.PageSize; need > 0 && m.grow(need) == nil {
			m.release()
			return nil, fmt.Errorf("the memory can't grow to %d bytes: %w", need, syscall.ENOMEM)
		}
		ctx = experimental.WithMemoryAllocator(ctx, &allocator{memory: m, limit: limit})
	}
	var err error
	e.module, err = p.runtime.InstantiateModule(ctx, p.compiled, c.Module.WithName("").WithStartFunctions())
	if err != nil {
		if m != nil {
			m.release()
		}
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	// The module has the size that it declares; the image may be larger.
	if m != nil && !e.grow(size) {
		return nil, errors.Join(fmt.Errorf("the memory can't grow to %d bytes: %w", size, syscall.ENOMEM), e.close())
	}
	if p.rewritten == nil {
		return e, nil
	}
	for _, name := range p.rewritten.Globals {
		g, ok := e.module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return nil, errors.Join(fmt.Errorf("global %s is not exported", name), e.close())
		}
		e.globals = append(e.globals, g)
	}
	return e, nil
}

// size returns the bytes of memory that the code can use.
func (e *engine) size() uint64 { return uint64(e.module.Memory().Size()) }

// grow makes the memory as large as the given size, if it is smaller.
func (e *engine) grow(size uint64) bool {
	now := e.size()
	if size <= now {
		return true
	}
	_, ok := e.module.Memory().Grow(uint32((size - now) / wasm.PageSize))
	return ok
}

func (e *engine) setGlobals(values []uint64) {
	for n, g := range e.globals {
		g.Set(values[n])
	}
}

func (e *engine) close() error {
	err := e.module.Close(context.Background())
	if e.memory != nil {
		e.memory.release()
	}
	return err
}

// sharedElements is the number of elements of the tables of a program from which on its instances share engines. An
// element takes about 48 bytes of each engine and 0.1 µs of its start, and to take the engine of another instance takes
// about 80 µs.
const sharedElements = 1000

// sharing returns what moves the memories of a program whose instances share engines, or nil. An engine must have no
// other state than memory and globals, so the code must not drop segments; an image exists only of programs that change
// no table.
func (p *Program) sharing() mover {
	m, ok := p.system.(mover)
	if ok && p.rewritten != nil && !p.rewritten.DropsSegments && p.rewritten.Elements >= sharedElements && m.moves() {
		return m
	}
	return nil
}

// engine returns an engine that no instance uses. Its memory has the given size and the content of the image.
func (img *Image) engine(ctx context.Context, c Config, limit, size uint64) (*engine, error) {
	if e := img.takeEngine(limit, size); e != nil {
		if e.grow(size) {
			return e, nil
		}
		_ = e.close() // another one may have the memory
	}
	m, err := img.program.system.memory(img.content, limit)
	if err != nil {
		return nil, err
	}
	return img.program.newEngine(ctx, c, m, limit, size)
}

// takeEngine returns the free engine with the largest memory of at most the given size, the one of the instance that
// was parked first, or nil. The memory of an engine can't shrink.
func (img *Image) takeEngine(limit, size uint64) *engine {
	img.mu.Lock()
	defer img.mu.Unlock()
	fits := func(e *engine) bool { return e.limit == limit && e.size() <= size }
	for n, e := range slices.Backward(img.engines) {
		if fits(e) {
			img.engines = slices.Delete(img.engines, n, n+1)
			return e
		}
	}
	return img.evict(fits)
}

// evict takes the engine from the instance that was parked first, of those whose engine fits. It returns nil
// without such an instance, or if the memory can't be moved. The caller holds img.mu.
func (img *Image) evict(fits func(*engine) bool) (e *engine) {
	for n, i := range img.parked {
		if !i.mu.TryLock() {
			continue // its next call begins, or it is the caller's
		}
		found := fits(i.engine)
		if found {
			img.parked = slices.Delete(img.parked, n, n+1)
			e, i.failed = i.detach()
		}
		i.mu.Unlock()
		if found {
			return e
		}
	}
	return nil
}

// keepEngine keeps an engine whose memory has the content of the image for other instances. If there is one for each
// CPU, it closes the one with the largest memory, which the fewest instances can use. The caller holds img.mu.
func (img *Image) keepEngine(e *engine) {
	img.engines = append(img.engines, e)
	slices.SortFunc(img.engines, func(a, b *engine) int { return cmp.Compare(a.size(), b.size()) })
	if last := runtime.GOMAXPROCS(0); len(img.engines) > last {
		_ = img.engines[last].close() // it has nothing that can fail to close
		img.engines = slices.Delete(img.engines, last, last+1)
	}
}

// park lets other instances take the engine of an instance. One instance for each CPU keeps its engine until then, so
// that a busy one does not move. The caller holds i.mu.
func (img *Image) park(i *Instance) {
	img.mu.Lock()
	defer img.mu.Unlock()
	img.parked = append(img.parked, i)
	if len(img.parked) > runtime.GOMAXPROCS(0) {
		if e := img.evict(func(*engine) bool { return true }); e != nil {
			img.keepEngine(e)
		}
	}
}

// unpark ends the effect of park. The caller holds i.mu.
func (img *Image) unpark(i *Instance) {
	img.mu.Lock()
	defer img.mu.Unlock()
	if n := slices.Index(img.parked, i); n >= 0 {
		img.parked = slices.Delete(img.parked, n, n+1)
	}
}

// attach gives an instance an engine, if it has none. After an error, the instance has failed. The caller holds i.mu.
func (i *Instance) attach(ctx context.Context) error {
	if i.engine != nil {
		return nil
	}
	e, err := i.image.engine(ctx, i.config, i.limit, uint64(len(i.home.grow(0))))
	if err != nil {
		return err
	}
	if err := i.program.mover.move(e.memory, i.home); err != nil {
		return errors.Join(err, e.close())
	}
	e.setGlobals(i.globals)
	i.engine = e
	return nil
}

// detach takes the state of an instance out of its engine. After an error, the instance has failed. The caller holds
// i.mu, and no call is active.
func (i *Instance) detach() (*engine, error) {
	e := i.engine
	i.globals = i.globalValues()
	if err := i.program.mover.move(i.home, e.memory); err != nil {
		return nil, err
	}
	i.engine = nil
	return e, nil
}

// freeEngine gives the engine of an instance to others, or closes it if wazero may do that, too. The caller holds i.mu,
// and the instance is not parked.
func (i *Instance) freeEngine() error {
	e, err := i.detach()
	switch {
	case err != nil:
		return err
	case i.suspect:
		i.suspect = false
		return e.close()
	}
	i.image.mu.Lock()
	defer i.image.mu.Unlock()
	i.image.keepEngine(e)
	return nil
}
