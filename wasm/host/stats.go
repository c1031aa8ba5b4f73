// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"

	"github.com/kube-go/sdk/runtime/debugpage"
	"github.com/kube-go/sdk/runtime/metrics"
)

// Stats counts what a module has done since it was set.
type Stats struct {
	Calls       uint64        // of the guest by the host
	Running     time.Duration // in the guest
	Throttled   time.Duration // for which calls have waited because of Limits.CPU
	LastCall    time.Time
	Starts      uint64 // of instances
	Failures    uint64 // of instances
	Unloads     uint64 // of idle instances
	Requests    uint64 // that were sent, by the guest and for it, with one for each shared watch that began
	Dropped     uint64 // log records over the limit
	Operations  int    // that have not ended
	Watches     int    // that have not ended, of actors
	MemoryBytes int64  // bytes of linear memory of the loaded instances
	BufferBytes int64  // bytes of the host for operations, see Limits.BufferBytes
	CacheBytes  int64  // bytes of the host for the objects of watches, see Limits.CacheBytes
}

// counted is what an instance contributes to the stats of its module.
type counted struct {
	operations, watches int
	memory              int64
}

// called counts a call of an instance.
func (g *guest) called(i *instance, took time.Duration) {
	g.mu.Lock()
	g.stats.Calls++
	g.stats.Running += took
	g.stats.LastCall = time.Now()
	g.mu.Unlock()
	memory := int64(0)
	if m := i.body.Memory(); m != nil { // the kernel may refuse memory for the call
		memory = int64(m.Size())
	}
	g.count(i, counted{len(i.operations), i.watching, memory})
}

// count replaces what an instance contributes to the stats.
func (g *guest) count(i *instance, now counted) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.stats
	s.Operations += now.operations - i.counted.operations
	s.Watches += now.watches - i.counted.watches
	s.MemoryBytes += now.memory - i.counted.memory
	i.counted = now
}

// unloadedOnce counts that an instance was unloaded.
func (g *guest) unloadedOnce(i *instance) {
	g.mu.Lock()
	g.stats.Unloads++
	g.mu.Unlock()
	g.count(i, counted{operations: len(i.operations), watches: i.watching})
}

// Families returns the metrics of the modules, for [metrics.Registry.AddFamilies].
func (h *Host) Families() []metrics.Family {
	module := []string{"module"}
	all := []metrics.Family{
		{Name: "kube_wasm_phase", Help: "1 for the current phase of a module.", Type: metrics.Gauge, Labels: []string{"module", "phase"}},
		{Name: "kube_wasm_calls_total", Help: "Total number of calls of the module by the host.", Type: metrics.Counter, Labels: module},
		{Name: "kube_wasm_run_seconds_total", Help: "Total time in the module.", Type: metrics.Counter, Labels: module},
		{Name: "kube_wasm_starts_total", Help: "Total number of started instances.", Type: metrics.Counter, Labels: module},
		{Name: "kube_wasm_failures_total", Help: "Total number of failed instances.", Type: metrics.Counter, Labels: module},
		{
			Name: "kube_wasm_dropped_log_records_total", Help: "Total number of log records over the limit.",
			Type: metrics.Counter, Labels: module,
		},
		{
			Name: "kube_wasm_unloads_total", Help: "Total number of unloaded idle instances.", Type: metrics.Counter,
			Labels: module,
		},
		{
			Name: "kube_wasm_requests_total", Help: "Total number of requests that the module and the host for it have sent.",
			Type: metrics.Counter, Labels: module,
		},
		{Name: "kube_wasm_operations", Help: "Operations that have not ended.", Type: metrics.Gauge, Labels: module},
		{Name: "kube_wasm_watches", Help: "Watches of actors that have not ended.", Type: metrics.Gauge, Labels: module},
		{
			Name: "kube_wasm_memory_bytes", Help: "Size of the linear memory of loaded instances.", Type: metrics.Gauge,
			Labels: module,
		},
		{
			Name: "kube_wasm_buffered_bytes", Help: "Memory of the host that operations of the module use.", Type: metrics.Gauge,
			Labels: module,
		},
		{
			Name: "kube_wasm_throttled_seconds_total", Help: "Total time for which calls have waited because of the limit of CPU " +
				"time.",
			Type: metrics.Counter, Labels: module,
		},
		{
			Name: "kube_wasm_cached_bytes", Help: "Memory of the host for the objects that the module watches, as if no other " +
				"module watched them.",
			Type: metrics.Gauge, Labels: module,
		},
	}
	for _, m := range h.Status() {
		s := m.Stats
		values := []float64{
			1, float64(s.Calls), s.Running.Seconds(), float64(s.Starts), float64(s.Failures), float64(s.Dropped),
			float64(s.Unloads), float64(s.Requests), float64(s.Operations), float64(s.Watches), float64(s.MemoryBytes),
			float64(s.BufferBytes), s.Throttled.Seconds(), float64(s.CacheBytes),
		}
		for n, v := range values {
			labels := []string{m.Name}
			if n == 0 {
				labels = append(labels, string(m.Phase))
			}
			all[n].Samples = append(all[n].Samples, metrics.Sample{Labels: labels, Value: v})
		}
	}
	return all
}

// Table returns the modules, for the debug page.
func (h *Host) Table() debugpage.Table {
	t := debugpage.Table{
		Title:   "WebAssembly modules",
		Columns: []string{"module", "digest", "phase", "memory", "cache", "operations", "calls", "last call", "failures", "last error"},
	}
	for _, m := range h.Status() {
		last, failure := "", ""
		if !m.Stats.LastCall.IsZero() {
			last = time.Since(m.Stats.LastCall).Truncate(time.Second).String() + " ago"
		}
		if m.Err != nil {
			failure = m.Err.Error()
		}
		t.Rows = append(t.Rows, []string{
			m.Name, m.Digest, string(m.Phase), mebibytes(m.Stats.MemoryBytes), mebibytes(m.Stats.CacheBytes),
			fmt.Sprint(m.Stats.Operations), fmt.Sprint(m.Stats.Calls), last, fmt.Sprint(m.Stats.Failures), failure,
		})
	}
	return t
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
