// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/kube-go/sdk/examples/wasm-node/life"
)

// MaxModule is the maximum size of a module, in bytes.
const MaxModule = 64 << 20

// image is a module. All containers with the same bytes share the compiled code.
type image struct {
	digest  string
	code    []byte
	cache   wazero.CompilationCache
	compile func() error // the first call compiles
	users   int          // containers, attempts and pulls; guarded by the mutex of the engine
}

// pull is the work of one call of Pull.
type pull struct {
	image string
	done  bool
	err   error
}

// Pull implements [life.Images].
func (e *Engine) Pull(c life.Container) (id string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	box := e.get(c)
	if p := box.pull; p != nil && p.image == c.Image {
		if !p.done {
			return "", nil
		}
		if box.pull = nil; p.err != nil {
			return "", p.err
		}
		return box.image.digest, nil
	}
	p := &pull{image: c.Image}
	box.pull = p
	e.tasks.Go(func() {
		img, err := e.fetch(c)
		e.mu.Lock()
		p.done, p.err = true, err
		if box.pull == p && err == nil && e.containers[c.ID] == box { // neither replaced nor removed
			img, box.image = box.image, img
		}
		e.release(img)
		e.mu.Unlock()
		e.opts.Changed(c.Of)
	})
	return "", nil
}

// fetch fetches and compiles an image. Release it.
func (e *Engine) fetch(c life.Container) (*image, error) {
	code, err := e.opts.Fetch(e.ctx, c.Of.Namespace, c.Image)
	if err == nil {
		code, err = unzip(code)
	}
	if err != nil {
		return nil, err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(code))
	e.mu.Lock()
	img := e.images[digest]
	if img == nil {
		img = &image{digest: digest, code: code, cache: wazero.NewCompilationCache()}
		img.compile = sync.OnceValue(func() error { return check(e.ctx, e.runtime(img, e.opts.Memory), code) })
		e.images[digest] = img
	}
	img.users++
	e.mu.Unlock()
	if err := img.compile(); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.release(img)
		return nil, fmt.Errorf("image %s: %w", c.Image, err)
	}
	return img, nil
}

// release ends a use of an image, which may be nil. The caller holds the mutex.
func (e *Engine) release(img *image) {
	if img == nil {
		return
	}
	if img.users--; img.users == 0 {
		delete(e.images, img.digest)
		_ = img.cache.Close(context.WithoutCancel(e.ctx)) // frees memory, and never fails
	}
}

// runtime returns a runtime that shares the code of the image. Close it.
func (e *Engine) runtime(img *image, memory int64) wazero.Runtime {
	return wazero.NewRuntimeWithConfig(e.ctx, wazero.NewRuntimeConfig().WithCompilationCache(img.cache).
		WithCloseOnContextDone(true).WithMemoryLimitPages(uint32(max(1, memory/page))))
}

// check compiles a module for its image.
func check(ctx context.Context, r wazero.Runtime, code []byte) error {
	compiled, err := r.CompileModule(ctx, code)
	if err == nil && compiled.ExportedFunctions()["_start"] == nil {
		err = errors.New("the module is not a command: it does not export _start")
	}
	return errors.Join(err, r.Close(context.WithoutCancel(ctx)))
}

// unzip returns data, decompressed if it is in the gzip format: a ConfigMap holds 1 MiB.
func unzip(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return ReadAll(r)
}

// ReadAll reads a module, which must not be larger than [MaxModule].
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxModule+1))
	if err == nil && len(data) > MaxModule {
		err = fmt.Errorf("the module is larger than %d MiB", MaxModule>>20)
	}
	return data, err
}
