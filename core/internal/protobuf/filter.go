// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Filter copies the fields of a message that its readers declare. A Filter is immutable. A nil Filter copies
// everything.
type Filter struct {
	rules []rule // by field number
}

// A rule says how the values of a field are copied.
type rule struct {
	tag  uint16  // 0 means that the field is omitted; values with another wire type are copied unchanged
	elem *Filter // of the values, if they are messages; nil copies them unchanged
}

// FilterOf returns a filter for readers that decode into t, a pointer to a struct. It omits the managedFields of an
// object. It returns nil if t is not supported, or is a type of Kubernetes, which declares all fields of the API.
func FilterOf(t reflect.Type) *Filter {
	p, err := planOf(t)
	if err != nil {
		return nil
	}
	p.once.Do(func() { p.root = p.object(t.Elem()) })
	return p.root
}

// object returns the filter for an object.
func (p *plan) object(t reflect.Type) *Filter {
	if declaresAll(t) && t != reflect.TypeFor[metav1.PartialObjectMetadata]() {
		return nil
	}
	root := p.filter()
	if meta := p.field(metadataNum); meta != nil && meta.typ == reflect.TypeFor[metav1.ObjectMeta]() {
		inner := meta.elem.filter()
		inner.rules[managedNum] = rule{}
		root.rules[metadataNum].elem = inner
	}
	return root
}

// declaresAll reports whether a type declares all fields of the API, so that filtering its values would only take time.
func declaresAll(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/") }

// The field numbers of an object's metadata, and of the managedFields in it.
const (
	metadataNum = 1
	managedNum  = 17
)

// filter returns the filter for the messages of a plan, which are in messages of the outer plans. It returns nil, for
// all fields, if the messages contain themselves.
func (p *plan) filter(outer ...*plan) *Filter {
	if slices.Contains(outer, p) {
		return nil
	}
	outer = append(outer, p)
	made := &Filter{make([]rule, len(p.byNumber))}
	for i := range p.fields {
		f := &p.fields[i]
		r := rule{tag: f.tag}
		if f.kind == message && f.shape != dict && !declaresAll(f.elemType) {
			r.elem = f.elem.filter(outer...)
		}
		made.rules[f.tag>>3] = r
	}
	return made
}

// Union returns a filter for the readers of both.
func (f *Filter) Union(o *Filter) *Filter {
	switch {
	case f.Covers(o):
		return f
	case o.Covers(f):
		return o
	}
	rules := make([]rule, max(len(f.rules), len(o.rules)))
	copy(rules, f.rules)
	for num, r := range o.rules {
		mine := &rules[num]
		switch {
		case mine.tag == 0:
			*mine = r
		case r.tag == 0:
		case mine.tag != r.tag:
			mine.elem = nil
		default:
			mine.elem = mine.elem.Union(r.elem)
		}
	}
	return &Filter{rules}
}

// Covers reports whether messages with the filter f have all that readers with the filter o need.
func (f *Filter) Covers(o *Filter) bool {
	switch {
	case f == nil || f == o:
		return true
	case o == nil:
		return false
	}
	for num, r := range o.rules {
		if r.tag == 0 {
			continue
		}
		mine := f.rule(uint64(num))
		if mine == nil || mine.elem != nil && (mine.tag != r.tag || !mine.elem.Covers(r.elem)) {
			return false
		}
	}
	return true
}

// Append appends the filtered message to dst. It copies what it can't read unchanged.
func (f *Filter) Append(dst, data []byte) []byte {
	if f == nil {
		return append(dst, data...)
	}
	c := copier{dst: dst, data: data}
	c.message(f, 0, len(data), maxDepth)
	return append(c.dst, data[c.from:]...)
}

// A copier copies data to dst. The bytes of data that follow from are copied later: parts between omitted bytes are
// copied at once, whatever messages they belong to.
type copier struct {
	dst, data []byte
	from      int
}

// omit omits the bytes of data from start to end.
func (c *copier) omit(start, end int) {
	c.dst = append(c.dst, c.data[c.from:start]...)
	c.from = end
}

// place returns where a byte of data, which is not omitted, is in dst or will be.
func (c *copier) place(pos int) int { return len(c.dst) + pos - c.from }

// message filters the message of data from pos to end.
func (c *copier) message(f *Filter, pos, end, depth int) {
	if depth == 0 {
		return
	}
	data := c.data[:end]
	for pos < end {
		tag, at, err := varint(data, pos)
		if err != nil {
			return
		}
		var value []byte
		var next int
		if tag&7 == uint64(protowire.BytesType) {
			value, next, err = bytes(data, at)
		} else {
			next, err = skip(data, at, tag)
		}
		if err != nil {
			return
		}
		switch r := f.rule(tag >> 3); {
		case r == nil:
			c.omit(pos, next)
		case r.elem != nil && uint64(r.tag) == tag:
			c.inner(r.elem, at, next-len(value), next, depth)
		}
		pos = next
	}
}

// inner filters the value of a field that is a message. The length of the value begins at pos, and the value at head.
func (c *copier) inner(f *Filter, pos, head, end, depth int) {
	at, body := c.place(pos), c.place(head)
	c.message(f, head, end, depth-1)
	size := c.place(end) - body
	if size == end-head {
		return
	}
	// dst has the length, which may need fewer bytes now
	at += copy(c.dst[at:], binary.AppendUvarint(nil, uint64(size)))
	if at < body {
		c.dst = append(c.dst[:at], c.dst[body:]...)
	}
}

// rule returns the rule of a field, or nil if it is omitted.
func (f *Filter) rule(num uint64) *rule {
	if num < uint64(len(f.rules)) && f.rules[num].tag != 0 {
		return &f.rules[num]
	}
	return nil
}
