// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

// Command guest is a module with state of all kinds: variables, maps, a heap, goroutines, channels and timers.
package main

import (
	"runtime"
	"time"
)

func main() {}

var (
	total  int64
	fired  int64
	items  = map[string]int64{}
	heap   [][]byte
	inputs chan int64
)

// add adds to a variable and returns its value.
//
//go:wasmexport add
func add(n int64) int64 {
	total += n
	return total
}

// send passes a number to a goroutine, which adds it.
//
//go:wasmexport send
func send(n int64) int64 {
	if inputs == nil {
		inputs = make(chan int64, 16)
		go func() {
			for n := range inputs {
				total += n
			}
		}()
	}
	inputs <- n
	yield()
	return total
}

// sleep starts a goroutine that counts when the duration has passed.
//
//go:wasmexport sleep
func sleep(nanoseconds int64) {
	go func() {
		time.Sleep(time.Duration(nanoseconds))
		fired++
	}()
	yield()
}

// tick runs what is due and returns how many goroutines have counted.
//
//go:wasmexport tick
func tick() int64 {
	yield()
	return fired
}

func yield() {
	for range 100 {
		runtime.Gosched()
	}
}

// keep allocates memory with a pattern.
//
//go:wasmexport keep
func keep(n int32, seed int32) {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(int32(i)*seed + seed>>3)
	}
	heap = append(heap, b)
}

// sum returns a hash of all that was kept.
//
//go:wasmexport sum
func sum() int64 {
	h := int64(17)
	for _, b := range heap {
		for _, c := range b {
			h = h*31 + int64(c)
		}
	}
	return h
}

// wake puts an item into a map and returns how many it has.
//
//go:wasmexport wake
func wake(n int64) int64 {
	items["web-"+string(rune('a'+n%26))] = n
	return int64(len(items))
}

// collect runs the garbage collector.
//
//go:wasmexport collect
func collect() { runtime.GC() }

// fail panics.
//
//go:wasmexport fail
func fail() { panic("as asked") }
