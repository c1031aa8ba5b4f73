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
)

// Image is the memory and the globals of an initialised instance. Create one with [Instance.Image].
type Image struct {
	program [32]byte // the identity of the program
	id      [32]byte // of the program, the globals and the memory
	globals []uint64
	content store
	size    int64

	initialized bool // whether the instance was

	mu     sync.Mutex
	users  int // instances, and the owner until it calls Close
	closed bool
}

var errImageClosed = errors.New("the image is closed")

func newImage(s system, program [32]byte, globals []uint64, memory []byte) (*Image, error) {
	content, err := s.store(memory)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, _ = h.Write(program[:])
	for _, g := range globals {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, g))
	}
	_, _ = h.Write(memory)
	img := &Image{program: program, globals: globals, content: content, size: int64(len(memory)), users: 1}
	h.Sum(img.id[:0])
	return img, nil
}

// Start returns a new instance with the state of the image. The program must be of the module that the image was taken
// of; it may be compiled again.
func (img *Image) Start(ctx context.Context, p *Program, c Config) (*Instance, error) {
	return img.start(ctx, p, c, nil)
}

// Restore returns a new instance with the state of a snapshot. The snapshot must be of an instance of this image. After
// an error the instance that was stored is lost, and [Image.Start] starts another one.
func (img *Image) Restore(ctx context.Context, p *Program, c Config, snapshot io.Reader) (*Instance, error) {
	return img.start(ctx, p, c, snapshot)
}

func (img *Image) start(ctx context.Context, p *Program, c Config, snapshot io.Reader) (*Instance, error) {
	if p.id != img.program {
		return nil, errors.New("the image is of another module")
	}
	if err := img.use(); err != nil {
		return nil, err
	}
	i, err := p.instantiate(ctx, c, img)
	if err != nil {
		img.leave()
		return nil, err
	}
	i.initialized = img.initialized
	globals := img.globals
	if snapshot != nil {
		i.initialized = true
		globals = make([]uint64, len(img.globals))
		if err := readState(snapshot, target{image: img.id, globals: globals, grow: i.growTo}); err != nil {
			return nil, errors.Join(err, i.Close(ctx))
		}
	}
	if err := i.setGlobals(globals); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	return i, nil
}

// Size returns the bytes of memory that the image has.
func (img *Image) Size() int64 { return img.size }

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
	if img.users--; img.users == 0 {
		img.content.release()
	}
}
