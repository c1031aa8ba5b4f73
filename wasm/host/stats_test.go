// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-go/sdk/runtime/metrics"
	"github.com/kube-go/sdk/wasm/host"
)

// values returns the metrics of a module by name, without the prefix. The phase is the label of its value.
func values(t *testing.T, families []metrics.Family, module string) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, f := range families {
		for _, s := range f.Samples {
			if len(s.Labels) != len(f.Labels) {
				t.Errorf("%s has the labels %q for %q", f.Name, s.Labels, f.Labels)
			}
			if s.Labels[0] == module {
				all[strings.Join(append([]string{strings.TrimPrefix(f.Name, "kube_wasm_")}, s.Labels[1:]...), " ")] = s.Value
			}
		}
	}
	return all
}

// await waits until the state of a module meets a condition.
func await(t *testing.T, h *host.Host, module string, met func(host.Status) bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		if slices.ContainsFunc(h.Status(), func(s host.Status) bool { return s.Name == module && met(s) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("module %s: %+v", module, h.Status())
		}
	}
}

func TestMetricsAndDebugPageDescribeModules(t *testing.T) {
	h, log := run(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "body") }, host.Options{
		IdleAfter: time.Millisecond, MaxFailures: 1,
	})
	set(t, h, "idle", "idle")
	set(t, h, "bad", "panic")
	set(t, h, "sender", "get", "/a")
	log.await(t, "idle [begun 0 1 2]", "with 4 bytes")
	await(t, h, "idle", func(s host.Status) bool { return s.Phase == host.Unloaded && s.Stats.MemoryBytes == 0 })
	await(t, h, "sender", func(s host.Status) bool { return s.Phase == host.Unloaded })
	await(t, h, "bad", func(s host.Status) bool { return s.Phase == host.Quarantined })

	families := h.Families()
	idle, bad, sender := values(t, families, "idle"), values(t, families, "bad"), values(t, families, "sender")
	for _, tt := range []struct {
		what      string
		got, want float64
	}{
		{"the phase of idle", idle["phase Unloaded"], 1},
		{"the memory of idle, which is unloaded", idle["memory_bytes"], 0},
		{"the starts of idle", idle["starts_total"], 1},
		{"the failures of idle", idle["failures_total"], 0},
		{"the requests of idle", idle["requests_total"], 0},
		{"the phase of bad", bad["phase Quarantined"], 1},
		{"the memory of bad, which has ended", bad["memory_bytes"], 0},
		{"the failures of bad", bad["failures_total"], 1},
		{"the requests of sender", sender["requests_total"], 1},
		{"the operations of sender", sender["operations"], 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, tt.got, tt.want)
		}
	}
	for _, name := range []string{"calls_total", "run_seconds_total", "unloads_total"} {
		if idle[name] <= 0 {
			t.Errorf("%s of idle: %v, want more than 0", name, idle[name])
		}
	}

	table := h.Table()
	rows := make(map[string]map[string]string)
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Fatalf("the row %q has not the columns %q", row, table.Columns)
		}
		rows[row[0]] = make(map[string]string)
		for n, column := range table.Columns {
			rows[row[0]][column] = row[n]
		}
	}
	for module, want := range map[string]map[string]string{
		"idle": {"phase": "Unloaded", "memory": "0.0 MiB", "failures": "0", "last error": ""},
		"bad":  {"phase": "Quarantined", "memory": "0.0 MiB", "failures": "1"},
	} {
		for column, text := range want {
			if got := rows[module][column]; got != text {
				t.Errorf("%s of %s is %q, want %q", column, module, got, text)
			}
		}
	}
	if row := rows["bad"]; !strings.HasPrefix(row["digest"], "sha256:") || !strings.HasSuffix(row["last call"], " ago") ||
		row["last error"] == "" {
		t.Errorf("the row of bad is %v, want a digest, the last call and the last error", row)
	}
}

func TestMemoryOfLoadedModulesIsCounted(t *testing.T) {
	h, log := run(t, nil, host.Options{IdleAfter: -1})
	set(t, h, "a", "idle")
	log.await(t, "idle [begun 0 1 2]")
	await(t, h, "a", func(s host.Status) bool { return s.Stats.MemoryBytes > 1<<20 })
	if got := values(t, h.Families(), "a")["memory_bytes"]; got <= 1<<20 {
		t.Errorf("the memory of a loaded module: %v bytes, want more than 1 MiB", got)
	}
}
