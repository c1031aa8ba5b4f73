// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxNumber is the largest supported field number, the maximum of a tag of two bytes. Kubernetes uses numbers below
// 100.
const maxNumber = 1<<11 - 1

// A plan describes the layout of a type's values in a message and in memory.
type plan struct {
	fields   []field  // by ascending number, the order in which they are written
	byNumber []*field // nil: there is no field with this number

	extension  bool // the plan is that of runtime.RawExtension
	quantities bool // in the message or a nested message; valid for the outermost plan only

	once sync.Once // guards root
	root *Filter   // see [FilterOf]
}

// A field is one field of a message.
type field struct {
	offset   uintptr // in the struct
	size     uintptr // of an element, for lists
	tag      uint16  // written before each value: the number and the wire type
	shape    shape
	kind     kind
	nilable  bool         // the first word in memory is a pointer, and nil means that nothing is written
	elem     *plan        // the plan of the values if they are messages
	typ      reflect.Type // of the field
	elemType reflect.Type // the type that the field points to or holds
	name     string
}

// A shape is the way in which a field holds its values.
type shape uint8

const (
	single   shape = iota // the value
	nullable              // a slice that is a message; nil means no value
	optional              // a pointer to the value; nil means no value
	list                  // a slice of values
	pointers              // a slice of pointers to values
	dict                  // a map from strings to values
)

// A kind is the type of a value, and determines its encoding. Numbers have the lowest kinds.
type kind uint8

const (
	boolean kind = iota
	signed32
	bits64
	unsigned32
	float32bits
	float64bits
	text
	blob
	message
	instant      // metav1.Time
	microInstant // metav1.MicroTime
	quantity     // resource.Quantity
	fieldSet     // metav1.FieldsV1
)

// plans caches the results of planOf by type: a *plan or an error.
//
//nolint:gochecknoglobals // a cache of constant values
var plans sync.Map

// planOf returns the plan of the struct that t points to.
func planOf(t reflect.Type) (*plan, error) {
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("protobuf: %v is not a pointer to a struct", t)
	}
	cached, ok := plans.Load(t)
	if !ok {
		cached, _ = plans.LoadOrStore(t, compile(t))
	}
	if p, ok := cached.(*plan); ok {
		return p, nil
	}
	return nil, cached.(error)
}

// planOfValue returns the plan of the struct that v points to.
func planOfValue(v reflect.Value) (*plan, error) {
	if !v.IsValid() {
		return planOf(nil)
	}
	p, err := planOf(v.Type())
	if err == nil && v.IsNil() {
		err = fmt.Errorf("protobuf: %v is nil", v.Type())
	}
	return p, err
}

// Supports reports whether values of t, a pointer to a struct, can be encoded and decoded. If not, Append and Unmarshal
// return an error with the reason.
func Supports(t reflect.Type) bool {
	_, err := planOf(t)
	return err == nil
}

// HasQuantities reports whether values of t, a pointer to a supported struct, may contain quantities.
func HasQuantities(t reflect.Type) bool {
	p, err := planOf(t)
	return err == nil && p.quantities
}

// compile returns a *plan, or an error if the type is not supported.
func compile(t reflect.Type) any {
	c := make(compiler)
	k, p, err := c.value(t.Elem())
	if err == nil && k != message {
		err = errors.New("is only supported as a field")
	}
	if err != nil {
		return fmt.Errorf("protobuf: %v: %w", t.Elem(), err)
	}
	for _, inner := range c {
		p.quantities = p.quantities || slices.ContainsFunc(inner.fields, func(f field) bool { return f.kind == quantity })
	}
	return p
}

// A compiler holds the plans that are being compiled, for recursive types.
type compiler map[reflect.Type]*plan

// value returns the encoding of a single value of a type.
func (c compiler) value(t reflect.Type) (kind, *plan, error) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return instant, nil, nil
	case reflect.TypeFor[metav1.MicroTime]():
		return microInstant, nil, nil
	case reflect.TypeFor[resource.Quantity]():
		return quantity, nil, nil
	case reflect.TypeFor[metav1.FieldsV1]():
		return fieldSet, nil, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolean, nil, nil
	case reflect.Int32:
		return signed32, nil, nil
	case reflect.Uint32:
		return unsigned32, nil, nil
	case reflect.Int64, reflect.Uint64:
		return bits64, nil, nil
	case reflect.Float32:
		return float32bits, nil, nil
	case reflect.Float64:
		return float64bits, nil, nil
	case reflect.String:
		return text, nil, nil
	case reflect.Slice:
		if isBytes(t) {
			return blob, nil, nil
		}
		if t.Name() != "" {
			p, err := c.message(t)
			return message, p, err
		}
	case reflect.Struct:
		p, err := c.message(t)
		return message, p, err
	}
	return 0, nil, unsupported(t)
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// message returns the plan of a struct, or of a named slice.
func (c compiler) message(t reflect.Type) (*plan, error) {
	if p := c[t]; p != nil {
		return p, nil
	}
	p := &plan{extension: t == reflect.TypeFor[runtime.RawExtension]()}
	c[t] = p
	if t.Kind() == reflect.Slice {
		f, err := c.list(t)
		if err != nil {
			return nil, err
		}
		p.add(f, 1, "items")
		return p, p.index()
	}
	for sf := range t.Fields() {
		num, name, err := parseTag(sf)
		if num == 0 && err == nil {
			continue
		}
		var f field
		if err == nil {
			f, err = c.field(sf)
		}
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", t.Name(), sf.Name, err)
		}
		p.add(f, num, name)
	}
	return p, p.index()
}

