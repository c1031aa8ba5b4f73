// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"

	wasm "github.com/kube-go/sdk/wasm/internal/binary"
)

// A snapshot is, with little-endian numbers of 32 bits unless noted otherwise:
//
//	magic (8 bytes), identity of the image (32 bytes), size of the memory in pages, number of globals,
//	globals (64 bits each), number of ranges, ranges, runs, checksum
//
// A range is the number of its first block and of the block after its last one. The ranges are the pages of 4 KiB that
// have the runs.
// A run is a number of blocks and the blocks that differ from the image: the number of the first block, the number of
// blocks, and their content. The last run has no blocks and no content. The checksum is the CRC-32C of all before.
const magic = "kubesnp2"

// block is the unit in which a memory and an image are compared. It is smaller than a page, because most pages that
// differ do so in few bytes.
const block = 256

// maxRun bounds the blocks of one run, and so the buffer that a reader needs.
const maxRun = 1 << 12

//nolint:gochecknoglobals // a constant
var table = crc32.MakeTable(crc32.Castagnoli)

// zeros is compared with blocks beyond the image.
//
//nolint:gochecknoglobals // a constant
var zeros [block]byte

func isZero(b []byte) bool {
	for len(b) > block {
		if !bytes.Equal(b[:block], zeros[:]) {
			return false
		}
		b = b[block:]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

// state is what a snapshot has.
type state struct {
	image   [32]byte
	globals []uint64
	memory  []byte
}

// writeState writes what differs from base within the changed ranges of the memory.
func writeState(w io.Writer, s state, base []byte, changed iter.Seq2[uint64, uint64]) error {
	out := &summing{w: bufio.NewWriterSize(w, 64<<10), sum: crc32.New(table)}
	out.bytes([]byte(magic))
	out.bytes(s.image[:])
	out.u32(uint32(len(s.memory) / wasm.PageSize))
	out.u32(uint32(len(s.globals)))
	for _, g := range s.globals {
		out.bytes(binary.LittleEndian.AppendUint64(nil, g))
	}
	all := runs(s.memory, base, changed)
	out.spans(ranges(all))
	for _, r := range all {
		out.u32(uint32(r.first))
		out.u32(uint32(r.end - r.first))
		out.bytes(s.memory[r.first*block : r.end*block])
		if out.err != nil {
			break
		}
	}
	out.u32(0)
	out.u32(0)
	out.u32(out.sum.Sum32())
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err != nil {
		return fmt.Errorf("write a snapshot: %w", out.err)
	}
	return nil
}

// span is the blocks from the first one to the one before end.
type span struct{ first, end uint64 }

// runs returns the runs of blocks that differ from base, or from zero beyond it, within ranges of the memory.
func runs(memory, base []byte, changed iter.Seq2[uint64, uint64]) (all []span) {
	for from, to := range changed {
		for b := from / block; b*block < to; b++ {
			content, before := memory[b*block:(b+1)*block], zeros[:]
			if b*block < uint64(len(base)) {
				before = base[b*block : (b+1)*block]
			}
			if bytes.Equal(content, before) {
				continue
			}
			if n := len(all); n > 0 && all[n-1].end == b && b-all[n-1].first < maxRun {
				all[n-1].end++
			} else {
				all = append(all, span{b, b + 1})
			}
		}
	}
	return all
}

// ranges returns the pages that have the runs.
func ranges(runs []span) (all []span) {
	const page = 4096 / block // a larger page has several of them
	for _, r := range runs {
		first, end := r.first/page*page, (r.end+page-1)/page*page
		if n := len(all); n > 0 && all[n-1].end >= first {
			all[n-1].end = end
		} else {
			all = append(all, span{first, end})
		}
	}
	return all
}

// summing writes and computes the checksum. The first failure is kept in err.
type summing struct {
	w   *bufio.Writer
	sum hash.Hash32
	err error
}

func (s *summing) bytes(b []byte) {
	if s.err == nil {
		_, _ = s.sum.Write(b)
		_, s.err = s.w.Write(b)
	}
}

func (s *summing) u32(v uint32) { s.bytes(binary.LittleEndian.AppendUint32(nil, v)) }

func (s *summing) spans(all []span) {
	s.u32(uint32(len(all)))
	for _, sp := range all {
		s.u32(uint32(sp.first))
		s.u32(uint32(sp.end))
	}
}

// target is what a snapshot is read into.
type target struct {
	image   [32]byte
	globals []uint64 // their number must be that of the snapshot
	// grow returns the memory with the given number of pages, or nil. It is called once.
	grow func(pages uint32) []byte
	// expect is called for each range of the memory that is about to be written, before that.
	expect func(from, to uint64)
}

var errDamaged = errors.New("the snapshot is damaged")

// readState reads a snapshot into a target. After an error the target has a part of the snapshot, and must be
// discarded.
func readState(r io.Reader, t target) error {
	in := &checking{r: bufio.NewReaderSize(r, 64<<10), sum: crc32.New(table)}
	head := make([]byte, len(magic)+len(t.image))
	in.bytes(head)
	if in.err == nil && string(head[:len(magic)]) != magic {
		return fmt.Errorf("%w: it does not start with %s", errDamaged, magic)
	}
	if in.err == nil && !bytes.Equal(head[len(magic):], t.image[:]) {
		return errors.New("the snapshot is of another image")
	}
	pages, globals := in.u32(), in.u32()
	if in.err == nil && int64(globals) != int64(len(t.globals)) {
		return fmt.Errorf("%w: it has %d globals, and the module has %d", errDamaged, globals, len(t.globals))
	}
	var b [8]byte
	for i := range t.globals {
		in.bytes(b[:])
		t.globals[i] = binary.LittleEndian.Uint64(b[:])
	}
	if in.err == nil {
		memory := t.grow(pages)
		if memory == nil {
			return fmt.Errorf("%w: its memory has %d pages, less than the image or more than the limit", errDamaged, pages)
		}
		in.ranges(uint64(len(memory)), t.expect)
		in.runs(memory)
	}
	return in.end()
}

// checking reads and computes the checksum. The first failure is kept in err.
type checking struct {
	r   *bufio.Reader
	sum hash.Hash32
	err error
}

func (c *checking) bytes(b []byte) {
	if c.err != nil {
		return
	}
	if _, err := io.ReadFull(c.r, b); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: it ends early", errDamaged)
		}
		c.err = err
		return
	}
	_, _ = c.sum.Write(b)
}

