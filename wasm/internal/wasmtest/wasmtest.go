// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package wasmtest encodes WebAssembly modules for tests, see
// https://webassembly.github.io/spec/core/binary/index.html.
package wasmtest

import (
	"encoding/binary"
	"slices"
)

// Vector returns the vector of encoded items.
func Vector(items ...[]byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(items))), slices.Concat(items...)...)
}

// Sized returns bytes after their number, such as a name or the code of a function.
func Sized(b []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(b))), b...) }

// Signed returns a number as signed LEB128.
func Signed(n int64) []byte {
	var b []byte
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// Module returns a module with the sections, by their numbers. Empty ones are left out.
func Module(sections [][]byte) []byte {
	module := []byte("\x00asm\x01\x00\x00\x00")
	for number, content := range sections {
		if len(content) > 0 {
			module = append(append(module, byte(number)), Sized(content)...)
		}
	}
	return module
}
