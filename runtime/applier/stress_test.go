// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
)

// A subject changes, and workers must see each change.
type subject struct {
	changes atomic.Int64
	seen    atomic.Int64
	workers atomic.Int64
}

// change changes a subject and adds its key in one of several ways.
func change(q *applier.Applier[int, string], subjects []subject, key int) {
	subjects[key].changes.Add(1)
	p := applier.Priority(rand.IntN(256) - 128)
	if rand.IntN(2) == 0 {
		q.Add(key, p, "")
	} else {
		q.AddAfter(key, p, "", rand.N(5*time.Millisecond))
	}
}

// work handles keys until the context ends or the applier is closed.
func work(ctx context.Context, t *testing.T, q *applier.Applier[int, string], subjects []subject) {
	for {
		item, err := q.Get(ctx)
		if err != nil {
			return
		}
		s := &subjects[item.Key]
		if n := s.workers.Add(1); n != 1 {
			t.Errorf("%d workers have the key %d at the same time", n, item.Key)
		}
		seen := s.changes.Load()
		if rand.IntN(4) == 0 {
			time.Sleep(rand.N(time.Millisecond))
		}
		if failed := rand.IntN(8) == 0; failed {
			q.Retry(item.Key, item.Priority, "", 0)
		} else {
			s.seen.Store(seen)
		}
		s.workers.Add(-1)
		q.Done(item.Key)
	}
}

// TestNoChangeIsMissedByManyWorkers runs in a bubble, so that it can detect when all workers wait and no timer is left.
func TestNoChangeIsMissedByManyWorkers(t *testing.T) {
	const producers, workers, changes = 16, 8, 2000
	for name, numKeys := range map[string]int{"few keys": 3, "many keys": 500} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := applier.New[int, string](&applier.Options{Backoff: applier.Backoff{MaxBackoff: 20 * time.Millisecond}})
				subjects := make([]subject, numKeys)
				var producing, working sync.WaitGroup
				for range producers {
					producing.Go(func() {
						for i := range changes {
							change(q, subjects, rand.IntN(numKeys))
							if i%50 == 0 {
								time.Sleep(rand.N(time.Millisecond))
							}
						}
					})
				}
				for range workers {
					working.Go(func() { work(t.Context(), t, q, subjects) })
				}
				stop := make(chan struct{})
				for range workers { // these are cancelled, and must not lose a wake-up
					working.Go(func() {
						for {
							ctx, cancel := context.WithTimeout(t.Context(), rand.N(time.Millisecond))
							work(ctx, t, q, subjects)
							cancel()
							select {
							case <-stop:
								return
							default:
							}
						}
					})
				}
				producing.Wait()
				close(stop)
				time.Sleep(time.Hour) // in the bubble's time
				synctest.Wait()

				if s := q.Stats(); s.Ready != 0 || s.Running != 0 || s.Delayed != 0 {
					t.Errorf("Stats() = %+v, want all keys to be done", s)
				}
				for key := range subjects {
					if changed, seen := subjects[key].changes.Load(), subjects[key].seen.Load(); seen != changed {
						t.Errorf("key %d has changed %d times, and was last seen after %d", key, changed, seen)
					}
				}
				q.Close()
				working.Wait()
			})
		})
	}
}

// TestNoChangeIsMissedWhileDraining runs without a bubble, so that the workers are truly concurrent.
func TestNoChangeIsMissedWhileDraining(t *testing.T) {
	const producers, workers, changes, numKeys = 8, 8, 5000, 20
	q := applier.New[int, string](nil)
	subjects := make([]subject, numKeys)
	var producing, working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				item, err := q.Get(t.Context())
				if err != nil {
					return
				}
				s := &subjects[item.Key]
				if n := s.workers.Add(1); n != 1 {
					t.Errorf("%d workers have the key %d at the same time", n, item.Key)
				}
				s.seen.Store(s.changes.Load())
				s.workers.Add(-1)
				q.Done(item.Key)
			}
		})
	}
	for range producers {
		producing.Go(func() {
			for range changes {
				key := rand.IntN(numKeys)
				subjects[key].changes.Add(1)
				q.Add(key, applier.Priority(key), "")
			}
		})
	}
	producing.Wait()
	if err := q.Drain(t.Context()); err != nil {
		t.Fatalf("Drain() = %v", err)
	}
	working.Wait()
	for key := range subjects {
		if changed, seen := subjects[key].changes.Load(), subjects[key].seen.Load(); seen != changed {
			t.Errorf("key %d has changed %d times, and was last seen after %d", key, changed, seen)
		}
	}
}
