// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tetratelabs/wazero/api"
)

// Instance is a running module.
type Instance struct {
	program *Program
	image   *Image // nil if it was not started from one
	config  Config // for engines
	limit   uint64 // of the memory in bytes
	home    memory // where the memory is while the instance is parked; nil if it keeps its engine

	initialized bool

	mu      sync.Mutex // guards the fields below
	engine  *engine    // nil while the instance is parked
	globals []uint64   // while it is parked
	calls   int        // that are active
	closed  bool
	failed  error // of a call; the module must not be called again
	suspect bool  // wazero may close the engine, because the context of the last call has ended
}

var (
	errClosed = errors.New("the instance is closed")
	errBusy   = errors.New("the instance is not idle: a call is active")
)

// Call calls an export. After an error, which is a trap, an exit or the end of ctx, the instance can only be closed.
// The memory is not released before Call returns.
func (i *Instance) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	if err := i.enter(ctx); err != nil {
		return nil, err
	}
	f := i.engine.module.ExportedFunction(export)
	if f == nil {
		i.exit(ctx, nil)
		return nil, fmt.Errorf("the module does not export the function %s", export)
	}
	results, err := f.Call(ctx, params...)
	i.exit(ctx, err)
	return results, err
}

// initialize is the export that the host of a reactor calls before all others.
const initialize = "_initialize"

// Initialize calls the start function and _initialize, if the module has them. It does nothing if the instance is from
// an image of an initialized one.
func (i *Instance) Initialize(ctx context.Context) error {
	if i.initialized {
		return nil
	}
	i.initialized = true
	if start := i.program.start; start != "" {
		if _, err := i.Call(ctx, start); err != nil {
			return fmt.Errorf("start function: %w", err)
		}
	}
	if i.engine.module.ExportedFunction(initialize) == nil {
		return nil
	}
	if _, err := i.Call(ctx, initialize); err != nil {
		return fmt.Errorf("%s: %w", initialize, err)
	}
	return nil
}

// Memory returns the memory, or nil if the module has none. It must not be used after Park or Close.
func (i *Instance) Memory() api.Memory {
	if i.engine == nil || i.engine.memory == nil {
		return nil
	}
	return i.engine.module.Memory()
}

// Park lets other instances of the image take the engine of this one until its next Call. It does nothing during a
// call. If the memory can't be moved, all calls that follow fail.
func (i *Instance) Park() {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.home == nil || i.engine == nil || i.calls > 0 || i.closed || i.failed != nil:
	case i.suspect:
		i.failed = i.freeEngine()
	default:
		i.image.unpark(i)
		i.image.park(i)
	}
}

// Image returns an image of the instance, which must be idle.
func (i *Instance) Image() (*Image, error) {
	if err := i.checkIdle(); err != nil {
		return nil, err
	}
	img, err := newImage(i.program, i.globalValues(), i.bytes())
	if err != nil {
		return nil, err
	}
	img.initialized = i.initialized
	return img, nil
}

// Snapshot writes what differs from the image of the instance, which must be idle and started from an image. The
// instance does not change.
func (i *Instance) Snapshot(w io.Writer) error {
	if err := i.checkIdle(); err != nil {
		return err
	}
	if i.image == nil {
		return errors.New("the instance was not started from an image")
	}
	if !i.initialized {
		return errors.New("the instance is not initialized: call Initialize")
	}
	s := state{image: i.image.id, globals: i.globalValues(), memory: i.bytes()}
	m := i.home
	if i.engine != nil {
		m = i.engine.memory
	}
	return writeState(w, s, i.image.content.bytes(), m.changed())
}

// Close ends the instance and releases its memory, at once or when the active call returns. It does not end the call:
// the context of the call does.
func (i *Instance) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	if i.calls > 0 {
		return nil
	}
	return i.release()
}

func (i *Instance) enter(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return errClosed
	}
	if i.failed != nil {
		return fmt.Errorf("the instance has failed before: %w", i.failed)
	}
	if i.home != nil {
		i.image.unpark(i)
		if i.suspect && i.calls == 0 && i.engine != nil {
			i.failed = i.freeEngine()
		}
		if i.failed == nil {
			i.failed = i.attach(ctx)
		}
		if i.failed != nil {
			return i.failed
		}
	}
	i.calls++
	return nil
}

func (i *Instance) exit(ctx context.Context, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed == nil {
		i.failed = err
	}
	i.suspect = i.suspect || ctx.Err() != nil
	if i.calls--; i.calls == 0 && i.closed {
		_ = i.release() // the caller of Close does not wait for it
	}
}

func (i *Instance) release() (err error) {
	if i.home != nil {
		i.image.unpark(i)
		if i.engine != nil && i.failed == nil {
			i.failed = i.freeEngine()
		}
	}
	if i.engine != nil {
		err = i.engine.close()
	}
	if i.home != nil {
		i.home.release()
	}
	if i.image != nil {
		i.image.leave()
	}
	return err
}

// checkIdle returns an error if the state of the instance can't be read. Otherwise no other instance takes its engine
// until the next call of Park.
func (i *Instance) checkIdle() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return errClosed
	case i.failed != nil:
		return fmt.Errorf("the instance has failed: %w", i.failed)
	case i.calls > 0:
		return errBusy
	case i.home != nil:
		i.image.unpark(i)
	}
	return i.program.reason
}

// writeSegments does what the instantiation of the original module does.
func (i *Instance) writeSegments() error {
	return i.program.rewritten.Segments(func(offset uint32, content []byte) error {
		if !i.engine.module.Memory().Write(offset, content) {
			return errors.New("it is beyond the memory")
		}
		return nil
	})
}

// bytes returns the whole memory.
func (i *Instance) bytes() []byte {
	if i.engine == nil {
		return i.home.grow(0)
	}
	m := i.engine.module.Memory()
	b, _ := m.Read(0, m.Size())
	return b
}

func (i *Instance) globalValues() []uint64 {
	if i.engine == nil {
		return i.globals
	}
	values := make([]uint64, len(i.engine.globals))
	for n, g := range i.engine.globals {
		values[n] = g.Get()
	}
	return values
}
