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
	Calls      uint64        // of the guest by the host
	Running    time.Duration // in the guest
	LastCall   time.Time
	Starts     uint64 // of instances
	Failures   uint64 // of instances
	Dropped    uint64 // log records over the limit
	Operations int    // that have not ended
	Memory     int64  // bytes of linear memory
}

// called counts a call of an instance.
func (g *guest) called(i *instance, took time.Duration) {
	operations, memory := len(i.operations), int64(i.body.Memory().Size())
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.stats
	s.Calls++
	s.Running += took
	s.LastCall = time.Now()
	s.Operations, s.Memory = operations, memory
}

// Families returns the metrics of the modules, for [metrics.Registry.Add].
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
		{Name: "kube_wasm_operations", Help: "Operations that have not ended.", Type: metrics.Gauge, Labels: module},
		{Name: "kube_wasm_memory_bytes", Help: "Size of the linear memory.", Type: metrics.Gauge, Labels: module},
	}
	for _, m := range h.Status() {
		s := m.Stats
		values := []float64{
			1, float64(s.Calls), s.Running.Seconds(), float64(s.Starts), float64(s.Failures), float64(s.Dropped),
			float64(s.Operations), float64(s.Memory),
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
		Columns: []string{"module", "digest", "phase", "memory", "operations", "calls", "last call", "failures", "last error"},
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
			m.Name, m.Digest, string(m.Phase), fmt.Sprintf("%.1f MiB", float64(m.Stats.Memory)/(1<<20)),
			fmt.Sprint(m.Stats.Operations), fmt.Sprint(m.Stats.Calls), last, fmt.Sprint(m.Stats.Failures), failure,
		})
	}
	return t
}
