// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"runtime/debug"
	"testing"
)

func TestTuneLeavesWhatTheEnvironmentSays(t *testing.T) {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for _, tt := range []struct {
		name             string
		gogc, gomemlimit string
		percent          int
		limit            int64
		children         string
	}{
		{"nothing is said", "", "", 400, 1 << 30, "400 1073741824"},
		{"GOGC is set", "50", "", 100, math.MaxInt64, "50 "},
		{"GOMEMLIMIT is set", "", "64MiB", 100, math.MaxInt64, " 64MiB"},
	} {
		t.Setenv("GOGC", tt.gogc)
		t.Setenv("GOMEMLIMIT", tt.gomemlimit)
		debug.SetGCPercent(100) // as if the process had just started, but for what the environment says
		debug.SetMemoryLimit(math.MaxInt64)
		tune()
		if got, most := debug.SetGCPercent(100), debug.SetMemoryLimit(-1); got != tt.percent || most != tt.limit {
			t.Errorf("%s: percent, limit = %d, %d, want %d, %d", tt.name, got, most, tt.percent, tt.limit)
		}
		if got := os.Getenv("GOGC") + " " + os.Getenv("GOMEMLIMIT"); got != tt.children {
			t.Errorf("%s: GOGC, GOMEMLIMIT of go commands = %q, want %q", tt.name, got, tt.children)
		}
	}
}
