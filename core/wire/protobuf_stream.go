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

// messageReader reads protobuf messages off a stream, in memory bounded by limit.
type messageReader struct {
	r     *bufio.Reader
	limit int64
	what  string // for errors
	buf   []byte
}

// fields reads length-delimited fields until size bytes are used up, or to the end of the stream when size is negative.
// visit must consume the field's bytes.
func (m *messageReader) fields(size int64, visit func(num protowire.Number, size uint64) error) error {
	for size != 0 {
		tag, n, err := m.varint()
		if err == io.EOF && size < 0 {
			return nil
		}
		if err != nil {
			return err
		}
		num, typ := protowire.DecodeTag(tag)
		if typ != protowire.BytesType || num <= 0 {
			return fmt.Errorf("protobuf: field %d: unexpected wire type %d", num, typ)
		}
		length, m, err := m.varint()
		if err != nil {
			return noEOF(err)
		}
		used := int64(n + m)
		if size > 0 {
			if int64(length) < 0 || used+int64(length) > size {
				return fmt.Errorf("protobuf: field %d overruns its message", num)
			}
			size -= used + int64(length)
		}
		if err := visit(num, length); err != nil {
			return noEOF(err)
		}
	}
	return nil
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (m *messageReader) varint() (v uint64, n int, err error) {
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

// take returns the next bytes of the stream; they live until it is called again. The buffer grows as bytes arrive, so
// a length that lies costs nothing.
func (m *messageReader) take(size uint64) ([]byte, error) {
	if size > uint64(m.limit) {
		return nil, &TooLargeError{What: m.what, LimitBytes: m.limit}
	}
	m.buf = m.buf[:0]
	for uint64(len(m.buf)) < size {
		if len(m.buf) == cap(m.buf) {
			m.buf = append(m.buf, 0)[:len(m.buf)]
		}
		room := m.buf[len(m.buf):min(uint64(cap(m.buf)), size)]
		n, err := io.ReadFull(m.r, room)
		m.buf = m.buf[:len(m.buf)+n]
		if err != nil {
			return nil, noEOF(err)
		}
	}
	return m.buf, nil
}

func (m *messageReader) skip(size uint64) error {
	_, err := io.CopyN(io.Discard, m.r, int64(min(size, 1<<62)))
	return noEOF(err)
}
