// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/kind"
	"github.com/kube-go/sdk/derive/internal/load"
	"github.com/kube-go/sdk/derive/internal/marker"
	"github.com/kube-go/sdk/derive/internal/shape"
	"github.com/kube-go/sdk/derive/internal/structural"
	"github.com/kube-go/sdk/derive/internal/suggest"
)

// size sets a limit of a number of elements.
func size(args marker.Args, bound **uint64) error {
	n, err := strconv.ParseUint(args.Number("").String(), 10, 63)
	if err != nil {
		return err
	}
	*bound = &n
	return nil
}

// exclusive excludes a limit itself from the valid values.
func exclusive(args marker.Args, inclusive, exclusive *json.Number, name string) error {
	if !args.Bool("", true) {
		return nil
	}
	if *inclusive == "" {
		return fmt.Errorf("it needs a +%[2]s%[3]s: it excludes the value of %[1]s", name, validation, name)
	}
	*exclusive, *inclusive = *inclusive, ""
	return nil
}

// general applies the markers for all types.
func (t *target) general(name string, m *load.Marker) error {
	s := t.schema
	switch name {
	case "Enum":
		s.Enum, _ = m.Args[""].([]any)
		return t.fits(s.Enum...)
	case "Format":
		s.Format = m.Args.String("")
		return shape.CheckFormat(s.Format, t.typeName())
	case "Type":
		t.retype(m.Args.String(""))
	case "XPreserveUnknownFields", "kubebuilder:pruning:PreserveUnknownFields":
		t.extra(structural.KeyPreserveUnknownFields, true)
	case "XEmbeddedResource", "EmbeddedResource":
		if err := t.want("objects", "object"); err != nil {
			return errors.New("only an object can be a resource; this is " + t.describe())
		}
		t.extra(structural.KeyEmbeddedResource, true)
	case "XIntOrString":
		t.extra(structural.KeyIntOrString, true)
	case "nullable":
		t.extra(structural.KeyNullable, true)
	case "kubebuilder:default", "default":
		s.Default = t.emptyList(m.Args[""])
		t.later(m, s.Default)
	case "kubebuilder:example":
		example := t.emptyList(m.Args[""])
		s.Examples = []any{example}
		t.later(m, example)
	case "kubebuilder:title":
		s.Title = m.Args.String("")
	case "kubebuilder:externalDocs":
		t.extra(structural.KeyExternalDocs, &structural.ExternalDocs{URL: m.Args.String("url"), Description: m.Args.String("description")})
	case "k8s:required":
		t.notEmpty()
	case "k8s:immutable":
		t.rule(structural.Rule{Rule: "self == oldSelf", Message: "field is immutable"})
	case "k8s:enum":
		if err := t.want("strings and integers", "string", "integer"); err != nil {
			return err
		}
		constants := t.builder.enumOf(t.obj)
		if len(constants) == 0 {
			return fmt.Errorf("the package has no constants of type %s", t.obj.Name())
		}
		if err := t.fits(constants...); err != nil {
			return fmt.Errorf("%w: the type has another encoding, so list the encoded values with +%sEnum", err, validation)
		}
		s.Enum = constants
	}
	return nil
}

// notEmpty excludes empty values: Kubernetes rejects them for +k8s:required.
func (t *target) notEmpty() {
	s := t.schema
	for typ, bound := range map[string]**uint64{"string": &s.MinLength, "array": &s.MinItems, "object": &s.MinProperties} {
		if t.typeName() == typ && *bound == nil {
			*bound = new(uint64(1))
		}
	}
}

// retype replaces the schema by one of another type.
func (t *target) retype(name string) {
	if name == "Any" {
		name = ""
	}
	if t.typeName() == name {
		return
	}
	*t.schema = jsonschema.Schema{Type: name, Description: t.schema.Description, Extras: t.schema.Extras}
}

// emptyList returns an empty list for {}, the marker syntax for both, if the target is a list.
func (t *target) emptyList(v any) any {
	if object, ok := v.(map[string]any); ok && len(object) == 0 && t.typeName() == "array" {
		return []any{}
	}
	return v
}

// fits checks that values have the type of the target.
func (t *target) fits(values ...any) error {
	for _, v := range values {
		want := &structural.Schema{Type: t.typeName(), IntOrString: t.intOrString()}
		if err := want.Accepts(v); err != nil {
			return err
		}
	}
	return nil
}

// later checks a value against the complete schema when the document is complete.
func (t *target) later(m *load.Marker, v any) {
	if t.builder.strict(t.obj) {
		t.builder.check(m.Pos, t.builder.program.Markers().Spelling(m.Marker), t.schema, v)
	}
}

// check checks a value against a schema when the document is complete.
func (b *Builder) check(pos token.Position, what string, s *jsonschema.Schema, v any) {
	b.checks = append(b.checks, func() {
		full := b.rewritten(s)
		if full == nil {
			return
		}
		if err := full.Accepts(v); err != nil {
			b.report(pos, fmt.Sprintf("%s: %v", what, err))
		}
	})
}

// rule adds a validation rule.
func (t *target) rule(r structural.Rule) {
	rules, _ := t.schema.Extras[structural.KeyValidations].([]structural.Rule)
	t.extra(structural.KeyValidations, append(rules, r))
}

