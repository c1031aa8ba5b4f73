// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/wasm/host"
)

// The controllers of the benchmark, and how often each wake is measured.
const (
	controllers = 100
	alone       = 100
	together    = 10
)

// greeted is the object whose changes wake the controllers.
const greeted = "n/web"

// benchServer is an API server of ConfigMaps that counts the watches that it has, and receives the writes.
type benchServer struct {
	*configMaps

	url    string
	held   atomic.Int64
	writes chan time.Time
	rounds int
}

func newBenchServer(b *testing.B) *benchServer {
	b.Helper()
	s := &benchServer{configMaps: newConfigMaps(), writes: make(chan time.Time, 10*controllers)}
	s.put(greeted, object{"metadata": object{"labels": object{"hello": "please"}}})
	server := httptest.NewServer(s)
	b.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *benchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Query().Get("watch") != "":
		s.held.Add(1)
		defer s.held.Add(-1)
	case r.Method == http.MethodPatch:
		s.writes <- time.Now()
	}
	s.configMaps.ServeHTTP(w, r)
}

// wake changes the object, and returns the times until each of the controllers has written.
func (s *benchServer) wake(b *testing.B, count int) (times []time.Duration) {
	b.Helper()
	for len(s.writes) > 0 {
		<-s.writes // of another change
	}
	s.rounds++
	begun, deadline := time.Now(), time.After(time.Minute)
	s.put(greeted, object{"data": object{"round": fmt.Sprint(s.rounds)}})
	for len(times) < count {
		select {
		case at := <-s.writes:
			times = append(times, at.Sub(begun))
		case <-deadline:
			b.Fatalf("%d of %d controllers have written", len(times), count)
		}
	}
	return times
}

// wakes are the times from a change on the server until a controller has written.
type wakes struct {
	alone  []time.Duration   // of one controller, sorted
	rounds [][]time.Duration // of all controllers, sorted in each round
}

// measure wakes all controllers, and then the one that remains.
func (s *benchServer) measure(b *testing.B, idle func(), remain func()) (w wakes) {
	b.Helper()
	for range together {
		idle()
		w.rounds = append(w.rounds, slices.Sorted(slices.Values(s.wake(b, controllers))))
	}
	remain()
	for range alone {
		idle()
		w.alone = append(w.alone, s.wake(b, 1)...)
	}
	slices.Sort(w.alone)
	return w
}

// log prints the times.
func (w wakes) log(b *testing.B, what string) {
	b.Helper()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	b.Logf("%s: from a change on the server to the write of one controller: %.2f ms p50, %.2f ms p90, %.2f ms p99",
		what, ms(w.alone[alone/2]), ms(w.alone[alone*9/10]), ms(w.alone[alone*99/100]))
	var first, median, last []time.Duration
	for _, r := range w.rounds {
		first, median, last = append(first, r[0]), append(median, r[controllers/2]), append(last, r[controllers-1])
	}
	for _, all := range [][]time.Duration{first, median, last} {
		slices.Sort(all)
	}
	b.Logf("%s: one change that all %d observe, medians of %d: first write after %.1f ms, half after %.1f ms, last after "+
		"%.1f ms", what, controllers, together, ms(first[together/2]), ms(median[together/2]), ms(last[together/2]))
}

// footprint is what a number of controllers uses. The memory of a process is its proportional share: a page that
// several processes use counts in parts.
type footprint struct {
	memory  float64 // MB
	threads int
	watches int64
}

// footprintOf returns the memory and the threads of processes.
func footprintOf(b *testing.B, pids ...int) (f footprint) {
	b.Helper()
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			b.Skip(err)
		}
		for line := range strings.Lines(string(data)) {
			var name string
			var kB float64
			if _, err := fmt.Sscan(line, &name, &kB); err == nil && name == "Pss:" {
				f.memory += kB * 1024 / 1e6
			}
		}
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			b.Fatal(err)
		}
		f.threads += len(tasks)
	}
	return f
}

// own returns the memory and the threads of this process, which is the host and the server.
func own(b *testing.B) footprint {
	b.Helper()
	debug.FreeOSMemory()
	return footprintOf(b, os.Getpid())
}

// benchHost runs a host until stop is called.
func benchHost(b *testing.B, s *benchServer, idleAfter time.Duration) (h *host.Host, stop func()) {
	b.Helper()
	c, err := client.New(b.Context(), &client.Options{Config: &config.Config{Server: s.url}})
	if err != nil {
		b.Fatal(err)
	}
	h, err = host.New(b.Context(), c, &host.Options{
		IdleAfter: idleAfter, CompilationDir: compiled, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	return h, func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("Run = %v, want context.Canceled", err)
		}
	}
}

func moduleName(n int) string { return fmt.Sprintf("m%d", n) }

// addModules adds modules from a number to another one.
func addModules(b *testing.B, h *host.Host, binary []byte, from, to int) {
	b.Helper()
	for n := from; n < to; n++ {
		if err := h.Set(b.Context(), host.Module{Name: moduleName(n), Binary: binary, Namespace: "n"}); err != nil {
			b.Fatal(err)
		}
	}
}

// awaitModules waits until all modules of a host have a watch and are in a phase, and were not called for a while.
func awaitModules(b *testing.B, h *host.Host, phase host.Phase, quiet time.Duration) {
	b.Helper()
	awaitThat(b, func() error {
		for _, s := range h.Status() {
			if s.Phase != phase || s.Stats.Watches != 1 || s.Stats.Calls < 4 || time.Since(s.Stats.LastCall) < quiet {
				return fmt.Errorf("module %s is not idle: %+v", s.Name, s)
			}
		}
		return nil
	})
}

