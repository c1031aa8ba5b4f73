// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"iter"
)

// copied is the portable system: each memory is a copy in Go's heap.
type copied struct{}

func (copied) memory(content store, limit uint64) (memory, error) {
	m := &heapMemory{limit: limit}
	if content != nil {
		m.bytes = bytes.Clone(content.bytes())
	}
	return m, nil
}

func (copied) store(content []byte) (store, error) { return heapStore(bytes.Clone(content)), nil }

type heapStore []byte

func (s heapStore) bytes() []byte { return s }
func (s heapStore) release()      {}

type heapMemory struct {
	bytes []byte
	limit uint64
	size  uint64 // that was asked for; it may be less than the content of the image at first
}

func (m *heapMemory) grow(size uint64) []byte {
	m.size = max(m.size, size)
	if n := uint64(len(m.bytes)); n < m.size {
		// A module often grows in small steps: make room for more.
		grown := make([]byte, min(m.limit, max(m.size, n+n/2)))
		copy(grown, m.bytes)
		m.bytes = grown
	}
	return m.bytes[:m.size:m.size]
}

func (m *heapMemory) changed() iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) { yield(0, m.size) }
}

// release leaves the memory to the garbage collector.
func (m *heapMemory) release() { m.bytes, m.size = nil, 0 }
