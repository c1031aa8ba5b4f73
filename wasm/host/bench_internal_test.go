// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core/abi"
)

// private returns the bytes of memory that only this process has.
func private(b *testing.B) float64 {
	b.Helper()
	debug.FreeOSMemory()
	return privateOf(b, os.Getpid())
}

// privateOf returns the bytes of memory that only one process has.
func privateOf(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	total := 0.0
	for line := range strings.Lines(string(data)) {
		var name string
		var kB float64
		if _, err := fmt.Sscan(line, &name, &kB); err == nil && strings.HasPrefix(name, "Private_") {
			total += kB * 1024
		}
	}
	return total
}

// BenchmarkHundredIdleModules measures the memory of a hundred modules of one Go program: loaded and unloaded. The time
// is that of a wake of an unloaded one: its memory is restored and a call returns.
func BenchmarkHundredIdleModules(b *testing.B) {
	const count = 100
	file := filepath.Join(b.TempDir(), "guest.wasm")
	args := []string{"build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", file, "./testdata/guest"}
	cmd := exec.CommandContext(b.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.New(b.Context(), &client.Options{Config: &config.Config{Server: "http://127.0.0.1:1"}})
	if err != nil {
		b.Fatal(err)
	}
	h, err := New(b.Context(), c, &Options{IdleAfter: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("Run = %v, want context.Canceled", err)
		}
	}()
	empty, sizes := private(b), map[string]float64{}
	guests := make([]*guest, count)
	for n := range guests {
		name := fmt.Sprint("m", n)
		if err := h.Set(b.Context(), Module{Name: name, Binary: binary, Args: []string{"ticker"}}); err != nil {
			b.Fatal(err)
		}
		if h.mu.Lock(); n == 0 {
			guests[n] = h.guests[name]
			h.mu.Unlock()
			awaitIdle(b, guests[n])
			sizes["MB/program"] = (private(b) - empty) / 1e6
			empty = private(b) // with the first module
			continue
		}
		guests[n] = h.guests[name]
		h.mu.Unlock()
	}
	for _, g := range guests {
		awaitIdle(b, g)
	}
	sizes["kB/loaded"] = (private(b) - empty) / (count - 1) / 1e3
	for _, g := range guests {
		unloadNow(b, h, g)
	}
	sizes["kB/unloaded"] = (private(b) - empty) / (count - 1) / 1e3
	var times []time.Duration
	for n := 0; b.Loop(); n++ {
		g := guests[n%count]
		h.acquire()
		begun := time.Now()
		err := g.instance.load()
		if err == nil {
			_, _, err = g.instance.perform(&export{Name: abi.Tick})
		}
		times = append(times, time.Since(begun))
		h.release()
		if err != nil {
			b.Fatal(err)
		}
		unloadNow(b, h, g)
	}
	for unit, size := range sizes {
		b.ReportMetric(size, unit)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "ms/wake-p50")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1e3, "ms/wake-p99")
}

// awaitIdle waits until the program of a guest, a ticker, has ended its last timer.
func awaitIdle(b *testing.B, g *guest) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if s := g.status(); s.Phase == Running && s.Stats.Calls > 3 && time.Since(s.Stats.LastCall) > 500*time.Millisecond {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("the module is not idle: %+v", g.status())
		}
		<-time.After(10 * time.Millisecond)
	}
}

// unloadNow unloads an idle guest.
func unloadNow(b *testing.B, h *Host, g *guest) {
	b.Helper()
	h.acquire()
	defer h.release()
	if err := g.instance.unload(time.Now()); err != nil || g.instance.body != nil {
		b.Fatalf("the module was not unloaded: %v", err)
	}
}