func awaitThat(b *testing.B, met func() error) {
	b.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(time.Millisecond) {
		err := met()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal(err)
		}
	}
}

// memory measures modules of one program: the first one, and all of them, loaded and unloaded.
func memory(b *testing.B, binary []byte) (first, all map[host.Phase]footprint) {
	b.Helper()
	s := newBenchServer(b)
	empty := own(b)
	b.Logf("the process without modules: %.1f MB, %d threads", empty.memory, empty.threads)
	h, stop := benchHost(b, s, 20*time.Second)
	defer stop()
	since := func(phase host.Phase) footprint {
		awaitModules(b, h, phase, time.Second)
		now := own(b)
		return footprint{now.memory - empty.memory, now.threads - empty.threads, s.held.Load()}
	}
	first, all = map[host.Phase]footprint{}, map[host.Phase]footprint{}
	addModules(b, h, binary, 0, 1)
	first[host.Running] = since(host.Running)
	first[host.Unloaded] = since(host.Unloaded)
	addModules(b, h, binary, 1, controllers)
	awaitModules(b, h, host.Unloaded, 0)
	s.wake(b, controllers) // at the same time
	all[host.Running] = since(host.Running)
	all[host.Unloaded] = since(host.Unloaded)
	return first, all
}

// wakesOf measures the wakes of modules that are in a phase.
func wakesOf(b *testing.B, binary []byte, phase host.Phase, idleAfter time.Duration) wakes {
	b.Helper()
	s := newBenchServer(b)
	h, stop := benchHost(b, s, idleAfter)
	defer stop()
	addModules(b, h, binary, 0, controllers)
	awaitModules(b, h, phase, 0)
	return s.measure(b, func() { awaitModules(b, h, phase, 0) }, func() {
		for n := 1; n < controllers; n++ {
			h.Remove(b.Context(), moduleName(n))
		}
	})
}

// processes measures the controllers as processes.
func processes(b *testing.B, program string) (all footprint, w wakes) {
	b.Helper()
	s := newBenchServer(b)
	kubeconfig := filepath.Join(b.TempDir(), "config")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a",`+
		`"cluster":{"server":%q}}],"contexts":[{"name":"a","context":{"cluster":"a","namespace":"n"}}]}`, s.url)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	var pids []int
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for range controllers {
		cmd := exec.CommandContext(b.Context(), program)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		pids = append(pids, cmd.Process.Pid)
		ends = append(ends, func() {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		})
	}
	awaitHeld := func() {
		awaitThat(b, func() error {
			if n := s.held.Load(); n != int64(len(ends)) {
				return fmt.Errorf("the server has %d watches, want %d", n, len(ends))
			}
			return nil
		})
	}
	awaitHeld()
	for range controllers {
		<-s.writes // the first ones
	}
	<-time.After(time.Second) // as for modules
	all = footprintOf(b, pids...)
	all.watches = s.held.Load()
	w = s.measure(b, awaitHeld, func() {
		for _, end := range ends[1:] {
			end()
		}
		ends = ends[:1]
		awaitHeld()
	})
	return all, w
}

// BenchmarkHundredControllers compares a hundred modules with a hundred processes of the same program,
// hello-controller, with a server of one object. All have written once, and are idle. The time per operation has no
// meaning.
func BenchmarkHundredControllers(b *testing.B) {
	binary, err := buildGuest("../../examples", "./hello-controller")
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), "hello")
	build := exec.CommandContext(b.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "./hello-controller")
	build.Dir, build.Env = "../../examples", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	first, all := memory(b, binary) // before anything else has used memory
	native, nativeWakes := processes(b, program)
	loaded := wakesOf(b, binary, host.Running, -1)
	unloaded := wakesOf(b, binary, host.Unloaded, 200*time.Millisecond)
	for b.Loop() {
	}

	b.Logf("%d processes: %.1f MB, %d threads, %d watches on the server",
		controllers, native.memory, native.threads, native.watches)
	for _, phase := range []host.Phase{host.Running, host.Unloaded} {
		one, m := first[phase], all[phase]
		b.Logf("modules in the phase %s: %.1f MB for the first with its code, %.1f MB for all %d, so %.3f MB for each further "+
			"one; %d threads more than without modules, %d watches on the server", phase, one.memory, m.memory, controllers,
			(m.memory-one.memory)/(controllers-1), m.threads, m.watches)
		b.Logf("%d processes use %.1f times the memory of the modules in the phase %s, and %d times as many watches",
			controllers, native.memory/m.memory, phase, native.watches/m.watches)
	}
	nativeWakes.log(b, "processes")
	loaded.log(b, "loaded modules")
	unloaded.log(b, "unloaded modules")
}

// BenchmarkDistinctModules measures the memory and the time to compile of modules that share no code: hello-controller
// with another digest each. The time per operation has no meaning.
func BenchmarkDistinctModules(b *testing.B) {
	binary, err := buildGuest("../../examples", "./hello-controller")
	if err != nil {
		b.Fatal(err)
	}
	s := newBenchServer(b)
	before := own(b)
	h, stop := benchHost(b, s, -1)
	defer stop()
	b.Logf("the file of each module has %.1f MB", float64(len(binary))/1e6)
	for n := range 4 {
		begun := time.Now()
		addModules(b, h, append(slices.Clone(binary), 0, 2, 1, 'a'+byte(n)), n, n+1)
		took := time.Since(begun)
		awaitModules(b, h, host.Running, time.Second)
		now := own(b)
		b.Logf("distinct module %d: %.1f MB more with its code, %d threads more; added in %.1f s",
			n+1, now.memory-before.memory, now.threads-before.threads, took.Seconds())
		before = now
	}
	for b.Loop() {
	}
}
