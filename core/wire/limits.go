// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"io"
	"math"
)

// Limits bound what is read from a server. The zero value of a field is its default; nil means all defaults.
type Limits struct {
	// ObjectBytes bounds one object: a whole body, a list item or a watch event. Default 64 MiB. (etcd takes 1.5 MiB
	// by default; objects of aggregated servers may be larger.)
	ObjectBytes int64
}

func (l *Limits) objectBytes() int64 {
	if l == nil || l.ObjectBytes <= 0 {
		return 64 << 20
	}
	return min(l.ObjectBytes, math.MaxInt64-slackBytes)
}

// TooLargeError is returned when the server sends more than [Limits] allow.
type TooLargeError struct {
	What       string // what was read, such as "list item"
	LimitBytes int64
}

// Error names the bound.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s is larger than the limit of %d bytes; raise wire.Limits.ObjectBytes if it should be", e.What, e.LimitBytes)
}

// ReadBody reads a body that holds one object.
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

// slackBytes is how much may stand between two objects of a stream, such as commas and white space.
const slackBytes = 1 << 10

// meter lets a limited number of bytes through between two calls of reset.
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

// reset starts anew, for the next object.
func (m *meter) reset() { m.left = m.limit + slackBytes }

// check refuses an object that is larger than the limit although it got through.
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
