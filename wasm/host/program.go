// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/binary"
	"github.com/kube-go/sdk/wasm/internal/image"
)

// program is a compiled module, which its guests share.
type program struct {
	compiled *image.Program
	actor    bool // it has the exports of an actor
	quiesces bool // it has the optional export
	guests   int  // guarded by the host's mu

	mu     sync.Mutex
	images map[string]*image.Image // of initialised instances, by their arguments and environment
}

// compile returns the program of a module.
func (h *Host) compile(ctx context.Context, digest string, wasm []byte) (*program, error) {
	h.mu.Lock()
	p := h.programs[digest]
	h.mu.Unlock()
	if p != nil {
		return p, nil
	}
	m, err := binary.Read(wasm)
	if err != nil {
		return nil, err
	}
	if err := checkModule(m); err != nil {
		return nil, err
	}
	p = &program{images: make(map[string]*image.Image)}
	for _, e := range m.Exports {
		p.actor = p.actor || e.Name == abi.Start
		p.quiesces = p.quiesces || e.Name == abi.Quiesce
	}
	if p.compiled, err = image.Compile(ctx, h.runtime, m); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs[digest] = p
	return p, nil
}

// close releases the code and the images. No guest uses them.
func (p *program) close(ctx context.Context) {
	for _, img := range p.images {
		img.Close()
	}
	_ = p.compiled.Close(ctx) // no instance is open
}

// checkModule returns an error if a module can't be a guest.
func checkModule(m *binary.Module) error {
	imports := []string{abi.Submit, abi.Cancel, abi.Call, abi.Fetch, abi.Log}
	for _, f := range m.Imports {
		ours := f.Module == abi.Module && slices.Contains(imports, f.Name)
		if f.Kind != binary.Function || f.Module != wasi_snapshot_preview1.ModuleName && !ours {
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
	output, t := &lines{instance: i}, i.tape
	c := wazero.NewModuleConfig().
		WithArgs(args...).
		WithStdout(output).WithStderr(output).
		WithRandSource(&random{t, rand.Reader}).
		WithNanotime(func() int64 { return t.clock(func() int64 { return int64(elapsed(clockMonotonic, time.Now())) }) }, 1).
		WithWalltime(func() (int64, int32) {
			now := t.clock(func() int64 { return time.Now().UnixNano() })
			return now / 1e9, int32(now % 1e9)
		}, 1)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c = c.WithEnv(name, env[name])
	}
	return image.Config{Module: c, MaxMemory: i.guest.module.Limits.Memory}
}

// initialize runs the initialisation of a new instance.
func (i *instance) initialize(body *image.Instance, err error) error {
	if err != nil {
		return err
	}
	i.body = body
	_, err = i.limited("_initialize", func(ctx context.Context) ([]uint64, error) { return nil, body.Initialize(ctx) })
	return err
}

// newInstance returns a new instance of a guest, which is initialised. If it is recorded, so is its initialisation.
func (h *Host) newInstance(g *guest, t *tape) (*instance, error) {
	i := &instance{guest: g, tape: t, operations: make(map[int64]*operation)}
	ctx, stop := context.WithCancelCause(h.ctx)
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
	if i.tape != nil || p.compiled.CanImage() != nil {
		return i.initialize(p.compiled.Start(i.ctx, i.config()))
	}
	img, err := p.image(i)
	if err != nil {
		return err
	}
	i.image = img
	i.body, err = img.Start(i.ctx, p.compiled, i.config())
	return err
}

// image returns the image for an instance. The first call makes it, with the functions of that instance.
func (p *program) image(i *instance) (*image.Image, error) {
	args, env := i.guest.setting()
	var key strings.Builder
	fmt.Fprintf(&key, "%q", args)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&key, " %q=%q", name, env[name])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if img := p.images[key.String()]; img != nil {
		return img, nil
	}
	if err := i.initialize(p.compiled.Start(i.ctx, i.config())); err != nil {
		return nil, err
	}
	img, err := i.body.Image()
	if err != nil {
		return nil, err
	}
	_ = i.body.Close(i.ctx) // the instance begins again from its image
	p.images[key.String()] = img
	return img, nil
}
