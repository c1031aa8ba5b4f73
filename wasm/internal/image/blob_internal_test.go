// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"slices"
	"testing"
	"testing/iotest"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

func everything(memory []byte) iter.Seq2[uint64, uint64] {
	return func(yield func(uint64, uint64) bool) { yield(0, uint64(len(memory))) }
}

// testTarget returns a target with the content of base and a limit of 4 pages, and its memory after readState.
func testTarget(base []byte, globals int) (target, func() []byte) {
	memory := bytes.Clone(base)
	t := target{image: [32]byte{1}, globals: make([]uint64, globals)}
	t.grow = func(pages uint32) []byte {
		size := int(pages) * wasm.PageSize
		if pages > 4 || size < len(memory) {
			return nil
		}
		memory = append(memory, make([]byte, size-len(memory))...)
		return memory
	}
	t.expect = func(from, to uint64) {
		if from >= to || to > uint64(len(memory)) {
			panic("the range is beyond the memory")
		}
	}
	return t, func() []byte { return memory }
}

// FuzzReadState checks that arbitrary input with a right checksum is an error, or a state that can be written and read
// again.
func FuzzReadState(f *testing.F) {
	base := bytes.Repeat([]byte("image"), wasm.PageSize)[:wasm.PageSize]
	changed := append(bytes.Clone(base), make([]byte, wasm.PageSize)...)
	changed[5], changed[40_000], changed[70_000] = 1, 2, 3
	var out bytes.Buffer
	s := state{image: [32]byte{1}, globals: []uint64{1, 2}, memory: changed}
	if err := writeState(&out, s, base, everything(changed)); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes()[:out.Len()-4])
	f.Add(out.Bytes()[:60])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, blob []byte) {
		in, memory := testTarget(base, 2)
		blob = binary.LittleEndian.AppendUint32(bytes.Clone(blob), crc32.Checksum(blob, table))
		if err := readState(bytes.NewReader(blob), in); err != nil {
			return
		}
		var out bytes.Buffer
		s := state{image: in.image, globals: in.globals, memory: memory()}
		if err := writeState(&out, s, base, everything(memory())); err != nil {
			t.Fatal(err)
		}
		again, second := testTarget(base, 2)
		if err := readState(&out, again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(memory(), second()) || !slices.Equal(in.globals, again.globals) {
			t.Error("the state differs after it was written and read again")
		}
	})
}

func TestSnapshotHasOnlyTheBlocksThatDiffer(t *testing.T) {
	base := bytes.Repeat([]byte{7}, 3*wasm.PageSize)
	memory := append(bytes.Clone(base), make([]byte, wasm.PageSize)...)
	memory[10], memory[block], memory[wasm.PageSize*3+1] = 1, 1, 1
	var out bytes.Buffer
	if err := writeState(&out, state{memory: memory}, base, everything(memory)); err != nil {
		t.Fatal(err)
	}
	if want := 8 + 32 + 4 + 4 + (4 + 2*8) + (8 + 2*block) + (8 + block) + 8 + 4; out.Len() != want {
		t.Errorf("the snapshot has %d bytes, want %d", out.Len(), want)
	}
	in, got := testTarget(base, 0)
	in.image = [32]byte{}
	var expected [][2]uint64
	in.expect = func(from, to uint64) { expected = append(expected, [2]uint64{from, to}) }
	if err := readState(&out, in); err != nil || !bytes.Equal(got(), memory) {
		t.Errorf("readState: %v", err)
	}
	want := [][2]uint64{{0, 4096}, {3 * wasm.PageSize, 3*wasm.PageSize + 4096}}
	if !slices.Equal(expected, want) {
		t.Errorf("the pages %v are expected, want %v", expected, want)
	}
}

func TestFailuresOfReadersAndWritersAreReturned(t *testing.T) {
	base := make([]byte, wasm.PageSize)
	memory := bytes.Repeat([]byte{7}, 4*wasm.PageSize)
	s := state{image: [32]byte{1}, memory: memory}
	failure := errors.New("the disk is full")
	full := writerFunc(func([]byte) (int, error) { return 0, failure })
	if err := writeState(full, s, base, everything(memory)); !errors.Is(err, failure) {
		t.Errorf("writeState: error %v", err)
	}
	in, _ := testTarget(base, 0)
	if err := readState(iotest.ErrReader(failure), in); !errors.Is(err, failure) {
		t.Errorf("readState: error %v", err)
	}
	var out bytes.Buffer
	if err := writeState(&out, s, base, everything(memory)); err != nil {
		t.Fatal(err)
	}
	in, got := testTarget(base, 0)
	if err := readState(iotest.OneByteReader(&out), in); err != nil || !bytes.Equal(got(), memory) {
		t.Errorf("readState of single bytes: error %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
