// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/kube-go/sdk/core"
)

// MarshalApply encodes an object as the body of a server-side apply, which claims every field that is present.
//
// A Go struct can't leave out everything that its author did not set, so MarshalApply leaves out, at any depth:
//   - a field that is nil;
//   - a struct with no field set, whatever its tag says;
//   - the status, if it has no field set, unless the object is applied to the subresource status and the status encodes
//     to more than {}. Other structs with no field set, such as the spec, are left out then.
//
// A zero number, string or bool, or a zero struct that is encoded as one of them, such as a metav1.Duration, is
// ambiguous if its tag has neither omitempty nor omitzero: its author may mean the zero value, or may not have set the
// field. Sent, it would overwrite the stored value. MarshalApply returns a [*ZeroValueError] that names all such
// fields, or sends them if [ApplyOptions.ZeroValues] is set, also those in a struct with no field set. The items of
// lists and the values of maps are exempt: their author writes each of them as a whole, so the zero values that are
// ambiguous elsewhere are sent. Such a zero value whose tag has omitempty or omitzero is never sent.
//
// An unstructured object is sent unchanged except for an empty status and null creationTimestamps, which generators
// leave in their output.
func MarshalApply(obj core.Object, res core.Resource, o *ApplyOptions) ([]byte, error) {
	if o == nil {
		o = &ApplyOptions{}
	}
	body, err := Marshal(obj, res, JSON)
	if err != nil {
		return nil, err
	}
	p := pruner{ApplyOptions: *o, fields: map[reflect.Type]map[string]jsonField{}}
	out, err := p.object(make([]byte, 0, len(body)), body, reflect.ValueOf(obj))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", res.Kind, err)
	}
	if len(p.zeros) > 0 && !o.ZeroValues {
		return nil, &ZeroValueError{Fields: p.zeros}
	}
	return normal(out)
}

// normal returns JSON that a parser of YAML reads as the same value. It has no escaped slash, no pair of surrogates and
// no invalid UTF-8, which only raw values may have, such as those of a RawExtension, and it escapes the characters that
// YAML refuses or changes. Servers parse an apply as YAML.
func normal(data []byte) ([]byte, error) {
	if !utf8.Valid(data) || bytes.Contains(data, []byte(`\/`)) || bytes.Contains(data, []byte(`\u`)) {
		var err error
		data, err = json.Marshal(jsontext.Value(data), jsonOptions, jsontext.PreserveRawStrings(false))
		if err != nil {
			return nil, err
		}
	}
	return escape(data), nil
}

