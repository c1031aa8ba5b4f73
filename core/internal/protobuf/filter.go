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

// A Filter copies the parts of a message that matter to its readers. It omits fields that readers do not declare, and
// values that a reader decodes to the same as a missing field: zero numbers, empty strings and empty messages, unless
// they are behind a pointer or in a list or map. A Filter is immutable. A nil Filter copies everything.
type Filter struct {
	rules []rule       // by field number
	rest  bool         // fields without a rule are copied, too: the readers declare all fields
	of    reflect.Type // of the values
}

// A rule says how the values of a field are copied.
type rule struct {
	tag    uint16 // values with another wire type are copied unchanged; 0 means no rule
	action action
	elem   *Filter // of the values, if they are messages
}

// An action is what a filter does with a value.
type action uint8

const (
	copied   action = iota // copies it unchanged
	omitted                // omits it
	nonzero                // omits it if it is zero or empty
	filtered               // filters it, and keeps it even if it is empty: the value of a pointer
	element                // filtered, for a field that can occur several times
	reduced                // filters it, and omits it if it is empty
	moment                 // omits the nanoseconds of a time if they are zero
	moments                // moment, for a field that can occur several times
	instants               // moment, and omits an empty value
)

// FilterOf returns a filter for readers that decode into t, a pointer to a struct. It omits the managedFields of an
// object. It returns nil if t is not supported.
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
	root := p.filter(t, make(map[*plan]*Filter))
	meta := p.field(metadataNum)
	if meta == nil || meta.typ != reflect.TypeFor[metav1.ObjectMeta]() {
		return root
	}
	root = root.clone()
	root.rest = root.rest && t != reflect.TypeFor[metav1.PartialObjectMetadata]()
	inner := root.rules[metadataNum].elem.clone()
	inner.rules[managedNum].action = omitted
	root.rules[metadataNum].elem = inner
	return root
}

func (f *Filter) clone() *Filter { return &Filter{slices.Clone(f.rules), f.rest, f.of} }

// The field numbers of an object's metadata, and of the managedFields in it.
const (
	metadataNum = 1
	managedNum  = 17
)

// filter returns the filter for a message of type t. seen has the filters that are being made.
func (p *plan) filter(t reflect.Type, seen map[*plan]*Filter) *Filter {
	if f := seen[p]; f != nil {
		return f
	}
	all := strings.HasPrefix(t.PkgPath(), "k8s.io/") // such types declare all fields of the API
	made := &Filter{rules: make([]rule, len(p.byNumber)), rest: all, of: t}
	seen[p] = made
	for i := range p.fields {
		f := &p.fields[i]
		r := rule{tag: f.tag, action: f.action()}
		switch r.action {
		case filtered, element, reduced:
			r.elem = f.elem.filter(f.elemType, seen)
		default: // not a message
		}
		made.rules[f.tag>>3] = r
	}
	return made
}

// action returns what a filter does with the values of a field.
func (f *field) action() action {
	several := f.shape == list || f.shape == pointers
	switch {
	case f.shape == dict:
		return copied
	case f.kind == message && several:
		return element
	case f.kind == message && f.shape == single:
		return reduced
	case f.kind == message:
		return filtered
	case (f.kind == instant || f.kind == microInstant) && several:
		return moments
	case (f.kind == instant || f.kind == microInstant) && f.shape == single:
		return instants
	case f.kind == instant, f.kind == microInstant:
		return moment
	case f.shape == single && (f.kind < float32bits || f.kind == text):
		return nonzero
	default: // an empty blob differs from a missing one, and floats are rare
		return copied
	}
}

// Union returns a filter for the readers of both.
func (f *Filter) Union(o *Filter) *Filter {
	switch {
	case f.Covers(o):
		return f
	case o.Covers(f):
		return o
	case f.rest || o.rest:
		return nil
	}
	rules := make([]rule, max(len(f.rules), len(o.rules)))
	copy(rules, f.rules)
	for num, r := range o.rules {
		mine := &rules[num]
		switch {
		case mine.tag == 0:
			*mine = r
		case r.tag == 0:
		case mine.tag != r.tag || mine.action != r.action:
			mine.action = copied
		case r.elem != nil:
			if mine.elem = mine.elem.Union(r.elem); mine.elem == nil {
				mine.action = copied
			}
		}
	}
	return &Filter{rules: rules}
}

