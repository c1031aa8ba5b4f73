// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"math"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Limits bound what is read from a server. The zero value of a field is its default; nil means all defaults.
type Limits struct {
	// ObjectBytes bounds one object: a whole body, a list item or a watch event. Default 64 MiB. (etcd takes 1.5 MiB
	// by default; objects of aggregated servers may be larger.)
	ObjectBytes int64

	// ListBytes and ListItems bound one list response: a page, or the whole list if the request has no limit. Default
	// 1 GiB and 500,000. Read larger lists page by page.
	ListBytes int64
	ListItems int64

	// HeaderBytes bounds the header of a response, and ErrorBytes the body of a response that is not a success; the
	// rest of such a body is ignored. Only package client uses them. Default 1 MiB each.
	HeaderBytes int64
	ErrorBytes  int64
}

// The largest number of values in an object that is decoded, and the number of strings that are one value.
const (
	maxValues = protobuf.MaxValues
	scalars   = protobuf.Scalars
)

func (l *Limits) listBytes() int64 {
	if l == nil || l.ListBytes <= 0 {
		return 1 << 30
	}
	return l.ListBytes
}

func (l *Limits) listItems() int64 {
	if l == nil || l.ListItems <= 0 {
		return 500_000
	}
	return l.ListItems
}

func (l *Limits) objectBytes() int64 {
	if l == nil || l.ObjectBytes <= 0 {
		return 64 << 20
	}
	return min(l.ObjectBytes, math.MaxInt64-slackBytes)
}

// TooLargeError is returned if the server sends more than [Limits] allow, or an object with too many values.
// One of LimitBytes, LimitItems and LimitValues is set.
type TooLargeError struct {
	What        string // such as "list item"
	LimitBytes  int64
	LimitItems  int64 // of a list
	LimitValues int64 // of an object; eight strings or numbers are one value
}

// Error returns the bound and how to raise it.
func (e *TooLargeError) Error() string {
	switch {
	case e.LimitItems > 0:
		return fmt.Sprintf(
			"%s has more than %d items; read it page by page, or raise wire.Limits.ListItems",
			e.What,
			e.LimitItems,
		)
	case e.LimitValues > 0:
		return fmt.Sprintf("%s has more than %d objects and arrays, or %d times as many other values, which take too much "+
			"memory", e.What, e.LimitValues, scalars)
	case e.What == whatList:
		return fmt.Sprintf(
			"%s is larger than the limit of %d bytes; read it page by page, or raise wire.Limits.ListBytes",
			e.What,
			e.LimitBytes,
		)
	}
	return fmt.Sprintf(
		"%s is larger than the limit of %d bytes; raise wire.Limits.ObjectBytes if it should be",
		e.What,
		e.LimitBytes,
	)
}

const whatList = "list"

// listReader reads no more bytes than a list may have, except for one, which shows that the list is too large.
type listReader struct {
	r           io.Reader
	left, limit int64
}

func (l *listReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		return 0, &TooLargeError{What: whatList, LimitBytes: l.limit}
	}
	l.left -= int64(n)
	return n, err
}

// checkValues refuses an object that would take much more memory than its bytes.
func (p Packed) checkValues(obj any) error {
	if len(p.data) <= 2*maxValues {
		return nil
	}
	n := 0
	if p.encoding == Protobuf {
		n = protobuf.Values(p.data, obj)
	} else {
		n = countJSON(p.data)
	}
	if n > maxValues*scalars {
		return &TooLargeError{What: "object", LimitValues: maxValues}
	}
	return nil
}

// countJSON returns the size of an object in scalars: one for each comma, which follows nearly every value, and the
// rest of a value for each object, array and null, which may become an empty struct.
func countJSON(data []byte) (n int) {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := skipString(data, i)
			if end == i {
				return n // malformed, which the decoder reports
			}
			i = end - 1
		case ',':
			n++
		case '{', '[', 'n':
			n += scalars - 1
		}
	}
	return n
}

// ReadBody reads the body of one object.
func ReadBody(r io.Reader, limits *Limits) ([]byte, error) {
	limit := limits.objectBytes()
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, &TooLargeError{What: "body", LimitBytes: limit}
	}
	return body, nil
}

// slackBytes bounds what is between two objects of a stream, such as commas and white space.
const slackBytes = 1 << 10

// meter reads a limited number of bytes between two calls of reset.
type meter struct {
	r     io.Reader
	left  int64
	limit int64 // of an object
	what  string
}

func newMeter(r io.Reader, what string, limits *Limits) *meter {
	m := &meter{r: r, limit: limits.objectBytes(), what: what}
	m.reset()
	return m
}

// reset allows as many bytes again, for the next object.
func (m *meter) reset() { m.left = m.limit + slackBytes }

// check refuses an object that is larger than the limit but within the slack.
func (m *meter) check(object []byte) error {
	if int64(len(object)) > m.limit {
		return &TooLargeError{What: m.what, LimitBytes: m.limit}
	}
	return nil
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, &TooLargeError{What: m.what, LimitBytes: m.limit}
	}
	if int64(len(p)) > m.left {
		p = p[:m.left]
	}
	n, err := m.r.Read(p)
	m.left -= int64(n)
	return n, err
}
