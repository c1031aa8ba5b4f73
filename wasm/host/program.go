// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/binary"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// program is a compiled module, which its guests share.
type program struct {
	ready    chan struct{} // closed when the fields below are set
	err      error         // why the module can't be a guest
	compiled *image.Program
	actor    bool // it has the exports of an actor
	quiesces bool // it has the optional export

	users int // guests, and calls of Set; guarded by the host's mu

	mu     sync.Mutex             // guards images and their users
	images map[string]*imageEntry // of initialized instances, by their arguments and environment
}

// imageEntry is an image, or an attempt to make one.
type imageEntry struct {
	ready chan struct{} // closed when img is set
	img   *image.Image  // nil if the attempt has failed
	users map[*guest]bool
}

// release ends the use of the program's images by a guest, which has no instance any more. An image that no other guest
// uses is closed.
func (p *program) release(g *guest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.images {
		if delete(e.users, g); len(e.users) > 0 {
			continue
		}
		delete(p.images, key)
		if e.img != nil {
			e.img.Close()
		}
	}
}

// program returns the program of a module, compiled once for all concurrent calls. The caller calls leave when it does
// not use it any more.
func (h *Host) program(ctx context.Context, digest string, wasm []byte) (*program, error) {
	for {
		h.mu.Lock()
		if h.ended {
			h.mu.Unlock()
			return nil, errEnded
		}
		p, found := h.programs[digest]
		if !found {
			p = &program{ready: make(chan struct{}), images: make(map[string]*imageEntry)}
			h.programs[digest] = p
			h.compiling.Add(1)
		}
		p.users++
		h.mu.Unlock()
		if !found {
			if p.err = p.compile(ctx, h, wasm); p.err != nil {
				h.forget(digest, p)
			} else if err := p.compiled.Unstored(); err != nil {
				h.warnOfCache(ctx, "compiled module can't be stored", digest, err)
			}
			h.compiling.Done()
			close(p.ready)
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
		}
		err := context.Cause(ctx) // also if the compilation, which ctx does not interrupt, has succeeded
		if err == nil {
			err = p.err
		}
		if err == nil {
			return p, nil
		}
		h.leave(ctx, digest, p)
		if !found || ctx.Err() != nil {
			return nil, err
		} // otherwise the context of another call may have ended
	}
}

// forget makes the next call compile the module again.
func (h *Host) forget(digest string, p *program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.programs[digest] == p {
		delete(h.programs, digest)
	}
}

// leave ends a use of a program. The last one releases it.
func (h *Host) leave(ctx context.Context, digest string, p *program) {
	h.mu.Lock()
	p.users--
	last := p.users == 0
	if last && h.programs[digest] == p {
		delete(h.programs, digest)
	}
	h.mu.Unlock()
	if last {
		p.close(context.WithoutCancel(ctx))
	}
}

// compile compiles a module.
func (p *program) compile(ctx context.Context, h *Host, wasm []byte) error {
	m, err := binary.Read(wasm)
	if err != nil {
		return err
	}
	if err := checkModule(m); err != nil {
		return err
	}
	for _, e := range m.Exports {
		p.actor = p.actor || e.Name == abi.Start
		p.quiesces = p.quiesces || e.Name == abi.Quiesce
	}
	if p.compiled, err = image.Compile(ctx, h.runtime, m); !errors.Is(err, image.ErrUnreadable) {
		return err
	}
	h.warnOfCache(ctx, "compiled module can't be read and is compiled again: remove the directory if it is damaged",
		digestOf(wasm), err)
	r, err := h.withoutCache()
	if err != nil {
		return err
	}
	p.compiled, err = image.Compile(ctx, r, m)
	return err
}

// warnOfCache logs an error about a compiled module in CompilationDir.
func (h *Host) warnOfCache(ctx context.Context, message, digest string, err error) {
	h.options.Logger.LogAttrs(ctx, slog.LevelWarn, message,
		slog.String("dir", h.options.CompilationDir), slog.String("digest", digest), slog.Any("err", err))
}

// close releases the code and the images. No guest uses them.
func (p *program) close(ctx context.Context) {
	for _, e := range p.images {
		if e.img != nil {
			e.img.Close()
		}
	}
	if p.compiled != nil {
		_ = p.compiled.Close(ctx) // no instance is open
	}
}

// CheckModule returns an error if hosts refuse a module, for example because it imports a function that they do not have.
// It does not call the module, so [Status] may have further errors.
func CheckModule(wasm []byte) error {
	m, err := binary.Read(wasm)
	if err != nil {
		return err
	}
	return checkModule(m)
}

