// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// TestBudgetIsExceededByOneUse has many users at random, some of which stop waiting.
func TestBudgetIsExceededByOneUse(t *testing.T) {
	const limit, largest = 1000, 1500
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			b := budget{limit: limit}
			var users sync.WaitGroup
			for user := range uint64(30) {
				users.Go(func() {
					r := rand.New(rand.NewPCG(seed, user))
					for range 20 {
						n := r.Int64N(largest)
						ctx, stop := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(100))*time.Second)
						err := b.wait(ctx, n)
						if used := b.inUse(); used > limit+largest {
							t.Errorf("seed %d: %d bytes are in use, and the limit is %d", seed, used, limit)
						}
						if err == nil {
							<-time.After(time.Duration(r.IntN(10)) * time.Second)
							b.free(n)
						}
						stop()
					}
				})
			}
			users.Wait()
			if used := b.inUse(); used != 0 || len(b.waiting) > 0 {
				t.Errorf("seed %d: in the end, %d bytes are in use, and %d uses wait", seed, used, len(b.waiting))
			}
		})
	}
}

func TestBudgetServesUsesInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget{limit: 10}
		b.force(11)
		var order []int
		for n := range 5 {
			go func() {
				if err := b.wait(t.Context(), 20); err != nil {
					t.Error(err)
				}
				order = append(order, n)
			}()
			synctest.Wait()
		}
		if b.reserve(1) || len(order) > 0 {
			t.Errorf("a budget over its limit has served %d uses", len(order))
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := b.wait(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("wait = %v, want the end of its context", err)
		}
		b.free(11)
		for range 5 {
			synctest.Wait()
			b.free(20)
		}
		if fmt.Sprint(order) != "[0 1 2 3 4]" || b.inUse() != 0 {
			t.Errorf("the order is %v, and %d bytes are in use", order, b.inUse())
		}
	})
}

// TestItemsOfAllWatchesHaveOneBudget has many watches of large objects. The guest reads nothing at first.
func TestItemsOfAllWatchesHaveOneBudget(t *testing.T) {
	const watches, size, limit = 40, 256 << 10, 8 << 20
	s := newPodServer(t, 2, `,"annotations":{"a":"`+strings.Repeat("x", size)+`"}`)
	i := newTestActor(t, s.URL, Limits{BufferBytes: limit})
	g := i.guest
	s.mu.Lock() // so that no item arrives before all watches exist
	for range watches {
		if _, err := i.submit(abi.OpWatch, []byte(podWatch("")), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.mu.Unlock()
	var costs, most int64
	for _, op := range i.operations {
		costs += op.cost
	}
	synced := make(map[int64]bool)
	await(t, "the synchronisation of all watches", func() bool {
		most = max(most, g.budget.inUse())
		if len(synced) == 0 && most < limit {
			return false // until the budget is used up
		}
		for _, op := range i.operations {
			if it, ok := op.take(); ok && it.flags&abi.FlagSynced != 0 {
				synced[op.id] = true
			}
			most = max(most, g.budget.inUse())
		}
		return len(synced) == watches
	})
	if most > limit+size+2*changeBytes {
		t.Errorf("%d bytes were in use, and the limit is %d", most, limit)
	}
	if used := g.budget.inUse(); used != costs {
		t.Errorf("%d bytes are in use after all items were read, want %d", used, costs)
	}
}
