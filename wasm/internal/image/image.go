// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// Image is the memory and the globals of an initialized instance. Create one with [Instance.Image].
type Image struct {
	program *Program
	id      [32]byte // of the program, the globals and the memory
	globals []uint64
	content store
	size    int64

	initialized bool // whether the instance was

	mu      sync.Mutex // guards the fields below
	users   int        // instances, and the owner until it calls Close
	closed  bool
	engines []*engine   // that no instance has, by the size of their memory
	parked  []*Instance // that have engines, the first one first
}

var errImageClosed = errors.New("the image is closed")

func newImage(p *Program, globals []uint64, memory []byte) (*Image, error) {
	content, err := p.system.store(memory)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, _ = h.Write(p.id[:])
	for _, g := range globals {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, g))
	}
	_, _ = h.Write(memory)
	img := &Image{program: p, globals: globals, content: content, size: int64(len(memory)), users: 1}
	h.Sum(img.id[:0])
	return img, nil
}

// Start returns a new instance with the state of the image.
func (img *Image) Start(ctx context.Context, c Config) (*Instance, error) {
	return img.start(ctx, c, nil)
}

// Restore returns a new instance with the state of a snapshot. The snapshot must be of an instance of this image. After
// an error the instance that was stored is lost, and [Image.Start] starts another one.
func (img *Image) Restore(ctx context.Context, c Config, snapshot io.Reader) (*Instance, error) {
	return img.start(ctx, c, snapshot)
}

func (img *Image) start(ctx context.Context, c Config, snapshot io.Reader) (*Instance, error) {
	if err := img.use(); err != nil {
		return nil, err
	}
	i := &Instance{program: img.program, image: img, config: c, initialized: img.initialized, globals: img.globals}
	if err := i.fill(ctx, snapshot); err != nil {
		img.leave()
		return nil, err
	}
	return i, nil
}

// fill gives an instance its memory, with the content of the image and of the snapshot, and an engine.
func (i *Instance) fill(ctx context.Context, snapshot io.Reader) (err error) {
	p, img := i.program, i.image
	if i.limit, err = p.limit(i.config, img); err != nil {
		return err
	}
	m, err := p.system.memory(img.content, i.limit)
	if err != nil {
		return err
	}
	size := uint64(img.size)
	m.grow(size)
	if snapshot != nil {
		i.initialized = true
		i.globals = make([]uint64, len(img.globals))
		grow := func(pages uint32) []byte {
			size = uint64(pages) * wasm.PageSize
			if size < uint64(img.size) || size > i.limit {
				return nil
			}
			return m.grow(size)
		}
		expect := func(uint64, uint64) {}
		if p, ok := m.(populator); ok {
			expect = p.populate
		}
		t := target{image: img.id, globals: i.globals, grow: grow, expect: expect}
		if err := readState(snapshot, t); err != nil {
			m.release()
			return err
		}
	}
	if p.mover != nil {
		i.home = m
		if err = i.attach(ctx); err != nil {
			m.release()
		}
		return err
	}
	if i.engine, err = p.newEngine(ctx, i.config, m, i.limit, size); err != nil {
		return err
	}
	i.engine.setGlobals(i.globals)
	return nil
}

// Close releases the image when its last instance is closed. Snapshots of its instances can't be restored any more.
func (img *Image) Close() {
	img.mu.Lock()
	closed := img.closed
	img.closed = true
	img.mu.Unlock()
	if !closed {
		img.leave()
	}
}

func (img *Image) use() error {
	img.mu.Lock()
	defer img.mu.Unlock()
	if img.closed {
		return errImageClosed
	}
	img.users++
	return nil
}

func (img *Image) leave() {
	img.mu.Lock()
	defer img.mu.Unlock()
	if img.users--; img.users > 0 {
		return
	}
	for _, e := range img.engines {
		_ = e.close() // it has nothing that can fail to close
	}
	img.engines = nil
	img.content.release()
}
