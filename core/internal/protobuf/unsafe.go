// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"reflect"
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

// next makes the slice at p one element longer, which is zero, and returns its address.
func (f *field) next(p unsafe.Pointer) unsafe.Pointer {
	s := (*slice)(p)
	elem := f.at(s, s.len)
	s.len++
	if f.kind >= message {
		value(f.elemType, elem).SetZero() // the caller's slice may have had room, and leftovers in it
	}
	return elem
}

// reserve gives the slice at p room for n more elements.
func (f *field) reserve(p unsafe.Pointer, n int) { value(f.typ, p).Grow(n) }

// allocate returns the address of a new zero value that f points to.
func (f *field) allocate() unsafe.Pointer { return reflect.New(f.elemType).UnsafePointer() }

// value returns the value at p, of type t, for reflection.
func value(t reflect.Type, p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }
