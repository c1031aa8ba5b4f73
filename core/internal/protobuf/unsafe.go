// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"reflect"
	"slices"
	"unsafe"
)

// An address is the location of a value in memory. The code that works with addresses relies on these invariants:
//
//   - An address is that of a value of the Go type that the plan or field was compiled from. It starts as the pointer
//     of the caller, whose type selected the plan, and advances by the offsets and element sizes that reflect returned
//     for that type. So it never leaves its allocation, and is aligned.
//   - A value is accessed as that type, or as a type that differs only in its name or in the names of its element and
//     key types, such as string for PodPhase and map[string]string for map[ResourceName]Status. Such types share their
//     memory layout and their hash and equality functions. An int32 may be accessed as a uint32, a float64 as a uint64
//     and so on, and any slice as a slice header.
//   - Memory is allocated by reflect with its own type, or by Go code with a type of the same layout, so the garbage
//     collector knows every pointer in it. Pointers are stored as pointers, with write barriers; none is stored as a
//     uintptr.
//   - The bytes of a string are written before the string is made, and never again.
type address unsafe.Pointer

// as accesses the value at an address as a T.
func as[T any](p address) *T { return (*T)(p) }

// in returns the address of the field of a struct.
func (f *field) in(obj address) address { return address(unsafe.Add(unsafe.Pointer(obj), f.offset)) }

// slice is the header of a slice.
type slice struct {
	data     address
	len, cap int
}

// at returns the address of an element of a slice of values or pointers.
func (f *field) at(s *slice, i int) address {
	return address(unsafe.Add(unsafe.Pointer(s.data), uintptr(i)*f.size))
}

// reserve ensures that the slice at p has capacity for n more elements, which are zero.
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

// allocate returns the address of a new zero value of the type that the field points to.
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

// reflected returns the value of type t at an address, for reflection.
func reflected(t reflect.Type, p address) reflect.Value {
	return reflect.NewAt(t, unsafe.Pointer(p)).Elem()
}

// unchanging returns the bytes as a string, without a copy. They must not change.
func unchanging(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
