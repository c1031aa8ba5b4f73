// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestImageFileIsSealed(t *testing.T) {
	page := os.Getpagesize()
	content := append(make([]byte, 2*page), []byte("end")...)
	s, err := mapped{}.store(content)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	if !bytes.Equal(s.bytes(), content) {
		t.Error("the image differs from the content")
	}
	fd := s.(*memoryFile).fd
	if _, err := unix.Pwrite(fd, []byte("x"), 0); err == nil {
		t.Error("the image can be written")
	}
	if err := unix.Ftruncate(fd, 0); err == nil {
		t.Error("the image can be truncated")
	}
}

func TestOnlyPrivatePagesAreCompared(t *testing.T) {
	page := uint64(os.Getpagesize())
	s, err := mapped{}.store(bytes.Repeat([]byte{1}, int(8*page)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	m, err := mapped{}.memory(s, 16*page)
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	b := m.grow(12 * page)
	sum := 0
	for at := uint64(0); at < 8*page; at += page {
		sum += int(b[at]) // reading a page of the image does not make it private
	}
	if sum != 8 {
		t.Errorf("the memory has not the content of the image")
	}
	b[page], b[2*page], b[10*page] = 2, 2, 2
	compared := uint64(0)
	found := map[uint64]bool{}
	for from, to := range m.changed() {
		for at := from; at < to; at += page {
			found[at/page] = true
		}
		compared += to - from
	}
	if !found[1] || !found[2] || !found[10] {
		t.Errorf("changed pages are missing: %v", found)
	}
	if _, err := os.Stat("/proc/self/pagemap"); err == nil && compared != 3*page {
		t.Errorf("%d bytes are compared, want 3 pages of %d", compared, page)
	}
}

func TestWholeMemoryIsComparedIfPrivatePagesAreUnknown(t *testing.T) {
	m, err := mapped{}.memory(nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	m.grow(1 << 20)
	f, err := os.Open(os.DevNull) // each read of it is an error
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var got [][2]uint64
	m.(*mappedMemory).privateRanges(f, func(from, to uint64) bool {
		got = append(got, [2]uint64{from, to})
		return true
	})
	if len(got) != 1 || got[0] != [2]uint64{0, 1 << 20} {
		t.Errorf("ranges %v, want the whole memory", got)
	}
}

func TestMemoryThatIsTooLargeForTheSystemIsAnError(t *testing.T) {
	if _, err := (mapped{}).memory(nil, 1<<50); err == nil {
		t.Error("a memory of 1 PiB was reserved")
	}
}