// add adds a field to the plan.
func (p *plan) add(f field, num uint64, name string) {
	f.name = name
	f.nilable = f.shape != single || f.kind == blob
	f.tag = uint16(protowire.EncodeTag(protowire.Number(num), f.wireType()))
	p.fields = append(p.fields, f)
}

// index completes a plan after all fields have been added.
func (p *plan) index() error {
	fields := p.fields
	for i := range fields {
		f := &fields[i]
		num := int(f.tag >> 3)
		if missing := num + 1 - len(p.byNumber); missing > 0 {
			p.byNumber = append(p.byNumber, make([]*field, missing)...)
		}
		if other := p.byNumber[num]; other != nil {
			return fmt.Errorf("%s and %s have the same protobuf field number", other.name, f.name)
		}
		p.byNumber[num] = f
	}
	p.fields = make([]field, 0, len(fields))
	for num, f := range p.byNumber {
		if f != nil {
			p.fields = append(p.fields, *f)
			p.byNumber[num] = &p.fields[len(p.fields)-1]
		}
	}
	return nil
}

// field returns the field with the number, or nil.
func (p *plan) field(num uint64) *field {
	if num < uint64(len(p.byNumber)) {
		return p.byNumber[num]
	}
	return nil
}

func (f *field) wireType() protowire.Type {
	switch {
	case f.shape == dict || f.kind >= text:
		return protowire.BytesType
	case f.kind == float32bits:
		return protowire.Fixed32Type
	case f.kind == float64bits:
		return protowire.Fixed64Type
	default:
		return protowire.VarintType
	}
}

// parseTag returns the number and the name of a struct field in the message. The number is 0 if the field does not
// belong in the message.
func parseTag(sf reflect.StructField) (num uint64, name string, err error) {
	tag := strings.Split(sf.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		switch {
		case sf.Anonymous && sf.Type == reflect.TypeFor[metav1.TypeMeta](), sf.IsExported() && sf.Tag.Get("json") == "-":
			return 0, "", nil
		}
		return 0, "", errors.New("it has no protobuf field number")
	}
	num, err = strconv.ParseUint(tag[1], 10, 16)
	if err != nil || num < 1 || num > maxNumber {
		return 0, "", fmt.Errorf("protobuf field number %q is not between 1 and %d", tag[1], maxNumber)
	}
	name = sf.Name
	for _, option := range tag[2:] {
		if value, ok := strings.CutPrefix(option, "name="); ok {
			name = value
		}
	}
	return num, name, nil
}

// field returns the encoding of a field of a struct.
func (c compiler) field(sf reflect.StructField) (f field, err error) {
	t := sf.Type
	f = field{typ: t, elemType: t}
	switch {
	case t.Kind() == reflect.Slice && !isBytes(t):
		if t.Name() != "" && !strings.Contains(sf.Tag.Get("protobuf")+",", ",rep,") {
			f.shape = nullable
			break
		}
		f, err = c.list(t)
		f.offset = sf.Offset
		return f, err
	case t.Kind() == reflect.Pointer:
		f.shape, f.elemType = optional, t.Elem()
	case t.Kind() == reflect.Map:
		f.shape, f.elemType = dict, t.Elem()
		if t.Key().Kind() != reflect.String {
			return f, fmt.Errorf("keys of type %v are not supported", t.Key())
		}
	}
	f.offset = sf.Offset
	f.kind, f.elem, err = c.value(f.elemType)
	if err == nil && (f.shape == dict && f.kind < text || f.shape == optional && f.elemType.Kind() == reflect.Slice) {
		err = unsupported(t)
	}
	return f, err
}

// list returns the encoding of a slice.
func (c compiler) list(t reflect.Type) (f field, err error) {
	f = field{shape: list, typ: t, elemType: t.Elem(), size: t.Elem().Size()}
	if f.elemType.Kind() == reflect.Pointer {
		f.shape, f.elemType = pointers, f.elemType.Elem()
		if f.elemType.Kind() != reflect.Struct {
			return f, unsupported(t)
		}
	}
	f.kind, f.elem, err = c.value(f.elemType)
	return f, err
}

func unsupported(t reflect.Type) error { return fmt.Errorf("type %v is not supported", t) }