func (c *checking) u32() uint32 {
	var b [4]byte
	c.bytes(b[:])
	return binary.LittleEndian.Uint32(b[:])
}

// ranges reads the ranges of a memory with the given size.
func (c *checking) ranges(size uint64, expect func(from, to uint64)) {
	last := uint64(0)
	for n := c.u32(); c.err == nil && n > 0; n-- {
		from, to := uint64(c.u32())*block, uint64(c.u32())*block
		if c.err != nil {
			return
		}
		if from < last || from >= to || to > size {
			c.err = fmt.Errorf("%w: the range from %d to %d is not in order, or beyond the memory", errDamaged, from, to)
			return
		}
		expect(from, to)
		last = to
	}
}

func (c *checking) runs(memory []byte) {
	last := uint64(0)
	for c.err == nil {
		first, n := uint64(c.u32()), uint64(c.u32())
		if n == 0 {
			return
		}
		if first < last || n > maxRun || (first+n)*block > uint64(len(memory)) {
			c.err = fmt.Errorf("%w: blocks %d to %d are not in order, or beyond the memory", errDamaged, first, first+n)
			return
		}
		c.bytes(memory[first*block : (first+n)*block])
		last = first + n
	}
}

// end reads the checksum and the end of the snapshot.
func (c *checking) end() error {
	want := c.sum.Sum32()
	got := c.u32()
	if c.err != nil {
		return fmt.Errorf("read a snapshot: %w", c.err)
	}
	if got != want {
		return fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: bytes follow its end", errDamaged)
	}
	return nil
}
