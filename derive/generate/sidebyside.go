// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// result is the result for one item.
type result[R any] struct {
	value R
	err   error
}

// sideBySide calls fn for each item of a list, in as many goroutines as the program has processors, and returns the
// results in the order of the list.
func sideBySide[T, R any](list []T, fn func(T) (R, error)) []result[R] {
	results := make([]result[R], len(list))
	var wg sync.WaitGroup
	var taken atomic.Int64
	for range min(len(list), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(taken.Add(1)) - 1
				if i >= len(list) {
					return
				}
				results[i].value, results[i].err = fn(list[i])
			}
		})
	}
	wg.Wait()
	return results
}
