// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newBenchmark returns the program of testdata/jsonguest, with an image.
func newBenchmark(b *testing.B) *guest {
	m, err := jsonModule()
	if err != nil {
		b.Fatal(err)
	}
	return newGuestOf(b, m, platform)
}

func BenchmarkStartFromImage(b *testing.B) {
	g := newBenchmark(b)
	for b.Loop() {
		i, err := g.image.Start(b.Context(), g.config())
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// busy returns an instance that has done some work.
func (g *guest) busy() *Instance {
	i := g.start()
	g.call(i, "sleep", 1e15)
	for n := range uint64(50) {
		g.call(i, "wake", n)
	}
	return i
}

func BenchmarkSnapshot(b *testing.B) {
	g := newBenchmark(b)
	i := g.busy()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := i.Snapshot(&out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out.Len()), "B/snapshot")
}

func BenchmarkRestoreAndWake(b *testing.B) {
	g := newBenchmark(b)
	i := g.busy()
	file := filepath.Join(b.TempDir(), "snapshot")
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	if err := i.Snapshot(f); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		i, err := g.image.Restore(b.Context(), g.config(), f)
		if err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
		g.call(i, "wake", 3)
		times = append(times, time.Since(start))
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*9/10].Microseconds()), "p90-µs")
}

// BenchmarkWakeOfAParkedInstance compares with BenchmarkWake.
func BenchmarkWakeOfAParkedInstance(b *testing.B) {
	g := newBenchmark(b)
	i := g.busy()
	for b.Loop() {
		i.Park()
		g.call(i, "wake", 3)
	}
}

func BenchmarkWake(b *testing.B) {
	g := newBenchmark(b)
	i := g.busy()
	for b.Loop() {
		g.call(i, "wake", 3)
	}
}

// BenchmarkIdleMemory measures the private memory of 100 idle instances, each after 50 events.
func BenchmarkIdleMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("it reads /proc")
	}
	const instances = 100
	g := newBenchmark(b)
	for b.Loop() {
		before := private(b)
		all := make([]*Instance, instances)
		for n := range all {
			i, err := g.image.Start(b.Context(), g.config())
			if err != nil {
				b.Fatal(err)
			}
			all[n] = i
			g.call(all[n], "sleep", 1e15)
		}
		fresh := private(b)
		for _, i := range all {
			for n := range uint64(50) {
				g.call(i, "wake", n)
			}
		}
		after := private(b)
		b.ReportMetric(float64(fresh-before)/instances, "KiB/started")
		b.ReportMetric(float64(after-before)/instances, "KiB/after-50-events")
		for _, i := range all {
			_ = i.Close()
		}
		clear(all)
		b.ReportMetric(float64(private(b)-before)/instances, "KiB/closed")
	}
}

// private returns the KiB of memory that only this process has.
func private(b *testing.B) int {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // the first one runs finalizers
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	sum := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if fields[0] == "Private_Dirty:" || fields[0] == "Private_Clean:" {
			n, err := strconv.Atoi(fields[1])
			if err != nil {
				b.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
