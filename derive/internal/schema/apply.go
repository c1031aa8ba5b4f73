// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"fmt"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/marker"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
)

const validation = "kubebuilder:validation:"

// target is a schema to which markers are applied.
type target struct {
	builder *Builder
	schema  *jsonschema.Schema
	own     *jsonschema.Schema // the schema of the type, if schema has only what the markers add to it; or nil
	obj     types.Object
	decl    *load.Decl
	marker  *load.Marker // the current marker, or nil for rules that several markers cause
	items   bool
}

// apply applies the markers of a declaration to its schema.
func (b *Builder) apply(s *jsonschema.Schema, decl *load.Decl, obj types.Object) {
	markers := slices.Clone(decl.Markers)
	slices.SortStableFunc(markers, func(x, y *load.Marker) int { return cmp.Compare(rank(x.Name), rank(y.Name)) })
	for _, m := range markers {
		t := &target{builder: b, schema: s, obj: obj, decl: decl, marker: m}
		if m.Items {
			if t = t.ofItems(m); t == nil {
				continue
			}
		}
		if err := t.apply(m); err != nil {
			b.mistake(obj, m.Pos, fmt.Sprintf("%s: %v", b.program.Markers().Spelling(m.Marker), err))
		}
	}
}

// rank orders markers: those that change the type are first, those that depend on others last.
func rank(name string) int {
	switch strings.TrimPrefix(name, validation) {
	case "Type", "XIntOrString":
		return 0
	case "Format":
		return 1
	case "ExclusiveMaximum", "ExclusiveMinimum", "kubebuilder:default", "listMapKey", "k8s:listMapKey":
		return 3
	case "XValidation", "AtMostOneOf", "k8s:required", "k8s:unique", "k8s:update":
		return 4
	case "ExactlyOneOf":
		return 5
	case "AtLeastOneOf":
		return 6
	}
	return 2
}

// ofItems returns the target of markers with the items: prefix.
func (t *target) ofItems(m *load.Marker) *target {
	if t.typeName() != "array" {
		t.builder.mistake(t.obj, m.Pos, fmt.Sprintf("%s: only lists have items; this is %s",
			t.builder.program.Markers().Spelling(m.Marker), t.describe()))
		return nil
	}
	return t.within(&t.schema.Items, t.resolved().Items)
}

// resolve follows references to a schema with a type.
func (b *Builder) resolve(s *jsonschema.Schema) *jsonschema.Schema { return shape.Resolve(b.defs, s) }

// resolved returns the schema with the type of the target, its fields and its items.
func (t *target) resolved() *jsonschema.Schema {
	s := t.builder.resolve(t.schema)
	if t.own != nil && (s.Type == "" || s.Type == t.builder.resolve(t.own).Type) {
		return t.builder.resolve(t.own)
	}
	return s
}

// full returns the structural schema of the target, or nil if it has none.
func (t *target) full() *structural.Schema {
	full := t.builder.rewritten(t.schema)
	if t.own == nil || t.own == t.schema {
		return full
	}
	return structural.Overlay(t.builder.rewritten(t.own), full)
}

func (t *target) typeName() string { return t.resolved().Type }

func (t *target) intOrString() bool {
	return t.schema.Extras[structural.KeyIntOrString] == true || t.resolved().Extras[structural.KeyIntOrString] == true
}

// describe returns the type of the target for messages, such as "an integer".
func (t *target) describe() string {
	name := t.typeName()
	switch {
	case t.intOrString():
		return "an integer or string"
	case name == "":
		return "of unknown type"
	}
	return structural.Article(name)
}

// want returns an error if the target has none of the types.
func (t *target) want(what string, names ...string) error {
	name := t.typeName()
	if slices.Contains(names, name) || t.intOrString() && slices.Contains(names, "string") {
		return nil
	}
	return fmt.Errorf("it restricts %s; this is %s%s", what, t.describe(), t.forItems(names))
}

