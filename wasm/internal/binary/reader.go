// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// reader reads values of one section. The first failure is kept in err, and all later reads return zero values.
type reader struct {
	wasm    []byte
	pos     int
	end     int // of the section
	section string
	err     error
}

// failf keeps an error, with the section and the offset in the module.
func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s section at offset %d: %s", r.section, r.pos, fmt.Sprintf(format, args...))
		r.pos = r.end
	}
}

func (r *reader) left() int { return r.end - r.pos }

func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.failf("the section ends early")
		return 0
	}
	b := r.wasm[r.pos]
	r.pos++
	return b
}

// u32 reads an unsigned LEB128 number of 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > math.MaxUint32 {
				break
			}
			return uint32(v)
		}
	}
	r.failf("the number does not fit in 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most the given number of bits.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.failf("the number does not fit in %d bits", bits)
	return 0
}

func (r *reader) skip(n uint64) {
	if n > uint64(r.left()) {
		r.failf("the section ends early")
		return
	}
	r.pos += int(n)
}

// bytes reads a length and as many bytes. The result is part of the module.
func (r *reader) bytes() []byte {
	n := r.u32()
	start := r.pos
	r.skip(uint64(n))
	if r.err != nil {
		return nil
	}
	return r.wasm[start:r.pos:r.pos]
}

func (r *reader) name() string {
	b := r.bytes()
	if !utf8.Valid(b) {
		r.failf("the name is not UTF-8")
		return ""
	}
	return string(b)
}

// The limits of elements that need much more memory in wazero than in the module.
const (
	maxFew    = 100_000   // of a vector; Go's linker makes at most as many data segments
	maxShared = 1_000_000 // of several vectors together
)

// few reads the length of a vector with at most maxFew elements.
func (r *reader) few(size int) int {
	n := r.count(size)
	if n > maxFew {
		r.failf("it has %d elements: at most %d are supported", n, maxFew)
		return 0
	}
	return n
}

// shared reads the length of one of several vectors that have at most maxShared elements together. The vectors before
// it have total elements.
func (r *reader) shared(size int, total *int) int {
	n := r.count(size)
	if *total += n; *total > maxShared {
		r.failf("%d elements, and those before them, are too many: at most %d are supported", n, maxShared)
		return 0
	}
	return n
}

// count reads the length of a vector. Each element has at least size bytes, so the section bounds the result.
func (r *reader) count(size int) int {
	n := r.u32()
	if uint64(n) > uint64(r.left()/size) {
		r.failf("%d elements do not fit in the section", n)
		return 0
	}
	return int(n)
}