func (t *target) rules(name string, m *load.Marker) error {
	if name == "XValidation" {
		t.rule(kind.Rule(m.Args))
		t.checkFieldPath(m)
		return nil
	}
	fields := m.Args.Strings("")
	if err := t.oneOfFields(name, fields); err != nil {
		return err
	}
	if name != "AtLeastOneOf" {
		t.countRule(name, fields)
		return nil
	}
	has := make([]string, len(fields))
	for i, f := range fields {
		has[i] = "has(self." + celName(f) + ")"
	}
	t.rule(structural.Rule{
		Rule:    strings.Join(has, "||"),
		Message: fmt.Sprintf("at least one of the fields in [%s] must be set", strings.Join(fields, " ")),
	})
	return nil
}

// checkFieldPath checks that the fieldPath of a rule exists, when the document is complete.
func (t *target) checkFieldPath(m *load.Marker) {
	path := m.Args.String("fieldPath")
	b, s := t.builder, t.schema
	if path == "" || !b.strict(t.obj) {
		return
	}
	b.checks = append(b.checks, func() {
		full := b.rewritten(s)
		if full == nil {
			return
		}
		if _, err := full.At(path); err != nil {
			b.report(m.Pos, fmt.Sprintf("fieldPath: %v", err))
		}
	})
}

// celName returns the name of a field in CEL. A name that CEL can't express is returned unchanged, and the check of the
// rule reports it.
func celName(name string) string {
	if escaped, ok := cel.Escape(name); ok {
		return escaped
	}
	return name
}

// oneOfFields checks that the fields of a group exist and are optional.
func (t *target) oneOfFields(name string, fields []string) error {
	s := t.builder.rewritten(t.schema)
	if s == nil {
		return nil
	}
	for _, f := range fields {
		if s.Properties[f] == nil {
			return fmt.Errorf("field %q does not exist%s", f, didYouMean(f, s))
		}
		if name != "AtLeastOneOf" && slices.Contains(s.Required, f) {
			return fmt.Errorf("field %q is required, so it can't be a member of a group: tag it omitempty", f)
		}
	}
	return nil
}

// didYouMean suggests a property.
func didYouMean(name string, s *structural.Schema) string {
	var names []string
	for n := range s.Properties {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// topology applies the markers for the merging of lists and maps by server-side apply.
func (t *target) topology(name string, m *load.Marker) error {
	v := m.Args.String("")
	switch name {
	case "listType":
		if err := t.want("lists", "array"); err != nil {
			return errors.New("only a list has a list type; this is " + t.describe())
		}
		t.extra(structural.KeyListType, v)
		t.checkList(m, v)
	case "listMapKey":
		if t.typeName() != "array" {
			return errors.New("only a list has keys; this is " + t.describe())
		}
		keys, _ := t.schema.Extras[structural.KeyListMapKeys].([]string)
		if !slices.Contains(keys, v) { // the types of Kubernetes have both spellings
			keys = append(slices.Clone(keys), v)
		}
		t.extra(structural.KeyListMapKeys, keys)
		t.checkKey(m, v)
	default:
		if t.typeName() != "object" {
			return errors.New("only an object or a map has a map type; this is " + t.describe())
		}
		t.extra(structural.KeyMapType, v)
	}
	return nil
}

// checkList checks the requirements of servers for sets and maps, when the document is complete.
func (t *target) checkList(m *load.Marker, listType string) {
	b, s := t.builder, t.schema
	if !b.strict(t.obj) {
		return
	}
	b.checks = append(b.checks, func() {
		full := b.rewritten(s)
		if full == nil || full.Items == nil {
			return
		}
		scalar := full.Items.Type != "object" && full.Items.Type != "array"
		switch {
		case listType == "map" && full.Items.Type != "object":
			b.report(m.Pos, "+listType=map: the items must be structs; these are of type "+full.Items.Type)
		case listType == "map" && len(full.ListMapKeys) == 0:
			b.report(m.Pos, "+listType=map needs a +listMapKey: the field that identifies an item")
		case listType == "set" && !scalar && full.Items.MapType != "atomic" && full.Items.ListType != "atomic":
			b.report(m.Pos, "+listType=set: the items must be strings or numbers, or marked atomic")
		}
	})
}

// checkKey checks that a key is a field of every item.
func (t *target) checkKey(m *load.Marker, key string) {
	b, s := t.builder, t.schema
	if !b.strict(t.obj) {
		return
	}
	b.checks = append(b.checks, func() {
		full := b.rewritten(s)
		if full == nil || full.Items == nil || full.Items.Type != "object" {
			return
		}
		p := full.Items.Properties[key]
		switch {
		case full.ListType != "map":
			b.report(m.Pos, "+listMapKey needs a +listType=map")
		case p == nil:
			b.report(m.Pos, fmt.Sprintf("+listMapKey: the items have no field %q%s", key, didYouMean(key, full.Items)))
		case mayLack(full.Items, key):
			b.report(m.Pos, fmt.Sprintf("+listMapKey: field %q must be required or have a default, so that every item has it", key))
		case p.Type == "object" || p.Type == "array":
			b.report(m.Pos, fmt.Sprintf("+listMapKey: field %q must be a string, a number or a boolean", key))
		}
	})
}

// mayLack reports whether a valid object may lack a field.
func mayLack(s *structural.Schema, field string) bool {
	p := s.Properties[field]
	return !slices.Contains(s.Required, field) && (p == nil || p.Default == nil)
}
