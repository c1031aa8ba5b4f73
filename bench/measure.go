// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

// memory is the reachable heap.
type memory struct{ bytes, objects float64 }

// reachable collects garbage and returns what is left. The second collection frees what finalizers and pools of the
// first one have kept.
func reachable() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{float64(m.HeapAlloc), float64(m.HeapObjects)}
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // the call has no other errors than for wrong arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sampler follows the heap until it is stopped.
type sampler struct {
	stop chan struct{}
	wg   sync.WaitGroup
	peak float64
}

// sampleInUse samples the bytes of reachable objects and of garbage that is not collected yet, every millisecond. This
// is close to what the operating system sees.
func sampleInUse() *sampler {
	s := &sampler{stop: make(chan struct{})}
	s.wg.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			s.take("/memory/classes/heap/objects:bytes")
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
		}
	})
	return s
}

// sampleReachable collects garbage continuously, and samples the bytes that each collection has found reachable.
func sampleReachable() *sampler {
	s := &sampler{stop: make(chan struct{})}
	s.wg.Go(func() {
		for {
			runtime.GC()
			s.take("/gc/heap/live:bytes")
			select {
			case <-s.stop:
				return
			default:
			}
		}
	})
	return s
}

func (s *sampler) take(name string) {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	s.peak = max(s.peak, float64(sample[0].Value.Uint64()))
}

// end stops sampling and returns the maximum.
func (s *sampler) end() float64 {
	close(s.stop)
	s.wg.Wait()
	return s.peak
}
