// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// messageReader reads protobuf messages from a stream, in memory bounded by limit.
type messageReader struct {
	r     *bufio.Reader
	limit int64
	what  string // for errors
	buf   []byte // for values that do not fit into the buffer of r
	taken int    // the length of the last value, if it is in the buffer of r
}

// keepBytes is the largest size of a buffer that is reused.
const keepBytes = 1 << 20

// fields reads the fields of a message of size bytes, or up to the end of the stream if size is negative. It calls
// visit for the length-delimited ones, which must consume the bytes of the field, and ignores the others.
func (m *messageReader) fields(size int64, visit func(num protowire.Number, size uint64) error) error {
	for left := size; left != 0; {
		tag, n, err := m.varint()
		if err == io.EOF && size < 0 {
			return nil
		}
		if err != nil {
			return noEOF(err)
		}
		num, typ := protowire.DecodeTag(tag)
		if num < protowire.MinValidNumber {
			return errors.New("protobuf: field number out of range")
		}
		length, lengthBytes, err := m.length(typ)
		if err != nil {
			return noEOF(err)
		}
		if size > 0 {
			if left -= int64(n + lengthBytes); left < 0 || length > uint64(left) {
				return fmt.Errorf("protobuf: field %d overruns its message", num)
			}
			left -= int64(length)
		}
		if typ != protowire.BytesType {
			err = m.skip(length)
		} else {
			err = visit(num, length)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// length returns how many bytes of a field's value follow, and how many bytes the length itself takes.
func (m *messageReader) length(typ protowire.Type) (length uint64, n int, err error) {
	switch typ {
	case protowire.BytesType:
		return m.varint()
	case protowire.VarintType:
		_, n, err = m.varint()
		return 0, n, err
	case protowire.Fixed32Type:
		return 4, 0, nil
	case protowire.Fixed64Type:
		return 8, 0, nil
	default:
		return 0, 0, fmt.Errorf("protobuf: unexpected wire type %d", typ)
	}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// varint reads an integer and returns the number of its bytes. It returns io.EOF only before the first byte.
func (m *messageReader) varint() (v uint64, n int, err error) {
	m.release()
	for n < 10 {
		b, err := m.r.ReadByte()
		if err != nil {
			if n > 0 {
				err = noEOF(err)
			}
			return 0, n, err
		}
		v |= uint64(b&0x7f) << (7 * n)
		n++
		if b < 0x80 {
			return v, n, nil
		}
	}
	return 0, n, errors.New("protobuf: number too long")
}

// take returns the next bytes of the stream, which are valid until the next call of a method. The memory grows as bytes
// arrive, so a false length costs none.
func (m *messageReader) take(size uint64) ([]byte, error) {
	m.release()
	if size > uint64(m.limit) {
		return nil, &TooLargeError{What: m.what, LimitBytes: m.limit}
	}
	if size <= uint64(m.r.Size()) {
		value, err := m.r.Peek(int(size))
		m.taken = len(value)
		return value, noEOF(err)
	}
	if cap(m.buf) > keepBytes {
		m.buf = nil
	}
	m.buf = m.buf[:0]
	var err error
	m.buf, err = readGrowing(m.r, m.buf, int(size))
	return m.buf, err
}

// release ends the use of the value that take returned last.
func (m *messageReader) release() {
	if m.taken > 0 {
		_, _ = m.r.Discard(m.taken) // they are in the buffer
		m.taken = 0
	}
}

// read fills buf. It returns io.EOF only before the first byte.
func (m *messageReader) read(buf []byte) error {
	m.release()
	_, err := io.ReadFull(m.r, buf)
	return err
}

// readGrowing reads until buf has size bytes. The size may be false, so buf grows as bytes arrive.
func readGrowing(r io.Reader, buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := io.ReadFull(r, buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, noEOF(err)
		}
	}
	return buf, nil
}

func (m *messageReader) skip(size uint64) error {
	m.release()
	_, err := io.CopyN(io.Discard, m.r, int64(min(size, 1<<62)))
	return noEOF(err)
}
