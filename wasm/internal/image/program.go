// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// Program is a compiled module. Create one with [Compile].
type Program struct {
	id        [32]byte
	system    system
	runtime   wazero.Runtime
	compiled  wazero.CompiledModule
	limits    *wasm.Limits
	rewritten *wasm.Rewritten // nil if no image can be taken
	reason    error           // why
	start     string          // the export of the start function, or ""
}

// Config is what an instance needs besides its program.
type Config struct {
	// Module has the arguments, environment and clocks. Its name and start functions are replaced.
	Module wazero.ModuleConfig
	// MaxMemory is the limit of the memory in bytes.
	MaxMemory int64
}

// Compile compiles a module. If no image can be taken of it, [Program.CanImage] returns the reason, and instances can
// only be started by [Program.Start].
func Compile(ctx context.Context, r wazero.Runtime, m *wasm.Module) (*Program, error) {
	return compile(ctx, r, m, platform)
}

func compile(ctx context.Context, r wazero.Runtime, m *wasm.Module, s system) (*Program, error) {
	p := &Program{id: sha256.Sum256(m.Bytes()), system: s, runtime: r, limits: m.Memory}
	var code []byte
	rewritten, err := m.Rewrite()
	switch {
	case errors.Is(err, wasm.ErrNoImage):
		p.reason = err
		if code, p.start, err = m.WithoutStart(); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		p.rewritten, p.start, code = rewritten, rewritten.Start, rewritten.Wasm
	}
	if p.compiled, err = r.CompileModule(ctx, code); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	if rewritten != nil {
		rewritten.Wasm = nil // it can be large, and is not needed any more
	}
	return p, nil
}

// CanImage returns nil, or the reason why no image can be taken of an instance.
func (p *Program) CanImage() error { return p.reason }

// Close releases the code. No instance may be open.
func (p *Program) Close(ctx context.Context) error { return p.compiled.Close(ctx) }

// Start returns a new instance, which [Instance.Initialize] must initialise. It runs no code of the module.
func (p *Program) Start(ctx context.Context, c Config) (*Instance, error) {
	i, err := p.instantiate(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	if p.rewritten == nil {
		return i, nil
	}
	if err := i.writeSegments(); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	return i, nil
}

// instantiate returns an instance with the memory of an image, or with an empty one if img is nil. It does not set the
// globals. The instance takes over a use of the image, unless there is an error.
func (p *Program) instantiate(ctx context.Context, c Config, img *Image) (*Instance, error) {
	i := &Instance{program: p, image: img}
	if p.limits != nil {
		limit, err := p.limit(c, img)
		if err != nil {
			return nil, err
		}
		var content store
		if img != nil {
			content = img.content
		}
		if i.memory, err = p.system.memory(content, limit); err != nil {
			return nil, err
		}
		ctx = experimental.WithMemoryAllocator(ctx, &allocator{memory: i.memory, limit: limit})
	}
	err := i.load(ctx, c)
	if err != nil && i.memory != nil {
		i.memory.release()
	}
	return i, err
}

// limit returns the bytes that a memory may have.
func (p *Program) limit(c Config, img *Image) (uint64, error) {
	need := p.limits.Min * wasm.PageSize
	if img != nil {
		need = max(need, img.Size())
	}
	if need > c.MaxMemory {
		return 0, fmt.Errorf("the module needs %d bytes of memory, and the limit is %d", need, c.MaxMemory)
	}
	limit := c.MaxMemory
	if p.limits.Max >= 0 {
		limit = min(limit, p.limits.Max*wasm.PageSize)
	}
	return uint64(limit), nil
}

// load instantiates the module with the memory of the instance.
func (i *Instance) load(ctx context.Context, c Config) error {
	p := i.program
	var err error
	i.module, err = p.runtime.InstantiateModule(ctx, p.compiled, c.Module.WithName("").WithStartFunctions())
	if err != nil {
		return fmt.Errorf("instantiate: %w", err)
	}
	// The module has the size that it declares; the image may be larger.
	if i.image != nil && i.growTo(uint32(i.image.Size()/wasm.PageSize)) == nil {
		return errors.Join(errors.New("the memory can't grow to the size of the image"), i.module.Close(ctx))
	}
	if p.rewritten == nil {
		return nil
	}
	for _, name := range p.rewritten.Globals {
		g, ok := i.module.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return errors.Join(fmt.Errorf("global %s is not exported", name), i.module.Close(ctx))
		}
		i.globals = append(i.globals, g)
	}
	return nil
}