// forItems returns the hint to use the marker for the items, if the items of the target have one of the types.
func (t *target) forItems(names []string) string {
	items := t.resolved().Items
	if t.items || t.marker == nil || items == nil || !slices.Contains(names, t.builder.resolve(items).Type) {
		return ""
	}
	m := *t.marker.Marker
	m.Items = true
	spelling := t.builder.program.Markers().Spelling(&m)
	if strings.HasPrefix(m.Name, "k8s:") {
		spelling = "+k8s:eachVal=+" + m.Name
	}
	return "; for its items, write " + spelling
}

func (t *target) extra(key string, value any) {
	if t.schema.Extras == nil {
		t.schema.Extras = map[string]any{}
	}
	t.schema.Extras[key] = value
}

// apply applies one marker.
func (t *target) apply(m *load.Marker) error {
	name, isValidation := strings.CutPrefix(m.Name, validation)
	if isValidation {
		switch name {
		case "Maximum", "Minimum", "ExclusiveMaximum", "ExclusiveMinimum", "MultipleOf":
			return t.numeric(name, m.Args)
		case "MaxLength", "MinLength", "Pattern":
			return t.textual(name, m.Args)
		case "MaxItems", "MinItems", "UniqueItems", "MaxProperties", "MinProperties":
			return t.counted(name, m.Args)
		case "XValidation", "AtMostOneOf", "ExactlyOneOf", "AtLeastOneOf":
			return t.rules(name, m)
		}
		return t.general(name, m)
	}
	switch m.Name {
	case "listType", "listMapKey", "mapType", "structType":
		return t.topology(m.Name, m)
	case "kube:descriptions":
		return t.descriptions(m)
	}
	if strings.HasPrefix(m.Name, "k8s:") {
		return t.declarative(m)
	}
	return t.general(m.Name, m)
}

func (t *target) numeric(name string, args marker.Args) error {
	if err := t.want("numbers", "integer", "number"); err != nil {
		return err
	}
	n := args.Number("")
	if n != "" && t.typeName() == "integer" && strings.ContainsAny(n.String(), ".eE") {
		return fmt.Errorf("%s is not an integer, but the value is", n)
	}
	if n != "" {
		for _, format := range []string{t.schema.Format, t.resolved().Format} {
			if err := shape.CheckBound(n, t.typeName(), format); err != nil {
				return err
			}
		}
	}
	s := t.schema
	switch name {
	case "Maximum":
		s.Maximum = n
	case "Minimum":
		s.Minimum = n
	case "MultipleOf":
		s.MultipleOf = n
	case "ExclusiveMaximum":
		return exclusive(args, &s.Maximum, &s.ExclusiveMaximum, "Maximum")
	case "ExclusiveMinimum":
		return exclusive(args, &s.Minimum, &s.ExclusiveMinimum, "Minimum")
	}
	return nil
}

func (t *target) textual(name string, args marker.Args) error {
	if err := t.want("strings", "string"); err != nil {
		return err
	}
	s := t.schema
	switch name {
	case "MaxLength":
		return size(args, &s.MaxLength)
	case "MinLength":
		return size(args, &s.MinLength)
	}
	if _, err := regexp.Compile(args.String("")); err != nil {
		return err
	}
	s.Pattern = args.String("")
	return nil
}

func (t *target) counted(name string, args marker.Args) error {
	what, typ := "lists", "array"
	if strings.HasSuffix(name, "Properties") {
		what, typ = "objects", "object"
	}
	if err := t.want(what, typ); err != nil {
		return err
	}
	s := t.schema
	switch name {
	case "MaxItems":
		return size(args, &s.MaxItems)
	case "MinItems":
		return size(args, &s.MinItems)
	case "MaxProperties":
		return size(args, &s.MaxProperties)
	case "MinProperties":
		return size(args, &s.MinProperties)
	}
	if args.Bool("", true) {
		return fmt.Errorf("uniqueItems is not supported in CustomResourceDefinitions: use +listType=set")
	}
	return nil
}
