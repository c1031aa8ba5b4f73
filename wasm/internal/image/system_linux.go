// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

//nolint:gochecknoglobals // a constant
var platform system = mapped{}

// mapped is the system with the functions of Linux.
type mapped struct{}

// memory reserves addresses for the whole limit, so that the memory never moves, and maps the content privately.
func (mapped) memory(content store, limit uint64) (memory, error) {
	page := uint64(os.Getpagesize())
	limit = max(1, (limit+page-1)/page) * page
	if limit > math.MaxInt {
		return nil, fmt.Errorf("a memory of %d bytes needs a 64-bit system", limit)
	}
	reserved, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of addresses for a memory: %w", limit, err)
	}
	m := &mappedMemory{reserved: reserved}
	if content == nil {
		return m, nil
	}
	file := content.(*memoryFile)
	n := uint64(len(file.content))
	if n > limit {
		m.release()
		return nil, fmt.Errorf("the image has %d bytes, and the limit is %d", n, limit)
	}
	if n > 0 {
		_, err = unix.MmapPtr(file.fd, 0, unsafe.Pointer(&reserved[0]), uintptr(n),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
		if err != nil {
			m.release()
			return nil, fmt.Errorf("map an image: %w", err)
		}
	}
	m.usable = n
	return m, nil
}

type mappedMemory struct {
	reserved []byte
	usable   uint64 // the part that may be read and written
	size     uint64 // the part that the module has
}

func (m *mappedMemory) grow(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if size > m.usable {
		page := uint64(os.Getpagesize())
		end := (size + page - 1) / page * page
		added := m.reserved[m.usable:end]
		if unix.Mprotect(added, unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		// A huge page would be private to the instance as a whole. The kernel need not know this advice.
		_ = unix.Madvise(added, unix.MADV_NOHUGEPAGE)
		m.usable = end
	}
	m.size = max(m.size, size)
	return m.reserved[:m.size:m.size]
}

func (m *mappedMemory) release() {
	if m.reserved != nil {
		_ = unix.Munmap(m.reserved) // it fails only for wrong arguments
		m.reserved, m.usable, m.size = nil, 0, 0
	}
}

// changed asks the kernel which pages are private. Without this information it returns the whole memory.
func (m *mappedMemory) changed() iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) {
		if m.size == 0 {
			return
		}
		f, err := os.Open("/proc/self/pagemap")
		if err != nil {
			yield(0, m.size)
			return
		}
		defer f.Close()
		m.privateRanges(f, yield)
	}
}

// privateRanges reads the entries of the memory's pages and yields the ranges of private ones.
func (m *mappedMemory) privateRanges(f *os.File, yield func(uint64, uint64) bool) {
	const entry = 8
	page := uint64(os.Getpagesize())
	first := uint64(uintptr(unsafe.Pointer(&m.reserved[0]))) / page
	pages := (m.size + page - 1) / page
	buf := make([]byte, min(pages, 4096)*entry)
	start, end := uint64(0), uint64(0) // the range so far
	for i := uint64(0); i < pages; {
		n := min(pages-i, uint64(len(buf)/entry))
		if _, err := f.ReadAt(buf[:n*entry], int64((first+i)*entry)); err != nil {
			if start < end && !yield(start, end) {
				return
			}
			yield(i*page, m.size)
			return
		}
		for j := range n {
			if !isPrivate(binary.NativeEndian.Uint64(buf[j*entry:])) {
				continue
			}
			at := (i + j) * page
			if at != end {
				if start < end && !yield(start, end) {
					return
				}
				start = at
			}
			end = min(at+page, m.size)
		}
		i += n
	}
	if start < end {
		yield(start, end)
	}
}

// isPrivate returns whether an entry of pagemap is of a page that is not the image's.
func isPrivate(entry uint64) bool {
	const present, swapped, file = 1 << 63, 1 << 62, 1 << 61
	return entry&swapped != 0 || entry&present != 0 && entry&file == 0
}

// store writes the content to a file in memory and seals it, so that nothing can change it.
func (mapped) store(content []byte) (store, error) {
	fd, err := unix.MemfdCreate("kube-image", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory: %w", err)
	}
	s := &memoryFile{fd: fd}
	if err := s.fill(content); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

type memoryFile struct {
	fd      int
	content []byte // mapped read-only
}

func (s *memoryFile) fill(content []byte) error {
	if err := unix.Ftruncate(s.fd, int64(len(content))); err != nil {
		return fmt.Errorf("size of an image: %w", err)
	}
	// Pages of zeros stay holes.
	page := os.Getpagesize()
	for start := 0; start < len(content); {
		end := start
		for end < len(content) && !isZero(content[end:min(end+page, len(content))]) {
			end = min(end+page, len(content))
		}
		for at := start; at < end; {
			n, err := unix.Pwrite(s.fd, content[at:end], int64(at))
			if err != nil {
				return fmt.Errorf("write an image: %w", err)
			}
			at += n
		}
		start = end + page
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(s.fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal an image: %w", err)
	}
	if len(content) == 0 {
		return nil
	}
	view, err := unix.Mmap(s.fd, 0, len(content), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map an image: %w", err)
	}
	s.content = view
	return nil
}

func (s *memoryFile) bytes() []byte { return s.content }

func (s *memoryFile) release() {
	if s.content != nil {
		_ = unix.Munmap(s.content)
		s.content = nil
	}
	_ = unix.Close(s.fd)
}
