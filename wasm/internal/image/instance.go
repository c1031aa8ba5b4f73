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

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// Instance is a running module.
type Instance struct {
	program *Program
	image   *Image // nil if it was not started from one
	module  api.Module
	memory  memory // nil if the module has none
	globals []api.MutableGlobal

	initialized bool

	mu     sync.Mutex
	calls  int // that are active
	closed bool
	failed error // of a call; the module must not be called again
}

var (
	errClosed = errors.New("the instance is closed")
	errBusy   = errors.New("the instance is not idle: a call is active")
)

// Call calls an export. After an error, which is a trap, an exit or the end of ctx, the instance can only be closed.
// The memory is not released before Call returns.
func (i *Instance) Call(ctx context.Context, export string, params ...uint64) ([]uint64, error) {
	if err := i.enter(); err != nil {
		return nil, err
	}
	f := i.module.ExportedFunction(export)
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
// an image of an initialised one.
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
	if i.module.ExportedFunction(initialize) == nil {
		return nil
	}
	if _, err := i.Call(ctx, initialize); err != nil {
		return fmt.Errorf("%s: %w", initialize, err)
	}
	return nil
}

// Memory returns the memory, or nil if the module has none. It must not be used after Close.
func (i *Instance) Memory() api.Memory {
	if i.memory == nil {
		return nil
	}
	return i.module.Memory()
}

// Image returns an image of the instance, which must be idle.
func (i *Instance) Image() (*Image, error) {
	if err := i.checkIdle(); err != nil {
		return nil, err
	}
	img, err := newImage(i.program.system, i.program.id, i.globalValues(), i.bytes())
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
		return errors.New("the instance is not initialised: call Initialize")
	}
	s := state{image: i.image.id, globals: i.globalValues(), memory: i.bytes()}
	return writeState(w, s, i.image.content.bytes(), i.memory.changed())
}

// Close ends the instance and releases its memory, at once or when the active call returns. It does not end the call:
// the context of the call does.
func (i *Instance) Close(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	if i.calls > 0 {
		return nil
	}
	return i.release(ctx)
}

func (i *Instance) enter() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return errClosed
	}
	if i.failed != nil {
		return fmt.Errorf("the instance has failed before: %w", i.failed)
	}
	i.calls++
	return nil
}

func (i *Instance) exit(ctx context.Context, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls--; i.calls == 0 && i.closed {
		_ = i.release(context.WithoutCancel(ctx)) // the caller of Close does not wait for it
	}
	if i.failed == nil {
		i.failed = err
	}
}

func (i *Instance) release(ctx context.Context) error {
	err := i.module.Close(ctx)
	if i.memory != nil {
		i.memory.release()
	}
	if i.image != nil {
		i.image.leave()
	}
	return err
}

// checkIdle returns an error if the state of the instance can't be read.
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
	}
	return i.program.reason
}

// writeSegments does what the instantiation of the original module does.
func (i *Instance) writeSegments() error {
	return i.program.rewritten.Segments(func(offset uint32, content []byte) error {
		if !i.module.Memory().Write(offset, content) {
			return errors.New("it is beyond the memory")
		}
		return nil
	})
}

// bytes returns the whole memory.
func (i *Instance) bytes() []byte {
	m := i.module.Memory()
	b, _ := m.Read(0, m.Size())
	return b
}

// growTo grows the memory to a number of pages and returns it, or nil.
func (i *Instance) growTo(pages uint32) []byte {
	m := i.module.Memory()
	now := m.Size() / wasm.PageSize
	if pages < now {
		return nil
	}
	if _, ok := m.Grow(pages - now); !ok {
		return nil
	}
	return i.bytes()
}

func (i *Instance) globalValues() []uint64 {
	values := make([]uint64, len(i.globals))
	for n, g := range i.globals {
		values[n] = g.Get()
	}
	return values
}

func (i *Instance) setGlobals(values []uint64) error {
	if len(values) != len(i.globals) {
		return fmt.Errorf("the image has %d globals, and the module has %d", len(values), len(i.globals))
	}
	for n, g := range i.globals {
		g.Set(values[n])
	}
	return nil
}
