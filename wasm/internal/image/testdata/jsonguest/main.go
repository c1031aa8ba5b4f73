// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

// Command jsonguest is a module for benchmarks: it decodes objects, as a controller does.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"
)

func main() {}

type object struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Spec   []int             `json:"spec"`
}

var objects = map[string]object{}

// sleep starts a goroutine that waits.
//
//go:wasmexport sleep
func sleep(nanoseconds int64) {
	go func() {
		time.Sleep(time.Duration(nanoseconds))
		fmt.Fprintln(os.Stderr, "awake")
	}()
	runtime.Gosched()
}

// wake decodes an object and returns how many there are.
//
//go:wasmexport wake
func wake(n int64) int64 {
	const text = `{"name":"web-%d","labels":{"app":"web","tier":"front"},"spec":[1,2,3,4,5,6]}`
	var o object
	if err := json.Unmarshal(fmt.Appendf(nil, text, n%26), &o); err != nil {
		panic(err)
	}
	objects[o.Name] = o
	return int64(len(objects))
}