// Covers reports whether messages with the filter f have all that readers with the filter o need.
func (f *Filter) Covers(o *Filter) bool {
	switch {
	case f == nil || f == o:
		return true
	case o == nil || !f.rest && o.rest:
		return false
	case f.rest && o.rest:
		return f.of == o.of
	}
	for num := range o.rules {
		r := o.rule(uint64(num))
		mine := f.rule(uint64(num))
		switch {
		case r == nil || mine == nil && f.rest || mine != nil && mine.action == copied:
		case mine == nil || mine.tag != r.tag || mine.action != r.action:
			return false
		case r.elem != nil && !mine.elem.Covers(r.elem):
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
	data, rules := c.data[:end], f.rules
	last := uint64(0) // the greatest number of a field
	for pos < len(data) {
		// Most fields are strings and numbers that are there once, with a tag and a length or value of one byte.
		if tag, next := data[pos], pos+2; next <= len(data) && tag|data[next-1] < 0x80 {
			if num := uint64(tag >> 3); num > last && num < uint64(len(rules)) {
				if r := &rules[num]; r.action == nonzero && r.tag == uint16(tag) {
					last = num
					size := int(data[next-1])
					if size == 0 {
						c.omit(pos, next)
					}
					if pos = next; tag&7 == byte(protowire.BytesType) {
						pos += size
					}
					continue
				}
			}
		}
		r, action, num, value, next := f.field(data, pos)
		if next == 0 {
			return
		}
		if num > last {
			last = num
		} else if action != element && action != moments && action != omitted {
			action = copied // a value that is not the first is merged with those before it
		}
		switch action {
		case copied:
		case filtered, element, reduced:
			c.inner(r, pos, next-len(value), next, depth)
		case omitted:
			c.omit(pos, next)
		default:
			if field := data[pos:next]; r.isEmpty(field) && (action == nonzero || action == instants) {
				c.omit(pos, next)
			} else if action != nonzero && isWhole(value) && len(field) == len(value)+tagSize(r.tag)+1 {
				c.omit(next-2, next)
				c.dst[len(c.dst)-len(value)+1] -= 2 // the length
			}
		}
		pos = next
	}
}

// inner filters the value of a field that is a message. The field begins at pos, and its value at head.
func (c *copier) inner(r *rule, pos, head, end, depth int) {
	start, body := c.place(pos), c.place(head)
	c.message(r.elem, head, end, depth-1)
	size := c.place(end) - body
	switch {
	case size == 0 && r.action == reduced:
		if c.from <= pos { // the value was empty
			c.omit(pos, end)
		}
		c.dst = c.dst[:start]
	case size < end-head: // so dst has the length, which may need fewer bytes now
		var buf [binary.MaxVarintLen64]byte
		length := buf[:binary.PutUvarint(buf[:], uint64(size))]
		at := start + tagSize(r.tag)
		copy(c.dst[at:], length)
		if at += len(length); at < body {
			c.dst = append(c.dst[:at], c.dst[body:]...)
		}
	}
}

// field reads the field at pos, and returns its rule, what to do with it, its number, its value unless it is a number,
// and its end, which is 0 if the field is unreadable.
func (f *Filter) field(data []byte, pos int) (r *rule, do action, num uint64, value []byte, next int) {
	tag, next, err := uint64(data[pos]), pos+1, error(nil)
	if tag >= 0x80 {
		tag, next, err = varint(data, pos)
	}
	num = tag >> 3
	r = f.rule(num)
	switch {
	case err != nil, r != nil && next-pos != tagSize(r.tag): // or a tag with padding
		return nil, copied, 0, nil, 0
	case tag&7 == uint64(protowire.BytesType):
		value, next, err = bytes(data, next)
	case tag&7 == uint64(protowire.VarintType) && next < len(data) && data[next] < 0x80: // in one byte
		next++
	default:
		next, err = skip(data, next, tag)
	}
	switch {
	case err != nil:
		return nil, copied, 0, nil, 0
	case r == nil && !f.rest:
		do = omitted
	case r != nil && (uint64(r.tag) == tag || r.action == omitted):
		do = r.action
	}
	return r, do, num, value, next
}

// rule returns the rule of a field, or nil.
func (f *Filter) rule(num uint64) *rule {
	if num < uint64(len(f.rules)) && f.rules[num].tag != 0 {
		return &f.rules[num]
	}
	return nil
}

// isEmpty reports whether the value of a field is empty, or a number that is zero.
func (r *rule) isEmpty(field []byte) bool {
	size := tagSize(r.tag)
	return len(field) == size+1 && field[size] == 0 // the length, or the number
}

// isWhole reports whether a message is that of a time, and ends with a number of nanoseconds that is zero.
func isWhole(value []byte) bool {
	if len(value) < 4 || len(value) >= 0x80 || value[0] != 1<<3 {
		return false
	}
	_, next, err := varint(value, 1)
	return err == nil && next == len(value)-2 && value[next] == 2<<3 && value[next+1] == 0
}

// tagSize returns the number of bytes of a tag.
func tagSize(tag uint16) int {
	if tag < 0x80 {
		return 1
	}
	return 2
}
