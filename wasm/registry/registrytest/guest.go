// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/wasm/internal/wasmtest"
)

// Guest is a small actor, which compiles in no time: it logs a text when it starts, and then waits or fails.
type Guest struct {
	Description []byte // what kube_describe returns. Default: a description that hosts accept
	Log         string // at most 1000 bytes
	Fails       bool
}

// The types of WebAssembly.
const (
	i32 = 0x7f
	i64 = 0x7e
)

// textAt and describedAt are the places of the texts in the memory of a guest.
const (
	textAt      = 1024
	describedAt = 4096
)

// Module returns the guest as a module. Its memory has one page.
func (g Guest) Module() []byte {
	description := g.Description
	if description == nil {
		var err error
		description, err = json.Marshal(abi.Description{ABI: abi.Module, Profile: abi.ProfileActor, Name: "test"})
		if err != nil {
			panic(err)
		}
	}
	if len(g.Log) > 1000 || len(description) > 60000 {
		panic(fmt.Sprintf("the text or the description of a guest is too long: %d, %d", len(g.Log), len(description)))
	}
	// The function with the index 0 is the import log.
	start := slices.Concat(i32Const(0), i32Const(textAt), i32Const(len(g.Log)), []byte{0x10, 0}, i32Const(0))
	if g.Fails {
		start = append(start, 0x00) // unreachable
	}
	functions := []struct {
		name            string
		params, results []byte
		body            []byte
	}{
		{"_initialize", nil, nil, nil},
		{abi.Alloc, []byte{i32}, []byte{i32}, i32Const(8192)},
		{abi.Describe, nil, []byte{i64}, append([]byte{0x42}, wasmtest.Signed(describedAt<<32|int64(len(description)))...)},
		{abi.Start, []byte{i32, i32}, []byte{i32}, start},
		{abi.Wake, []byte{i64, i32, i32, i32}, []byte{i32}, i32Const(0)},
		{abi.Tick, nil, nil, nil},
	}
	types := [][]byte{function([]byte{i32, i32, i32}, nil)}
	exports := [][]byte{append(text("memory"), 2, 0)}
	var indexes, bodies [][]byte
	for i, f := range functions {
		index := byte(i + 1)
		types = append(types, function(f.params, f.results))
		indexes = append(indexes, []byte{index})
		exports = append(exports, append(text(f.name), 0, index))
		bodies = append(bodies, wasmtest.Sized(slices.Concat([]byte{0}, f.body, []byte{0x0b})))
	}
	return wasmtest.Module([][]byte{
		1:  wasmtest.Vector(types...),
		2:  wasmtest.Vector(slices.Concat(text(abi.Module), text(abi.Log), []byte{0, 0})),
		3:  wasmtest.Vector(indexes...),
		5:  wasmtest.Vector([]byte{0, 1}),
		7:  wasmtest.Vector(exports...),
		10: wasmtest.Vector(bodies...),
		11: wasmtest.Vector(data(textAt, []byte(g.Log)), data(describedAt, description)),
	})
}

// function returns the type of a function.
func function(params, results []byte) []byte {
	return slices.Concat([]byte{0x60}, wasmtest.Sized(params), wasmtest.Sized(results))
}

// data returns the content of a place in the memory.
func data(at int, content []byte) []byte {
	return slices.Concat([]byte{0}, i32Const(at), []byte{0x0b}, wasmtest.Sized(content))
}

func text(s string) []byte { return wasmtest.Sized([]byte(s)) }

func i32Const(n int) []byte { return append([]byte{0x41}, wasmtest.Signed(int64(n))...) }
