// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"math/rand/v2"
	"testing"
)

// TestBudget lets requests read bodies of random sizes in random order.
func TestBudget(t *testing.T) {
	const total = 8 << 20
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		b := &budget{total: total}
		held := make([]int64, 1+rnd.IntN(60))
		for range 2000 {
			i := rnd.IntN(len(held))
			if rnd.IntN(100) == 0 { // the request ends
				b.release(held[i])
				held[i] = 0
				continue
			}
			n := rnd.Int64N(256 << 10)
			if b.reserve(held[i], n) == nil {
				held[i] += n
			}
			var sum int64
			for _, h := range held {
				sum += h
			}
			if sum != b.first+b.above || sum > total {
				t.Fatalf("seed %d: the requests hold %d bytes, and the budget has %d", seed, sum, b.first+b.above)
			}
			// However many bytes the others hold, a request of a small size is possible.
			if err := b.reserve(0, 1<<10); err != nil {
				t.Fatalf("seed %d: %v leave no space: %v", seed, held, err)
			}
			b.release(1 << 10)
		}
	}
}