// checkModule returns an error if a module can't be a guest.
func checkModule(m *binary.Module) error {
	imports := map[string][]string{
		abi.Module:                        {abi.Submit, abi.Cancel, abi.Call, abi.Fetch, abi.Log},
		wasi_snapshot_preview1.ModuleName: wasiNames(),
	}
	for _, f := range m.Imports {
		if f.Kind != binary.Function || !slices.Contains(imports[f.Module], f.Name) {
			return fmt.Errorf("the module imports the %s %s of %s, which this host does not have", f.Kind, f.Name, f.Module)
		}
	}
	exports := make(map[string]binary.Export, len(m.Exports))
	for _, e := range m.Exports {
		exports[e.Name] = e
	}
	if exports["memory"].Kind != binary.Memory {
		return fmt.Errorf("the module does not export its memory as %q", "memory")
	}
	common := []string{"_initialize", abi.Alloc, abi.Describe}
	profile := []string{abi.Reconcile}
	if exports[abi.Start].Name != "" {
		profile = []string{abi.Start, abi.Wake, abi.Tick}
	}
	for _, name := range slices.Concat(common, profile) {
		if e, ok := exports[name]; !ok || e.Kind != binary.Function {
			return fmt.Errorf("the module does not export the function %s", name)
		}
	}
	for name, want := range map[string]string{
		"_initialize": "()",
		abi.Alloc:     "(i32) -> (i32)",
		abi.Describe:  "() -> (i64)",
		abi.Start:     "(i32, i32) -> (i32)",
		abi.Wake:      "(i64, i32, i32, i32) -> (i32)",
		abi.Tick:      "()",
		abi.Quiesce:   "(i32) -> (i32)",
		abi.Reconcile: "(i32, i32) -> (i64)",
	} {
		if e, ok := exports[name]; ok && e.Type != want {
			return fmt.Errorf("the module exports the function %s of the type %s, want %s", name, e.Type, want)
		}
	}
	return nil
}

// setting returns the arguments and the environment that a module reads from WASI. Those of an actor are in its Startup
// instead, so that all actors of a program share one image.
func (g *guest) setting() (args []string, env map[string]string) {
	if g.program.actor {
		return []string{"guest"}, nil
	}
	return append([]string{g.module.Name}, g.module.Args...), g.module.Env
}

// config returns what an instance needs besides its program.
func (i *instance) config() image.Config {
	args, env := i.guest.setting()
	c := wazero.NewModuleConfig().WithArgs(args...)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c = c.WithEnv(name, env[name])
	}
	return image.Config{Module: c, MaxMemory: i.guest.module.Limits.MemoryBytes}
}

// initialize runs the initialization of a new instance.
func (i *instance) initialize(body *image.Instance, err error) error {
	if err != nil {
		return err
	}
	i.body = body
	_, err = i.limited("_initialize", func(ctx context.Context) ([]uint64, error) { return nil, body.Initialize(ctx) })
	return err
}

// newInstance returns a new instance of a guest, which is initialized. If it is recorded, so is its initialization. The
// caller holds a token of the host.
func (h *Host) newInstance(g *guest, t *tape) (*instance, error) {
	i := &instance{guest: g, tape: t, operations: make(map[int64]*operation), seat: seat{host: h}}
	ctx, stop := context.WithCancelCause(g.ctx)
	i.stop = stop
	i.ctx = context.WithValue(ctx, instanceKey{}, i)
	err := i.begin()
	if err != nil {
		i.end(err)
		return nil, err
	}
	return i, nil
}

// begin starts the instance: from the shared image of its program, if that is possible.
func (i *instance) begin() error {
	p := i.guest.program
	if i.tape != nil || i.guest.trial != nil || p.compiled.CanImage() != nil {
		return i.initialize(p.compiled.Start(i.ctx, i.config()))
	}
	img, err := p.image(i)
	if err != nil {
		return err
	}
	i.image = img
	i.body, err = img.Start(i.ctx, i.config())
	return err
}

// image returns the image for an instance. The first call makes it, with the functions of that instance; others wait
// for it, and other guests run meanwhile.
func (p *program) image(i *instance) (*image.Image, error) {
	args, env := i.guest.setting()
	var key strings.Builder
	fmt.Fprintf(&key, "%q", args)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&key, " %q=%q", name, env[name])
	}
	for {
		p.mu.Lock()
		e, found := p.images[key.String()]
		if !found {
			e = &imageEntry{ready: make(chan struct{}), users: make(map[*guest]bool)}
			p.images[key.String()] = e
		}
		e.users[i.guest] = true
		p.mu.Unlock()
		if !found {
			img, err := p.newImage(i)
			p.mu.Lock()
			defer p.mu.Unlock()
			e.img = img
			if err != nil {
				delete(p.images, key.String())
			}
			close(e.ready)
			return img, err
		}
		i.guest.host.release()
		select {
		case <-e.ready:
		case <-i.ctx.Done():
		}
		i.guest.host.acquire()
		if err := context.Cause(i.ctx); err != nil {
			return nil, err
		}
		if e.img != nil {
			return e.img, nil
		}
	}
}

// newImage initializes an instance, and returns the image of it.
func (p *program) newImage(i *instance) (*image.Image, error) {
	if err := i.initialize(p.compiled.Start(i.ctx, i.config())); err != nil {
		return nil, err
	}
	img, err := i.body.Image()
	if err != nil {
		return nil, err
	}
	_ = i.body.Close() // the instance begins again from its image
	return img, nil
}
