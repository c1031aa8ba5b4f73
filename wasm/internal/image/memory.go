// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"iter"

	"github.com/tetratelabs/wazero/experimental"
)

// system makes memories and images. There is one with the functions of Linux, and a portable one.
type system interface {
	// memory returns an empty memory that can grow to the given number of bytes. If content is not nil, the memory has it
	// up to its length.
	memory(content store, limit uint64) (memory, error)
	// store keeps a copy of the content of a memory.
	store(content []byte) (store, error)
}

// mover is a system whose memories can move.
type mover interface {
	system

	// moves reports whether the kernel can do it.
	moves() bool
	// move moves the content and the size of a memory to another one of the same image and limit. The first one has the
	// content of the image then, and keeps its size. The size of the other one must not be larger before. After an error,
	// the content is lost.
	move(to, from memory) error
}

// store is the content of an image.
type store interface {
	bytes() []byte // must not be changed, or used after release
	release()
}

// memory is the memory of an instance.
type memory interface {
	// grow returns the memory with the given size, which is at most the limit, or nil. Bytes beyond the content of the
	// image are zero. The size never shrinks: a smaller size changes nothing.
	grow(size uint64) []byte
	// changed returns ranges of the memory, in order, which have all bytes that may differ from the content of the image,
	// or from zero beyond it.
	changed() iter.Seq2[uint64, uint64]
	release()
}

// populator is a memory that can make pages private all at once, which takes less time than one by one.
type populator interface {
	memory

	populate(from, to uint64)
}

// allocator gives one memory to wazero. It ignores Free, because a call may still be active when wazero closes a
// module.
type allocator struct {
	memory memory
	limit  uint64
}

func (a *allocator) Allocate(_, _ uint64) experimental.LinearMemory { return a }

func (a *allocator) Reallocate(size uint64) []byte {
	if size > a.limit {
		return nil
	}
	return a.memory.grow(size)
}

func (a *allocator) Free() {}
