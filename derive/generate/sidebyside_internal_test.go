// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestSideBySideKeepsTheOrder(t *testing.T) {
	odd := errors.New("odd")
	for _, n := range []int{0, 1, 2, 100} {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		var busy, most atomic.Int64
		results := sideBySide(list, func(i int) (int, error) {
			now := busy.Add(1)
			defer busy.Add(-1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			runtime.Gosched()
			if i%2 == 1 {
				return 0, odd
			}
			return i * i, nil
		})
		if len(results) != n {
			t.Fatalf("sideBySide of %d items = %d results", n, len(results))
		}
		for i, r := range results {
			if i%2 == 1 && r.err != odd || i%2 == 0 && (r.err != nil || r.value != i*i) {
				t.Errorf("sideBySide of %d items: result %d = %+v", n, i, r)
			}
		}
		if limit := int64(runtime.GOMAXPROCS(0)); most.Load() > limit {
			t.Errorf("sideBySide of %d items: %d at a time, want %d at most", n, most.Load(), limit)
		}
	}
}
