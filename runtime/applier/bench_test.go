// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kube-go/sdk/runtime/applier"
)

// name is a key like those of controllers.
type name struct{ namespace, name string }

// event is a cause like those of controllers.
type event struct{ kind string }

var changed = &event{"changed"}

func names(n int) []name {
	keys := make([]name, n)
	for i := range keys {
		keys[i] = name{"default", fmt.Sprintf("object-%06d", i)}
	}
	return keys
}

// runNext gets the next key and calls Done.
func runNext(ctx context.Context, b *testing.B, q *applier.Applier[name, *event]) {
	item, err := q.Get(ctx)
	if err != nil {
		b.Fatal(err)
	}
	q.Done(item.Key)
}

func BenchmarkAddGetDone(b *testing.B) {
	ctx, keys := b.Context(), names(100_000)
	for _, test := range []struct {
		name       string
		keys       int // that are added in turn
		waiting    int // that are always waiting
		delayed    int // that are always delayed
		priorities []applier.Priority
	}{
		{"one key", 1, 0, 0, []applier.Priority{applier.Normal}},
		{"three priorities", 3, 3, 0, []applier.Priority{applier.Low, applier.Normal, applier.High}},
		{"all priorities", 256, 256, 0, allPriorities()},
		{"100k keys", 100_000, 0, 0, []applier.Priority{applier.Normal}},
		{"10k keys waiting", 20_000, 10_000, 0, []applier.Priority{applier.Low, applier.Normal, applier.High}},
		{"100k keys waiting", 100_000, 99_999, 0, []applier.Priority{applier.Low, applier.Normal}},
		{"100k keys delayed", 100_000, 0, 100_000, []applier.Priority{applier.Normal}},
	} {
		b.Run(test.name, func(b *testing.B) {
			q := applier.New[name, *event](nil)
			defer q.Close()
			next := 0
			add := func() {
				q.Add(keys[next%test.keys], test.priorities[next%len(test.priorities)], changed)
				next++
			}
			for i := range test.delayed {
				q.AddAfter(keys[i], applier.Normal, changed, time.Hour)
			}
			for range test.waiting {
				add()
			}
			b.ReportAllocs()
			for b.Loop() {
				add()
				runNext(ctx, b, q)
			}
		})
	}
}

func allPriorities() []applier.Priority {
	all := make([]applier.Priority, 256)
	for i := range all {
		all[i] = applier.Priority(i - 128)
	}
	return all
}

// BenchmarkFlood adds all objects and then processes them, as a controller does when it starts.
func BenchmarkFlood(b *testing.B) {
	ctx, keys := b.Context(), names(100_000)
	b.ReportAllocs()
	for b.Loop() {
		q := applier.New[name, *event](nil)
		for _, key := range keys {
			q.Add(key, applier.Low, changed)
		}
		for range keys {
			runNext(ctx, b, q)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

func BenchmarkAddAfter(b *testing.B) {
	keys := names(100_000)
	q := applier.New[name, *event](nil)
	defer q.Close()
	b.ReportAllocs()
	next := 0
	for b.Loop() { // each round has earlier times than the last, so that delays move in the heap
		q.AddAfter(keys[next%len(keys)], applier.Normal, changed, 1000*time.Hour-time.Duration(next/len(keys))*time.Minute)
		next++
	}
}

func BenchmarkRetry(b *testing.B) {
	ctx, keys := b.Context(), names(1)
	q := applier.New[name, *event](&applier.Options{Backoff: applier.Backoff{InitialBackoff: 1, MaxBackoff: 1}})
	defer q.Close()
	q.Add(keys[0], applier.Normal, changed)
	b.ReportAllocs()
	for b.Loop() {
		item, err := q.Get(ctx)
		if err != nil {
			b.Fatal(err)
		}
		q.Retry(item.Key, item.Priority, changed, 0)
		q.Done(item.Key)
	}
}

// BenchmarkWorkers has a producer and several workers that wake each other.
func BenchmarkWorkers(b *testing.B) {
	ctx, keys := b.Context(), names(1000)
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			q := applier.New[name, *event](nil)
			var working sync.WaitGroup
			for range workers {
				working.Go(func() {
					for {
						item, err := q.Get(ctx)
						if err != nil {
							return
						}
						q.Done(item.Key)
					}
				})
			}
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				q.Add(keys[next%len(keys)], applier.Normal, changed)
				next++
			}
			if err := q.Drain(b.Context()); err != nil {
				b.Fatal(err)
			}
			working.Wait()
		})
	}
}

// BenchmarkMemory measures the memory of a key that is waiting, delayed, or no longer in use.
func BenchmarkMemory(b *testing.B) {
	ctx, keys := b.Context(), names(100_000)
	for _, test := range []struct {
		name string
		fill func(q *applier.Applier[name, *event])
	}{
		{"waiting", func(q *applier.Applier[name, *event]) {
			for _, key := range keys {
				q.Add(key, applier.Normal, changed)
			}
		}},
		{"delayed", func(q *applier.Applier[name, *event]) {
			for _, key := range keys {
				q.AddAfter(key, applier.Normal, changed, time.Hour)
			}
		}},
		{"done", func(q *applier.Applier[name, *event]) {
			for _, key := range keys {
				q.Add(key, applier.Normal, changed)
			}
			for range keys {
				runNext(ctx, b, q)
			}
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			var used int64
			for b.Loop() {
				before := heap()
				q := applier.New[name, *event](nil)
				test.fill(q)
				used += heap() - before
				q.Close()
			}
			b.ReportMetric(float64(used)/float64(b.N*len(keys)), "bytes/key")
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
