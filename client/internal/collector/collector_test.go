// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package collector_test

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/kube-go/sdk/client/internal/collector"
)

func TestValuesHaveTheFormOfTheRuntime(t *testing.T) {
	const unchanged = 123 << 20
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	for text, want := range map[string]int64{
		"": unchanged, "off": math.MaxInt64, "0": 0, "5": 5, "7B": 7, "2KiB": 2 << 10, "32MiB": 32 << 20, "3GiB": 3 << 30,
		"1TiB": 1 << 40, "9223372036854775807": math.MaxInt64, "8388607TiB": 8388607 << 40,
	} {
		debug.SetMemoryLimit(unchanged)
		if err := collector.Set(text, ""); err != nil || debug.SetMemoryLimit(-1) != want {
			t.Errorf("GOMEMLIMIT=%s: the limit is %d, %v, want %d", text, debug.SetMemoryLimit(-1), err, want)
		}
	}
	for _, text := range []string{
		"-1", "+1", "1.5", "1Mi", "1MB", "MiB", "B", "1 MiB", "1MiBB", "1KiMiB", "1MiKiB", "9223372036854775808", "8388608TiB", "OFF",
	} {
		if err := collector.Set(text, ""); err == nil || !strings.Contains(err.Error(), "GOMEMLIMIT") {
			t.Errorf("GOMEMLIMIT=%s: %v, want an error that names it", text, err)
		}
	}
	for text, want := range map[string]int{"": 77, "off": -1, "-5": -1, "0": 0, "50": 50} {
		debug.SetGCPercent(77)
		err := collector.Set("", text)
		if got := debug.SetGCPercent(77); err != nil || got != want {
			t.Errorf("GOGC=%s: the percentage is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"50%", "1.5", "99999999999"} {
		if err := collector.Set("", text); err == nil || !strings.Contains(err.Error(), "GOGC") {
			t.Errorf("GOGC=%s: %v, want an error that names it", text, err)
		}
	}
}
