// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestCancelledGetPassesItsWakeUpOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string, string](nil)
		patient := make(chan error, 1)
		go func() {
			_, err := q.Get(t.Context())
			patient <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		hasty := make(chan error, 1)
		go func() {
			_, err := q.Get(ctx)
			hasty <- err
		}()
		synctest.Wait()

		// The cancelled Get is woken by the end of its context. Before it takes the lock, the add wakes it, too.
		q.mu.Lock()
		cancel()
		q.state.add("a", Normal, "", q.now())
		q.unlock()

		if err := <-hasty; err != context.Canceled {
			t.Errorf("the cancelled Get returned %v, want %v", err, context.Canceled)
		}
		if err := <-patient; err != nil {
			t.Errorf("the other Get returned %v", err)
		}
		if q.waking != 0 || len(q.waiters) != 0 || len(q.spare) != 2 {
			t.Errorf("%d waking, %d waiting, %d spare, want 0, 0, 2", q.waking, len(q.waiters), len(q.spare))
		}
		for _, c := range q.spare {
			if len(c) != 0 {
				t.Errorf("a spare channel still holds a wake-up")
			}
		}
	})
}

func TestEachReadyKeyWakesAGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int, string](nil)
		defer q.Close()
		for range 3 {
			go func() { _, _ = q.Get(t.Context()) }()
		}
		synctest.Wait()

		q.mu.Lock()
		defer q.mu.Unlock() // after the counts are checked
		for key := range 2 {
			q.state.add(key, Normal, "", q.now())
		}
		q.wake()
		if q.waking != 2 || len(q.waiters) != 1 {
			t.Errorf("%d waking and %d waiting for two keys, want 2 and 1", q.waking, len(q.waiters))
		}
	})
}

func TestTimerIsStoppedWhenNoGetWaits(t *testing.T) {
	for name, end := range map[string]func(q *Applier[string, string]){
		"after Close": func(q *Applier[string, string]) { q.Close() },
		"after Drain": func(q *Applier[string, string]) { _ = q.Drain(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[string, string](nil)
				q.AddAfter("a", Normal, "", time.Hour)
				go func() { _, _ = q.Get(t.Context()) }()
				synctest.Wait()
				if q.timer == nil {
					t.Fatal("a waiting Get did not set a timer")
				}
				end(q)
				if q.timer.Stop() {
					t.Error("the timer was still running")
				}
			})
		})
	}
}
