// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package wasmtest encodes WebAssembly modules for tests, see
// https://webassembly.github.io/spec/core/binary/index.html.
package wasmtest

import "encoding/binary"

// Preamble is the beginning of every module.
const Preamble = "\x00asm\x01\x00\x00\x00"

// Text is the type of encoded bytes. Strings suit modules that consist of literals.
type Text interface{ ~string | ~[]byte }

// Vector returns the vector of encoded items.
func Vector[T Text](items ...T) T {
	b := binary.AppendUvarint(nil, uint64(len(items)))
	for _, item := range items {
		b = append(b, item...)
	}
	return T(b)
}

// Sized returns bytes after their number, such as a name or the code of a function.
func Sized[T Text](b T) T { return T(append(binary.AppendUvarint(nil, uint64(len(b))), b...)) }

// Section returns a section.
func Section[T Text](number byte, content T) T { return T(append([]byte{number}, Sized(content)...)) }

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
	module := []byte(Preamble)
	for number, content := range sections {
		if len(content) > 0 {
			module = append(module, Section(byte(number), content)...)
		}
	}
	return module
}
