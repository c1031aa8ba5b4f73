// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"reflect"
	"slices"
	"unsafe"
)

// An address is where a value is in memory. The code that works with addresses rests on these invariants:
//
//   - An address is that of a value of the Go type that the plan or field was compiled from. It starts as the pointer a
//     caller gave, whose type chose the plan, and moves on by the offsets and element sizes that reflect gave for that
//     type; so it never leaves its allocation, and is aligned.
//   - What it is taken for is either that type itself, or one that differs only in its name, or in those of its element
//     and key types, such as a string for a PodPhase and a map[string]string for a map[ResourceName]Status. These share
//     their memory layout, and their hash and equality functions. An int32 may be taken for a uint32, a float64 for a
//     uint64 and so on, and any slice for the header that it is.
//   - Memory is allocated by reflect with its own type, or by Go code with one of that layout, so the garbage collector
//     knows every pointer in it. Pointers are stored as pointers, with their write barriers; none is kept as a uintptr.
type address unsafe.Pointer

// as takes the value at an address for a T.
func as[T any](p address) *T { return (*T)(p) }

// in returns the address of the field of a struct.
func (f *field) in(obj address) address { return address(unsafe.Add(unsafe.Pointer(obj), f.offset)) }

// slice is the memory of a slice.
type slice struct {
	data     address
	len, cap int
}

// at returns the address of an element of a slice of values or pointers.
func (f *field) at(s *slice, i int) address {
	return address(unsafe.Add(unsafe.Pointer(s.data), uintptr(i)*f.size))
}

// reserve gives the slice at p room for n more elements, which is zero.
func (f *field) reserve(p address, n int) {
	if f.kind == text {
		s := as[[]string](p)
		*s = slices.Grow(*s, n)
	} else if s := as[slice](p); s.cap == 0 && n == 1 && f.shape == list {
		*s = slice{f.allocate(), 0, 1}
	} else {
		reflected(f.typ, p).Grow(n)
	}
}

// allocate returns the address of a new zero value of what the field points to.
func (f *field) allocate() address {
	switch f.kind {
	case boolean:
		return address(new(bool))
	case signed32, unsigned32, float32bits:
		return address(new(uint32))
	case bits64, float64bits:
		return address(new(uint64))
	case text:
		return address(new(string))
	default:
		return address(reflect.New(f.elemType).UnsafePointer())
	}
}

// reflected returns the value at an address, of type t, for reflection.
func reflected(t reflect.Type, p address) reflect.Value {
	return reflect.NewAt(t, unsafe.Pointer(p)).Elem()
}
