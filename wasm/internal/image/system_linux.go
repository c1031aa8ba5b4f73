// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"sync"
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
	if n > 0 {
		m.ends = []uint64{n}
	}
	return m, nil
}

// moves asks the kernel once. Linux moves private mappings of files since version 5.13.
func (mapped) moves() bool { return canMove() }

//nolint:gochecknoglobals // a constant
var canMove = sync.OnceValue(func() bool {
	content := make([]byte, os.Getpagesize())
	s, err := mapped{}.store(content)
	if err != nil {
		return false
	}
	defer s.release()
	from, err := mapped{}.memory(s, uint64(len(content)))
	if err != nil {
		return false
	}
	defer from.release()
	to, err := mapped{}.memory(s, uint64(len(content)))
	if err != nil {
		return false
	}
	defer to.release()
	from.grow(uint64(len(content)))[0] = 1
	return mapped{}.move(to, from) == nil && to.grow(0)[0] == 1 && from.grow(0)[0] == 0
})

// move moves the pages. The mappings of the first memory remain, without private pages, so that nothing else in the
// process can be mapped there meanwhile.
func (mapped) move(to, from memory) error {
	m, other := to.(*mappedMemory), from.(*mappedMemory)
	start, ends := uint64(0), slices.Clone(other.ends)
	for _, end := range other.ends {
		n := uintptr(end - start)
		_, err := unix.MremapPtr(unsafe.Pointer(&other.reserved[start]), n, unsafe.Pointer(&m.reserved[start]), n,
			unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED|unix.MREMAP_DONTUNMAP)
		if err != nil {
			return fmt.Errorf("move a memory of %d bytes: %w", other.size, err)
		}
		start = end
	}
	for _, end := range m.ends {
		if end > start {
			ends = append(ends, end)
		}
	}
	m.ends, m.size = ends, other.size
	return nil
}

type mappedMemory struct {
	reserved []byte
	size     uint64   // the part that the module has
	ends     []uint64 // of the parts that may be read and written; the kernel moves them one by one
}

// usable returns the size of the part that may be read and written.
func (m *mappedMemory) usable() uint64 {
	if len(m.ends) == 0 {
		return 0
	}
	return m.ends[len(m.ends)-1]
}

func (m *mappedMemory) grow(size uint64) []byte {
	if size > uint64(len(m.reserved)) {
		return nil
	}
	if usable := m.usable(); size > usable {
		// A module often grows in small steps: make room for more, so that there are few parts.
		page := uint64(os.Getpagesize())
		end := min((max(size, usable+usable/2)+page-1)/page*page, uint64(len(m.reserved)))
		added := m.reserved[usable:end]
		if unix.Mprotect(added, unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		// A huge page would be private to the instance as a whole. The kernel need not know this advice.
		_ = unix.Madvise(added, unix.MADV_NOHUGEPAGE)
		m.ends = append(m.ends, end)
	}
	m.size = max(m.size, size)
	return m.reserved[:m.size:m.size]
}

// populate needs Linux 5.14. Otherwise the pages become private when they are written.
func (m *mappedMemory) populate(from, to uint64) {
	page := uint64(os.Getpagesize())
	if from = from / page * page; to-from > page {
		_ = unix.Madvise(m.reserved[from:to], unix.MADV_POPULATE_WRITE)
	}
}

func (m *mappedMemory) release() {
	if m.reserved != nil {
		_ = unix.Munmap(m.reserved) // it fails only for wrong arguments
		m.reserved, m.ends, m.size = nil, nil, 0
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
