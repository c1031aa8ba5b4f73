// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package collector configures the garbage collector of Go as the runtime does when a program starts.
package collector

import (
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// Set applies the values of GOMEMLIMIT and GOGC; an empty value changes nothing. Their form is that of package runtime.
func Set(memoryLimit, percent string) error {
	if memoryLimit != "" {
		limit, ok := bytes(memoryLimit)
		if !ok {
			return fmt.Errorf("GOMEMLIMIT is %.100q, want off or bytes, such as 100MiB", memoryLimit)
		}
		debug.SetMemoryLimit(limit)
	}
	if percent != "" {
		n, err := strconv.ParseInt(percent, 10, 32)
		if percent == "off" {
			n, err = -1, nil
		}
		if err != nil {
			return fmt.Errorf("GOGC is %.100q, want off or a percentage, such as 50", percent)
		}
		debug.SetGCPercent(int(n))
	}
	return nil
}

// bytes returns a number of bytes.
func bytes(text string) (n int64, ok bool) {
	if text == "off" {
		return math.MaxInt64, true
	}
	number, shift := strings.TrimSuffix(text, "B"), 0
	for i, unit := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if before, found := strings.CutSuffix(text, unit+"B"); found {
			number, shift = before, 10*(i+1)
		}
	}
	digits, err := strconv.ParseUint(number, 10, 63)
	return int64(digits) << shift, err == nil && digits <= math.MaxInt64>>shift
}
