// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// cborReader reads data items off a stream, in memory bounded by limit.
type cborReader struct {
	r     *bufio.Reader
	limit int64
	what  string // for errors
	buf   []byte // what was read since reset
}

func newCBORReader(r io.Reader, what string, limits *Limits) cborReader {
	return cborReader{r: bufio.NewReaderSize(r, 16<<10), limit: limits.objectBytes(), what: what}
}

// reset starts anew, for the next item.
func (c *cborReader) reset() {
	if cap(c.buf) > keepBytes {
		c.buf = nil
	}
	c.buf = c.buf[:0]
}

// take reads that many bytes. The buffer grows as they arrive, so a length that lies costs nothing.
func (c *cborReader) take(size uint64) (err error) {
	if size > uint64(c.limit)-uint64(len(c.buf)) {
		return &TooLargeError{What: c.what, LimitBytes: c.limit}
	}
	c.buf, err = readGrowing(c.r, c.buf, len(c.buf)+int(size))
	return err
}

// head reads the head of an item. It returns io.EOF only before its first byte.
func (c *cborReader) head() (cborHead, error) {
	first, err := c.r.ReadByte()
	if err != nil {
		return cborHead{}, err
	}
	if int64(len(c.buf)) >= c.limit {
		return cborHead{}, &TooLargeError{What: c.what, LimitBytes: c.limit}
	}
	start := len(c.buf)
	c.buf = append(c.buf, first)
	if more := cborHeadBytes(first); more > 0 {
		if err := c.take(uint64(more)); err != nil {
			return cborHead{}, err
		}
	}
	h, _, err := cborHeadAt(c.buf[start:], 0)
	return h, err
}

// untagged reads heads up to the first that is not of a tag, and forgets the tags.
func (c *cborReader) untagged() (h cborHead, err error) {
	for {
		c.reset()
		if h, err = c.head(); err != nil || h.major != cborTag {
			return h, err
		}
	}
}

// rest reads the rest of an item.
func (c *cborReader) rest(h cborHead, depth int) error {
	if depth == 0 {
		return errCBORDepth
	}
	n := int64(0) // elements to come, less than zero up to a break
	switch {
	case h.isBreak():
		return errCBORHead
	case h.isString() && !h.indefinite():
		return c.take(h.arg)
	case h.isString():
		n = -1
	case h.major == cborTag:
		n = 1
	case h.major == cborArray, h.major == cborMap:
		var err error
		if n, err = h.elements(); err != nil {
			return err
		}
	}
	for i := 0; n != 0; i++ {
		element, err := c.head()
		if err != nil {
			return noEOF(err)
		}
		if n < 0 && element.isBreak() && (h.major != cborMap || i%2 == 0) {
			return nil
		}
		if h.isString() && (element.major != h.major || element.indefinite()) {
			return errCBORChunk
		}
		if err := c.rest(element, depth-1); err != nil {
			return err
		}
		n--
	}
	return nil
}

// item reads an item and returns it without the tags around it. Its bytes live until the next is read.
func (c *cborReader) item() ([]byte, error) {
	h, err := c.untagged()
	if err == nil {
		err = c.rest(h, maxDepth)
	}
	return c.buf, err
}

// name reads a name. Done reports that it was the break at the end of a map.
func (c *cborReader) name() (name string, done bool, err error) {
	c.reset()
	h, err := c.head()
	if err != nil || h.isBreak() {
		return "", true, err
	}
	if err := c.rest(h, maxDepth); err != nil {
		return "", false, err
	}
	text, _, err := cborNameAt(c.buf, 0)
	return string(text), false, err
}

// cborList walks a list as it arrives; only one item is in memory at a time.
type cborList struct {
	cborReader
	each   func(Packed) error
	meta   metav1.ListMeta
	kind   listKind
	isList bool // its kind or its items were seen
}

func (l *cborList) read() error {
	h, err := l.untagged()
	if err != nil {
		return err
	}
	if h.major != cborMap {
		return fmt.Errorf("%w: want a map", errNotList)
	}
	n, err := h.elements()
	if err != nil {
		return err
	}
	for ; n != 0; n -= 2 {
		name, done, err := l.name()
		if err != nil {
			return err
		}
		if done && n > 0 {
			return errCBORHead
		}
		if done {
			break
		}
		if err := l.member(name); err != nil {
			return err
		}
	}
	if !l.isList {
		return errNotList
	}
	if err := l.kind.check(); err != nil {
		return err
	}
	if _, err := l.r.ReadByte(); err != io.EOF {
		return cmp.Or(err, errors.New("cbor: more after the end of the list"))
	}
	return nil
}

func (l *cborList) member(name string) error {
	h, err := l.untagged()
	if err != nil {
		return err
	}
	if name == "items" && !h.isNull() {
		return l.items(h)
	}
	if err := l.rest(h, maxDepth); err != nil {
		return err
	}
	switch name {
	case "metadata":
		return unmarshalCBOR(l.buf, &l.meta)
	case "items":
		l.isList = true
	case "kind":
		l.isList = true
		return l.kind.setKind(cborString(l.buf))
	case "apiVersion":
		l.kind.apiVersion = cborString(l.buf)
	}
	return nil
}

func (l *cborList) items(h cborHead) error {
	if h.major != cborArray {
		return errors.New("cbor: want an array of items")
	}
	l.isList = true
	n, err := h.elements()
	if err == nil {
		err = l.kind.check()
	}
	for ; n != 0 && err == nil; n-- {
		var item cborHead
		if item, err = l.untagged(); err != nil {
			return err
		}
		if n < 0 && item.isBreak() {
			return nil
		}
		if item.major != cborMap {
			return errors.New("cbor: want a map as list item")
		}
		if err = l.rest(item, maxDepth); err != nil {
			return err
		}
		if err = l.kind.checkItem(Packed{encoding: CBOR, data: l.buf}); err != nil {
			return err
		}
		err = l.each(Packed{encoding: CBOR, data: l.buf})
	}
	return err
}

// cborEvents reads a sequence of maps {type: …, object: …}: https://www.rfc-editor.org/rfc/rfc8742.
func cborEvents(r io.Reader, limits *Limits) func() (Event, error) {
	c := newCBORReader(r, "watch event", limits)
	return func() (Event, error) {
		if _, err := c.r.Peek(1); err == io.EOF {
			return Event{}, io.EOF // between two events
		}
		ev := Event{Object: Packed{encoding: CBOR}}
		item, err := c.item()
		if err == nil {
			err = eachCBORMember(item, func(m member) error {
				switch string(m.name) {
				case "type":
					ev.Type = core.EventType(cborString(m.value))
				case "object":
					ev.Object.data = m.value[skipCBORTags(m.value):]
				}
				return nil
			})
		}
		if err == nil {
			err = checkEvent(ev)
		}
		if err != nil {
			return Event{}, fmt.Errorf("watch event: %w", noEOF(err))
		}
		return ev, nil
	}
}