// escape replaces the characters that YAML does not read verbatim by their escapes. Only strings have such characters.
func escape(data []byte) []byte {
	var out []byte
	copied := 0 // how much of data is in out
	for i := 0; i < len(data); {
		if data[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if !isVerbatim(r) {
			out = append(out, data[copied:i]...)
			out = fmt.Appendf(out, `\u%04x`, r)
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
}

// isVerbatim reports whether a parser of YAML reads a character in a string verbatim. It refuses control characters and
// noncharacters, and reads a line break as a space. The encoder of JSON has escaped those below U+0020, U+2028 and
// U+2029.
func isVerbatim(r rune) bool {
	return (r < 0x7f || r > 0x9f) && r != 0xfffe && r != 0xffff
}

// ApplyOptions are the options of [MarshalApply]. Nil means the defaults.
type ApplyOptions struct {
	ZeroValues bool // send zero values whose tag has neither omitempty nor omitzero, whatever the tag of their struct
	Status     bool // for the subresource status: a status without set fields is sent if it encodes to more than {}
}

// ZeroValueError reports fields with a zero value that an apply would write although their author may not have set
// them.
type ZeroValueError struct {
	Fields []string // paths, such as spec.schedule
}

// Error names the fields.
func (e *ZeroValueError) Error() string {
	return strings.Join(e.Fields, ", ") + ": the value is zero and the JSON tag has no omitempty"
}

// pruner copies JSON without the fields that its Go value did not set.
type pruner struct {
	ApplyOptions

	fields map[reflect.Type]map[string]jsonField // by JSON name
	path   []string                              // of the struct that is being copied
	inside int                                   // how many lists and maps of values enclose it
	zeros  []string                              // paths of ambiguous zero values
}

// object copies the root object.
func (p *pruner) object(out, data []byte, v reflect.Value) ([]byte, error) {
	v = settle(v)
	return copyMembers(out, data, func(out []byte, m member) ([]byte, error) {
		of := reflect.Value{}
		if v.Kind() == reflect.Struct {
			of, _ = p.lookUp(v, m.name)
		}
		isStatus := string(m.name) == "status"
		switch {
		case isStatus && (isEmpty(m.value) || !p.Status && of.IsValid() && of.IsZero()):
			return nil, nil
		case isStatus && p.Status && of.IsValid() && of.Kind() == reflect.Struct:
			p.path = []string{"status"}
			defer func() { p.path = nil }()
			return p.structValue(out, m.value, of)
		}
		return p.member(out, m, v)
	})
}

// member copies a member of the object of v. It returns nil for a member to leave out.
func (p *pruner) member(out []byte, m member, v reflect.Value) ([]byte, error) {
	if v.Kind() != reflect.Struct {
		return p.anyMember(out, m)
	}
	of, omitEmpty := p.lookUp(v, m.name)
	if !of.IsValid() {
		return append(out, m.value...), nil
	}
	p.path = append(p.path, string(m.name))
	defer func() { p.path = p.path[:len(p.path)-1] }()
	if of.IsZero() {
		isStruct := of.Kind() == reflect.Struct
		switch {
		case string(m.value) == "null", omitEmpty && isScalar(m.value): // which the encoder did not omit
			return nil, nil
		case !omitEmpty && p.inside == 0 && (!isStruct || isScalar(m.value)):
			p.zeros = append(p.zeros, strings.Join(p.path, "."))
		case isStruct && (!p.ZeroValues || p.Status && len(p.path) == 1) && (p.inside == 0 || !isScalar(m.value)):
			return nil, nil
		}
	}
	if of.Kind() == reflect.Struct {
		return p.structValue(out, m.value, of)
	}
	return p.value(out, m.value, of)
}

// structValue copies the value of a struct. It returns nil if the struct has no field to send.
func (p *pruner) structValue(out, data []byte, v reflect.Value) ([]byte, error) {
	start := len(out)
	out, err := p.value(out, data, v)
	if string(out[start:]) == "{}" {
		return nil, err
	}
	return out, err
}

// value copies the value of v.
func (p *pruner) value(out, data []byte, v reflect.Value) ([]byte, error) {
	switch v = settle(v); v.Kind() {
	case reflect.Struct:
		return copyMembers(out, data, func(out []byte, m member) ([]byte, error) { return p.member(out, m, v) })
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			break
		}
		p.inside++
		defer func() { p.inside-- }()
		return copyMembers(out, data, func(out []byte, m member) ([]byte, error) {
			key := reflect.ValueOf(string(m.name)).Convert(v.Type().Key())
			return p.value(out, m.value, v.MapIndex(key))
		})
	case reflect.Slice, reflect.Array:
		p.inside++
		defer func() { p.inside-- }()
		i := -1
		return copyElements(out, data, func(out, data []byte) ([]byte, error) {
			if i++; i >= v.Len() {
				return nil, errMalformed
			}
			return p.value(out, data, v.Index(i))
		})
	}
	return append(out, data...), nil
}

// anyMember is member for an object without a Go type.
func (p *pruner) anyMember(out []byte, m member) ([]byte, error) {
	if !bytes.Contains(m.value, []byte(`"creationTimestamp"`)) {
		return append(out, m.value...), nil
	}
	return p.anyValue(out, m.value, string(m.name))
}

// anyValue is value for a value without a Go type, which is the member of that name.
func (p *pruner) anyValue(out, data []byte, name string) ([]byte, error) {
	switch data[0] {
	case '{':
		return copyMembers(out, data, func(out []byte, m member) ([]byte, error) {
			if name == "metadata" && string(m.name) == "creationTimestamp" && string(m.value) == "null" {
				return nil, nil
			}
			return p.anyValue(out, m.value, string(m.name))
		})
	case '[':
		return copyElements(out, data, func(out, data []byte) ([]byte, error) { return p.anyValue(out, data, "") })
	}
	return append(out, data...), nil
}

// lookUp returns the field with a JSON name, and whether it may be omitted when it is empty.
func (p *pruner) lookUp(v reflect.Value, name []byte) (reflect.Value, bool) {
	fields, ok := p.fields[v.Type()]
	if !ok {
		fields = fieldsOf(v.Type())
		p.fields[v.Type()] = fields
	}
	f, ok := fields[string(name)]
	if !ok {
		return reflect.Value{}, false
	}
	of, err := v.FieldByIndexErr(f.index)
	if err != nil {
		return reflect.Value{}, false
	}
	return of, f.omits
}

// settle follows pointers to a value that is encoded by its fields. It returns the zero Value for a type with an
// encoder of its own.
func settle(v reflect.Value) reflect.Value {
	for v.IsValid() && !writesItself(v.Type()) {
		if v.Kind() != reflect.Pointer {
			return v
		}
		v = v.Elem()
	}
	return reflect.Value{}
}

// writesItself reports whether a type, or a pointer to it, has an encoder of its own.
func writesItself(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return t.Implements(reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()) ||
		t.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
}

// isScalar reports whether a value is neither an object nor an array.
func isScalar(value []byte) bool {
	return value[0] != '{' && value[0] != '['
}

// isEmpty reports whether a value is null or an empty object.
func isEmpty(value []byte) bool {
	return string(value) == "null" || string(value) == "{}"
}

// copyMembers copies an object. Copy appends a member's value, or returns nil to leave the member out.
func copyMembers(out, data []byte, copyValue func(out []byte, m member) ([]byte, error)) ([]byte, error) {
	if data[0] != '{' { // a null
		return append(out, data...), nil
	}
	out = append(out, '{')
	first := true
	err := eachMember(data, func(m member) error {
		start := len(out)
		if !first {
			out = append(out, ',')
		}
		out = append(out, data[m.start:m.end-len(m.value)]...)
		next, err := copyValue(out, m)
		if next == nil {
			out = out[:start]
			return err
		}
		out, first = next, false
		return err
	})
	return append(out, '}'), err
}

// copyElements copies an array.
func copyElements(out, data []byte, copyValue func(out, data []byte) ([]byte, error)) ([]byte, error) {
	if data[0] != '[' { // a null, or a string for bytes
		return append(out, data...), nil
	}
	out = append(out, '[')
	for i := skipSpace(data, 1); i < len(data) && data[i] != ']'; {
		end := skipValue(data, i)
		if end == i {
			return nil, errMalformed
		}
		var err error
		if out, err = copyValue(out, data[i:end]); err != nil {
			return nil, err
		}
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			out = append(out, ',')
			i = skipSpace(data, i+1)
		}
	}
	return append(out, ']'), nil
}
