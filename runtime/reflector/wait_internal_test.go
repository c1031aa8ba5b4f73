// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
)

// TestWaitersKnowTheirPlaces adds and removes waiters at random. A waiter is removed from the place that it names,
// since a search of all waiters at each end would take time proportional to the square of their number.
func TestWaitersKnowTheirPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test that can be repeated
	var ws waiters
	var waiting []*waiter
	check := func() {
		t.Helper()
		if got := len(ws.lists) + len(ws.versions); got != len(waiting) {
			t.Fatalf("%d waiters, want %d", got, len(waiting))
		}
		for i, w := range ws.lists {
			if w.slot != i {
				t.Fatalf("the waiter %d of a list has the place %d", i, w.slot)
			}
		}
		for i, w := range ws.versions {
			if w.slot != i || i > 0 && w.version < ws.versions[(i-1)/2].version {
				t.Fatalf("the waiter %d for version %d has the place %d, below version %d",
					i, w.version, w.slot, ws.versions[(i-1)/2].version)
			}
		}
	}
	for range 5000 {
		if len(waiting) == 0 || r.IntN(100) < 52 {
			w := &waiter{version: r.Uint64N(100), slot: -1}
			if r.IntN(2) == 0 {
				w.list = func() bool { return false }
			}
			ws.add(w)
			waiting = append(waiting, w)
		} else {
			i := r.IntN(len(waiting))
			ws.remove(waiting[i])
			ws.remove(waiting[i]) // as after wake
			waiting = append(waiting[:i], waiting[i+1:]...)
		}
		check()
	}
	if len(waiting) < 20 {
		t.Errorf("%d waiters at the end, which tests too little", len(waiting))
	}
}

func TestFailureIsReturnedAlsoAfterTheNextRunHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(core.Resource{})
		got := make(chan error, 2)
		go func() { got <- table.awaitAll(t.Context(), func() bool { return false }) }()
		go func() { got <- table.awaitVersion(t.Context(), "9") }()
		synctest.Wait()
		failure := errors.New("broken")
		table.mu.Lock() // the waiters continue later
		table.failed = failure
		table.wake()
		table.failed = nil
		table.mu.Unlock()
		for range 2 {
			if err := <-got; !errors.Is(err, failure) {
				t.Errorf("error = %v, want %v", err, failure)
			}
		}
	})
}
