// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"reflect"
	"slices"
	"unsafe"
)

// This file and the casts in decode.go and encode.go rest on these invariants:
//
//   - An unsafe.Pointer points to a value of the Go type that the plan or field was compiled from. It starts as the
//     pointer a caller gave, whose type chose the plan, and moves on by the offsets and element sizes that reflect gave
//     for that type; so it never leaves its allocation, and is aligned.
//   - A cast names either that type itself, or one of the same underlying type but for its name and those of its element
//     and key types, such as *string for a *PodPhase and *map[string]string for a *map[ResourceName]Status. These share
//     their memory layout, and their hash and equality functions.
//   - Memory is allocated by reflect with its own type, or by Go code with one of that layout, so the garbage collector
//     knows every pointer in it. Pointers are stored as pointers, with their write barriers; none is kept as a uintptr.

// slice is the memory of a slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// at returns the address of an element of a slice of values or pointers.
func (f *field) at(s *slice, i int) unsafe.Pointer {
	return unsafe.Add(s.data, uintptr(i)*f.size)
}

// reserve gives the slice at p room for n more elements, which is zero.
func (f *field) reserve(p unsafe.Pointer, n int) {
	if f.kind == text {
		s := (*[]string)(p)
		*s = slices.Grow(*s, n)
	} else if s := (*slice)(p); s.cap == 0 && n == 1 && f.shape == list {
		*s = slice{f.allocate(), 0, 1}
	} else {
		value(f.typ, p).Grow(n)
	}
}

// allocate returns the address of a new zero value of what the field points to.
func (f *field) allocate() unsafe.Pointer {
	switch f.kind {
	case boolean:
		return unsafe.Pointer(new(bool))
	case signed32, unsigned32, float32bits:
		return unsafe.Pointer(new(uint32))
	case bits64, float64bits:
		return unsafe.Pointer(new(uint64))
	case text:
		return unsafe.Pointer(new(string))
	}
	return reflect.New(f.elemType).UnsafePointer()
}

// value returns the value at p, of type t, for reflection.
func value(t reflect.Type, p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }
