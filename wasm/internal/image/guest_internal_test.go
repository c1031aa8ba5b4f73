// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

const mebibyte = 1 << 20

// guestModule is testdata/guest, built once for all tests.
var guestModule = sync.OnceValues(func() (*wasm.Module, error) { return build("./testdata/guest") })

// jsonModule is testdata/jsonguest, built once for all benchmarks.
var jsonModule = sync.OnceValues(func() (*wasm.Module, error) { return build("./testdata/jsonguest") })

// build compiles a guest.
func build(folder string) (*wasm.Module, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "guest.wasm")
	cmd := exec.CommandContext(context.Background(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, folder)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return wasm.Read(content)
}

// testRuntime runs all tests' modules, so that each is compiled once.
var testRuntime = sync.OnceValue(func() wazero.Runtime {
	r := wazero.NewRuntime(context.Background())
	wasi_snapshot_preview1.MustInstantiate(context.Background(), r)
	return r
})

// clock is a clock that a test moves.
type clock struct{ now atomic.Int64 }

func (c *clock) config() Config {
	m := wazero.NewModuleConfig().WithArgs("guest").
		WithNanotime(func() int64 { return c.now.Load() }, 1).
		WithWalltime(func() (int64, int32) { n := c.now.Load(); return n / 1e9, int32(n % 1e9) }, 1)
	return Config{Module: m, MaxMemory: 64 * mebibyte}
}

// guest is a program with an image.
type guest struct {
	*clock
	t       testing.TB
	program *Program
	image   *Image
}

// newGuest returns the program of testdata/guest, with an image.
func newGuest(t testing.TB, s system) *guest {
	t.Helper()
	m, err := guestModule()
	if err != nil {
		t.Fatal(err)
	}
	return newGuestOf(t, m, s)
}

func newGuestOf(t testing.TB, m *wasm.Module, s system) *guest {
	t.Helper()
	g := &guest{t: t, clock: &clock{}}
	g.now.Store(1_000_000_000)
	var err error
	if g.program, err = compile(experimental.WithCompilationWorkers(t.Context(), 2), testRuntime(), m, s); err != nil {
		t.Fatal(err)
	}
	seed, err := g.program.Start(t.Context(), g.config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = seed.Close() }()
	if err := seed.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.image, err = seed.Image(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.image.Close)
	return g
}

// start returns a new instance from the image.
func (g *guest) start() *Instance {
	g.t.Helper()
	i, err := g.image.Start(g.t.Context(), g.config())
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = i.Close() })
	return i
}

// call calls an export and returns its result, or 0.
func (g *guest) call(i *Instance, export string, params ...uint64) int64 {
	g.t.Helper()
	results, err := i.Call(g.t.Context(), export, params...)
	if err != nil {
		g.t.Fatalf("%s: %v", export, err)
	}
	if len(results) == 0 {
		return 0
	}
	return int64(results[0])
}
