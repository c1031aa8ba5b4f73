// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflected

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// Describe returns the document of a type, and all errors.
func Describe(t reflect.Type) (*jsonschema.Schema, []error) {
	b := &builder{defs: jsonschema.Definitions{}, names: map[reflect.Type]string{}}
	root := b.schema(t)
	b.metadataTags(t)
	root.Definitions = b.defs
	for _, check := range b.checks {
		check()
	}
	return root, b.errs
}

// metadataTags checks the tags of the embedded metadata types of a kind.
func (b *builder) metadataTags(t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		if !f.Anonymous || f.Type.PkgPath() != "k8s.io/apimachinery/pkg/apis/meta/v1" {
			continue
		}
		if problem, remedy := shape.ParseJSON(f.Tag).MetadataTag(f.Type.Name()); problem != "" {
			b.errs = append(b.errs, fmt.Errorf("%s.%s: %s: %s", t.Name(), f.Name, problem, remedy))
		}
	}
}

type builder struct {
	defs   jsonschema.Definitions
	names  map[reflect.Type]string // names of definitions
	stack  []frame
	checks []func() // checks that need the complete document
	errs   []error
}

// frame is a type or a field in progress.
type frame struct {
	t      reflect.Type // nil for a field
	label  string       // the name for messages, such as DocumentSpec.Title
	bounds bool         // the field preserves unknown fields
}

// refuse reports a problem and its remedy.
func (b *builder) refuse(problem, remedy string) *jsonschema.Schema {
	b.complain(problem + ": " + remedy)
	return &jsonschema.Schema{}
}

func (b *builder) complain(msg string) {
	label := "the type"
	if len(b.stack) > 0 {
		label = b.stack[len(b.stack)-1].label
	}
	b.errs = append(b.errs, fmt.Errorf("%s: %s", label, msg))
}

// schema describes a type.
func (b *builder) schema(t reflect.Type) *jsonschema.Schema {
	if t.Name() != "" && t.PkgPath() != "" {
		return b.named(t)
	}
	return b.kind(t)
}

// kind describes a type by its kind.
func (b *builder) kind(t reflect.Type) *jsonschema.Schema {
	if s := shape.Basic(t.Kind().String()); s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.schema(t.Elem())
	case reflect.Slice:
		if isBytes(t) {
			return shape.Bytes()
		}
		return &jsonschema.Schema{Type: "array", Items: b.schema(t.Elem())}
	case reflect.Array:
		return shape.Array(int64(t.Len()), b.schema(t.Elem()))
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !implements[textMarshaler](t.Key()) {
			return b.refuse(fmt.Sprintf("the keys of a map must be strings, not %s", t.Key()), "use a string type, or a list of structs")
		}
		return &jsonschema.Schema{Type: "object", AdditionalProperties: b.schema(t.Elem())}
	case reflect.Struct:
		return b.structType(t)
	case reflect.Interface:
		return b.refuse("an interface has no schema", "use runtime.RawExtension for any object, or a struct with one field for each alternative")
	case reflect.Chan:
		return b.refuse("a channel can't be stored in an object", `remove the field, or omit it with json:"-"`)
	case reflect.Func:
		return b.refuse("a function can't be stored in an object", `remove the field, or omit it with json:"-"`)
	default:
		return b.refuse(fmt.Sprintf("a %s can't be stored in an object", t.Kind()), "use a string or a number")
	}
}

// isBytes reports whether encoding/json encodes a list as base64.
func isBytes(t reflect.Type) bool {
	e := t.Elem()
	return e.Kind() == reflect.Uint8 && !implements[jsonMarshaler](e) && !implements[textMarshaler](e)
}

// named returns a reference to the definition of a type, and creates the definition if necessary.
func (b *builder) named(t reflect.Type) *jsonschema.Schema {
	if i := slices.IndexFunc(b.stack, func(f frame) bool { return f.t == t }); i >= 0 {
		return b.recursive(t)
	}
	name := b.nameOf(t)
	if b.defs[name] == nil {
		b.stack = append(b.stack, frame{t: t, label: label(t)})
		s := shape.Known(t.PkgPath(), t.Name())
		if s == nil {
			s = b.describe(mirror(t))
		}
		b.stack = b.stack[:len(b.stack)-1]
		b.defs[name] = s
	}
	return &jsonschema.Schema{Ref: structural.DefPrefix + name}
}

// nameOf returns the unique name of a type's definition. Types that are declared in functions can have equal names.
func (b *builder) nameOf(t reflect.Type) string {
	if name, ok := b.names[t]; ok {
		return name
	}
	base := t.PkgPath() + "." + t.Name()
	name := base
	for i := 2; b.taken(name); i++ {
		name = base + "·" + strconv.Itoa(i)
	}
	b.names[t] = name
	return name
}

func (b *builder) taken(name string) bool {
	for _, other := range b.names {
		if other == name {
			return true
		}
	}
	return false
}

// label returns the name of a type without its package and type arguments.
func label(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// recursive returns the schema of a type inside of itself. It preserves unknown fields, because servers also prune the
// values below the field that preserves them, and the schema may be in a definition that other fields use.
func (b *builder) recursive(t reflect.Type) *jsonschema.Schema {
	for _, f := range slices.Backward(b.stack) {
		if f.bounds && t.Kind() != reflect.Slice {
			return shape.AnyObject()
		}
		if f.t == t {
			break
		}
	}
	problem := fmt.Sprintf("type %s contains itself, but schemas of CRDs can't be recursive", label(t))
	if b.stack[len(b.stack)-1].t != nil {
		return b.refuse(problem, "use runtime.RawExtension for its elements")
	}
	return b.refuse(problem, fmt.Sprintf("tag the recursive field with jsonschema_extras:%q, so that servers do not validate it",
		structural.KeyPreserveUnknownFields+"=true"))
}

// describe describes a named type by its schema methods, or otherwise by its kind.
func (b *builder) describe(t reflect.Type) *jsonschema.Schema {
	s := b.stated(t)
	if s == nil {
		s = b.kind(t)
	}
	if doc := documentation(t)[""]; s.Description == "" {
		s.Description = doc
	}
	if e, ok := method[extender](t); ok {
		e.JSONSchemaExtend(s)
	}
	return s
}
