// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// Projection is a set of the fields of objects. [Packed.AppendCompact] keeps only the fields of a projection, so that a
// cache does not hold what no reader declares. A nil Projection has all fields. A Projection is immutable.
type Projection struct {
	fields map[string]*Projection // of a JSON object
	each   *Projection            // of every element of an array or value of a map, if fields is nil

	message *protobuf.Filter // of a protobuf message; only in the projection of a whole object
}

// ProjectionOf returns the fields that decoding into a type reads, such as those of a struct with few fields. It
// returns nil, which means all fields, for the types of Kubernetes, which declare all of them, and for types that can
// hold anything: interfaces, and types with unmarshal methods.
func ProjectionOf(t reflect.Type) *Projection {
	p := project(t, nil)
	if p == nil {
		p = &Projection{}
	}
	delete(p.fields, "kind") // with a projection, AppendCompact never keeps them
	delete(p.fields, "apiVersion")
	if p.onlyMetadata() {
		t = reflect.TypeFor[metav1.PartialObjectMetadata]()
	}
	p.message = protobuf.FilterOf(reflect.PointerTo(t))
	return p.orAll()
}

// members returns the projection of JSON objects, which is nil for all members.
func (p *Projection) members() *Projection {
	if p == nil || p.fields == nil && p.each == nil {
		return nil
	}
	return p
}

// orAll returns nil if the projection has all fields in each encoding.
func (p *Projection) orAll() *Projection {
	if p.members() == nil && p.message == nil {
		return nil
	}
	return p
}

// project returns the projection of a type. A type that contains itself needs all fields. So does a type of Kubernetes,
// which declares all fields of the API, so that leaving out the others would only take time.
func project(t reflect.Type, outer []reflect.Type) *Projection {
	t = declared(t)
	switch {
	case t == reflect.TypeFor[metav1.PartialObjectMetadata]():
		return &Projection{fields: map[string]*Projection{"metadata": nil}}
	case t == nil || strings.HasPrefix(t.PkgPath(), "k8s.io/") || slices.Contains(outer, t):
		return nil
	}
	outer = append(outer, t)
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if each := project(t.Elem(), outer); each != nil {
			return &Projection{each: each}
		}
	case reflect.Struct:
		fields := make(map[string]*Projection)
		for name, f := range fieldsOf(t) {
			if f.rest {
				return nil
			}
			fields[name] = project(f.Type, outer)
		}
		return &Projection{fields: fields}
	default:
	}
	return nil
}

// Union returns the projection with the fields of both.
func (p *Projection) Union(q *Projection) *Projection {
	if p == nil || q == nil {
		return nil
	}
	both := Projection{message: p.message.Union(q.message)}
	if members := p.members().union(q.members()); members != nil {
		both.fields, both.each = members.fields, members.each
	}
	return both.orAll()
}

// union is Union for JSON values.
func (p *Projection) union(q *Projection) *Projection {
	switch {
	case p == nil || q == nil || (p.fields == nil) != (q.fields == nil):
		return nil
	case p.fields == nil:
		if each := p.each.union(q.each); each != nil {
			return &Projection{each: each}
		}
		return nil
	}
	fields := maps.Clone(p.fields)
	for name, f := range q.fields {
		if mine, ok := fields[name]; ok {
			f = mine.union(f)
		}
		fields[name] = f
	}
	return &Projection{fields: fields}
}

// Covers reports whether p has all fields of q.
func (p *Projection) Covers(q *Projection) bool {
	switch {
	case p == nil:
		return true
	case q == nil:
		return false
	}
	return p.members().covers(q.members()) && p.message.Covers(q.message)
}

// covers is Covers for JSON values.
func (p *Projection) covers(q *Projection) bool {
	switch {
	case p == nil:
		return true
	case q == nil || (p.fields == nil) != (q.fields == nil):
		return false
	case p.fields == nil:
		return p.each.covers(q.each)
	}
	for name, f := range q.fields {
		if mine, ok := p.fields[name]; !ok || !mine.covers(f) {
			return false
		}
	}
	return true
}

// String returns the fields in a fixed order, such as {"metadata" "spec"{"nodeName"}}. It is equal for equal
// projections.
func (p *Projection) String() string {
	switch {
	case p == nil:
		return ""
	case p.fields == nil:
		return "[" + p.each.String() + "]"
	}
	fields := make([]string, 0, len(p.fields))
	for _, name := range slices.Sorted(maps.Keys(p.fields)) {
		fields = append(fields, strconv.Quote(name)+p.fields[name].String())
	}
	return "{" + strings.Join(fields, " ") + "}"
}

// onlyMetadata reports whether the projection of an object has no fields besides its metadata.
func (p *Projection) onlyMetadata() bool {
	if p == nil || p.fields == nil {
		return false
	}
	for name := range p.fields {
		if name != "metadata" {
			return false
		}
	}
	return true
}

// appendValue appends the fields of the JSON value that starts at i, and returns the index after it. It reads each byte
// once.
func (p *Projection) appendValue(dst, data []byte, i int) ([]byte, int, error) {
	switch {
	case p == nil || i == len(data):
	case data[i] == '{':
		return p.appendObject(dst, data, i)
	case data[i] == '[' && p.fields == nil:
		return p.appendArray(dst, data, i)
	}
	end := skipValue(data, i)
	if end == i {
		return dst, i, errMalformed
	}
	return append(dst, data[i:end]...), end, nil
}

func (p *Projection) appendObject(dst, data []byte, i int) (_ []byte, end int, err error) {
	dst = append(dst, '{')
	for i = skipSpace(data, i+1); i < len(data) && data[i] != '}'; {
		name, value, err := memberAt(data, i)
		if err != nil {
			return dst, i, err
		}
		if dst, end, err = p.appendMember(dst, data, name, value); err != nil {
			return dst, i, err
		}
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	if i >= len(data) {
		return dst, i, errMalformed
	}
	return append(dst, '}'), i + 1, nil
}

// appendMember appends a member of an object if the projection has it, and returns the index after its value.
func (p *Projection) appendMember(dst, data, name []byte, value int) (_ []byte, end int, err error) {
	var inner *Projection
	known := true
	switch {
	case p == nil:
	case p.fields == nil:
		inner = p.each
	default:
		inner, known = p.fields[string(unescaped(name))]
	}
	if !known {
		if end = skipValue(data, value); end == value {
			err = errMalformed
		}
		return dst, end, err
	}
	return inner.appendValue(append(append(comma(dst), name...), ':'), data, value)
}

func (p *Projection) appendArray(dst, data []byte, i int) (_ []byte, end int, err error) {
	dst = append(dst, '[')
	for i = skipSpace(data, i+1); i < len(data) && data[i] != ']'; {
		if dst, i, err = p.each.appendValue(comma(dst), data, i); err != nil {
			return dst, i, err
		}
		if i = skipSpace(data, i); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	if i >= len(data) {
		return dst, i, errMalformed
	}
	return append(dst, ']'), i + 1, nil
}

// comma separates the next member or element from the previous one.
func comma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last != '{' && last != '[' {
		dst = append(dst, ',')
	}
	return dst
}
