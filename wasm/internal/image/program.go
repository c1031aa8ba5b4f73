// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tetratelabs/wazero"

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
	mover     mover           // of instances from an image, which share engines; nil if they don't
	unstored  error           // why the runtime could not store the code in its directory
}

// Config is what an instance needs besides its program.
type Config struct {
	// Module has the arguments and the environment, which must be the same for all instances of an image. Its name and
	// start functions are replaced.
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
	if p.compiled, err = compileCode(ctx, r, code); isStoring(err) {
		p.unstored = err
		p.compiled, err = recompile(ctx, r, code)
	}
	if isReading(err) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	p.mover = p.sharing()
	if rewritten != nil {
		rewritten.Wasm = nil // it can be large, and is not needed any more
	}
	return p, nil
}

// compileCode is CompileModule without its panics. The compiler panics if the system refuses memory for the code, with
// the error of the system, and after mistakes of its own.
func compileCode(ctx context.Context, r wazero.Runtime, code []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("the compiler has failed: %w", cause)
		default:
			err = fmt.Errorf("the compiler has failed: %v", cause)
		}
	}()
	return r.CompileModule(ctx, code)
}

// recompile is CompileModule after a call that could not store the code in a file, such as on a full disk. The runtime
// has the code in memory nevertheless, where the second call finds it.
func recompile(ctx context.Context, r wazero.Runtime, code []byte) (wazero.CompiledModule, error) {
	compiled, err := compileCode(ctx, r, code)
	if err != nil {
		return nil, err
	}
	_ = compiled.Close(ctx) // ends the use of the code by the first call; that by the second one remains
	return compiled, nil
}

// isStoring reports whether an error of CompileModule is about storing the code. The runtime writes it to a temporary
// file, and renames the file. After all other errors, such as about reading a file, it does not have the code.
func isStoring(err error) bool {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Op == "rename"
	}
	path, ok := errors.AsType[*fs.PathError](err)
	return ok && strings.HasSuffix(path.Path, ".tmp")
}

// ErrUnreadable is the error of [Compile] if the runtime can't read the code in its directory, such as that of a damaged
// file. A runtime without a directory can compile the module.
var ErrUnreadable = errors.New("the stored code can't be read")

// isReading reports whether an error of CompileModule, which is not about storing the code, is about reading it. The
// runtime reads no other files.
func isReading(err error) bool {
	if err == nil || isStoring(err) {
		return false
	}
	_, file := errors.AsType[*fs.PathError](err)
	return file || strings.HasPrefix(err.Error(), "compilationcache: ")
}

// Unstored returns nil, or the reason why the runtime could not store the code in its directory. The program is
// complete anyway.
func (p *Program) Unstored() error { return p.unstored }

// CanImage returns nil, or the reason why no image can be taken of an instance.
func (p *Program) CanImage() error { return p.reason }

// Close releases the code. No instance may be open.
func (p *Program) Close(ctx context.Context) error { return p.compiled.Close(ctx) }

// Start returns a new instance, which [Instance.Initialize] must initialize. It runs no code of the module.
func (p *Program) Start(ctx context.Context, c Config) (*Instance, error) {
	i := &Instance{program: p}
	var m memory
	if p.limits != nil {
		var err error
		if i.limit, err = p.limit(c, nil); err != nil {
			return nil, err
		}
		if m, err = p.system.memory(nil, i.limit); err != nil {
			return nil, err
		}
	}
	var err error
	if i.engine, err = p.newEngine(ctx, c, m, i.limit, 0); err != nil {
		return nil, err
	}
	if p.rewritten == nil {
		return i, nil
	}
	if err := i.writeSegments(); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// limit returns the bytes that a memory may have.
func (p *Program) limit(c Config, img *Image) (uint64, error) {
	need := p.limits.Min * wasm.PageSize
	if img != nil {
		need = max(need, img.size)
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
