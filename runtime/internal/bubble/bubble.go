// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package bubble has helpers for tests in bubbles of testing/synctest. It is only for the tests of this module.
package bubble

import (
	"runtime"
	"strings"
)

// Goroutines returns the number of goroutines of the bubble.
func Goroutines() int {
	buf := make([]byte, 1<<20)
	n := 0
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") {
			n++
		}
	}
	return n
}
