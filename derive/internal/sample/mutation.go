// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Mutation is an object that violates a rule of its schema.
type Mutation struct {
	// Rule is the path of the violated keyword, such as spec.title.maxLength.
	Rule string
	// Object is the object, or nil if none was found. If Update is set, the update from the sample to Object violates
	// the rule.
	Object map[string]any
	Update bool
	// Err is the validation error of the rule. There can be other errors.
	Err *field.Error
}

// Mutations yields a Mutation for each rule that applies to a valid object. The mutated object violates this rule, and
// as few others as possible. The Mutation has no object if none was found.
func (s *Sampler) Mutations(obj map[string]any) iter.Seq[Mutation] {
	return func(yield func(Mutation) bool) {
		m := &mutator{s: s, obj: obj, yield: yield}
		for _, name := range slices.Sorted(maps.Keys(s.root.Properties)) {
			if v, ok := obj[name]; ok && name != "apiVersion" && name != "kind" && name != "metadata" {
				m.value(s.root.Properties[name], v, []step{name}, field.NewPath(name))
			}
		}
		m.required(s.root, obj, nil, nil)
		m.rules(s.root, obj, nil, nil)
		m.junctors(s.root, obj, nil, nil)
	}
}

// mutator traverses a valid object and its schema, and violates one rule at a time.
type mutator struct {
	s     *Sampler
	obj   map[string]any
	yield func(Mutation) bool
	done  bool
}

// try replaces a value by the given values, in this order, until validation returns the expected error.
func (m *mutator) try(rule string, at []step, path *field.Path, expected func(*field.Error) bool, values ...any) {
	if m.done {
		return
	}
	best := Mutation{Rule: ruleAt(path, rule)}
	fewest := 0
	for _, v := range values {
		next := runtime.DeepCopyJSON(m.obj)
		place(next, at, v, v == removed)
		errs := m.s.validate(next)
		i := slices.IndexFunc(errs, expected)
		if i < 0 || best.Err != nil && len(errs) >= fewest {
			continue
		}
		best.Object, best.Err, fewest = next, errs[i], len(errs)
		if fewest == 1 {
			break
		}
	}
	m.done = !m.yield(best)
}

// removed is a placeholder for a removed value.
const removed = "\x00gone"

func ruleAt(path *field.Path, rule string) string {
	if path == nil {
		return rule
	}
	return path.String() + "." + rule
}

// at returns a function that matches errors with the path, the type, and a message that contains text.
func at(path *field.Path, t field.ErrorType, text string) func(*field.Error) bool {
	return func(err *field.Error) bool {
		return err.Field == path.String() && err.Type == t && strings.Contains(err.Detail, text)
	}
}

func (m *mutator) value(s *openapi.Schema, v any, steps []step, path *field.Path) {
	if m.done || s == nil || v == nil {
		return
	}
	if s.Type != "" || s.IntOrString {
		var wrong any = "text"
		switch {
		case s.IntOrString:
			wrong = true
		case s.Type == "string":
			wrong = int64(5)
		}
		m.try("type", steps, path, at(path, field.ErrorTypeTypeInvalid, "must be of type"), wrong)
	}
	if len(s.Enum) > 0 {
		m.try("enum", steps, path, at(path, field.ErrorTypeNotSupported, ""), "none-of-them", int64(98765), 1.25, []any{}, map[string]any{})
	}
	switch v := v.(type) {
	case string:
		m.text(s, v, steps, path)
	case int64, float64:
		m.number(s, steps, path)
	case []any:
		m.list(s, v, steps, path)
	case map[string]any:
		m.object(s, v, steps, path)
	}
	m.rules(s, v, steps, path)
	m.junctors(s, v, steps, path)
}

func (m *mutator) text(s *openapi.Schema, v string, steps []step, path *field.Path) {
	if n := s.MaxLength; n != nil && *n >= 0 && *n < 1<<20 {
		long := v + strings.Repeat("x", int(*n)+1)
		m.try("maxLength", steps, path, at(path, field.ErrorTypeTooLong, ""), long)
	}
	if n := s.MinLength; n != nil && *n > 0 {
		m.try("minLength", steps, path, at(path, field.ErrorTypeInvalid, "chars long"), v[:min(len(v), int(*n)-1)], "")
	}
	invalid := []any{"!", "", "?!", "A b", "-", "a", "0", "~~~~~~~~", "ÄÖÜ", "x/y?z", "a.b.c", strings.Repeat("!", len(v))}
	if s.Pattern != "" {
		m.try("pattern", steps, path, at(path, field.ErrorTypeInvalid, "should match"), invalid...)
	}
	if s.Format != "" && value.KnownFormat(s) && s.Format != "password" {
		m.try("format", steps, path, at(path, field.ErrorTypeTypeInvalid, "must be of type"), invalid...)
	}
}

func (m *mutator) number(s *openapi.Schema, steps []step, path *field.Path) {
	near := func(n float64) []any {
		if s.Type == "number" {
			return []any{n, n + 0.5, n - 0.5, n + 1, n - 1}
		}
		return []any{int64(n), int64(n) + 1, int64(n) - 1}
	}
	if s.Minimum != nil {
		m.try("minimum", steps, path, at(path, field.ErrorTypeInvalid, "should be greater than"), near(*s.Minimum)...)
	}
	if s.Maximum != nil {
		m.try("maximum", steps, path, at(path, field.ErrorTypeInvalid, "should be less than"), near(*s.Maximum)...)
	}
	if s.MultipleOf != nil && (s.Type != "integer" || *s.MultipleOf > 1) {
		low, _ := bounds(s)
		m.try("multipleOf", steps, path, at(path, field.ErrorTypeInvalid, "should be a multiple"),
			append(near(max(low, 0)+*s.MultipleOf+*s.MultipleOf/2), near(max(low, 0)+1)...)...)
	}
}

func (m *mutator) list(s *openapi.Schema, v []any, steps []step, path *field.Path) {
	if n := s.MinItems; n != nil && *n > 0 {
		m.try("minItems", steps, path, at(path, field.ErrorTypeInvalid, "should have at least"), slices.Clone(v[:min(len(v), int(*n)-1)]))
	}
	if n := s.MaxItems; n != nil && *n >= 0 && *n < maxItems {
		long := slices.Clone(v)
		for i := len(long); i <= int(*n); i++ {
			long = append(long, (&maker{}).value(s.Item(), i, 0))
		}
		m.try("maxItems", steps, path, at(path, field.ErrorTypeTooMany, ""), long)
	}
	if (s.IsListType("set") || s.IsListType("map")) && len(v) > 0 {
		m.try("x-kubernetes-list-type", steps, path, func(err *field.Error) bool {
			return err.Type == field.ErrorTypeDuplicate && strings.HasPrefix(err.Field, path.String()+"[")
		}, append(slices.Clone(v), runtime.DeepCopyJSONValue(v[0])))
	}
	if len(v) > 0 {
		m.value(s.Item(), v[0], append(slices.Clone(steps), 0), path.Index(0))
	}
}

func (m *mutator) object(s *openapi.Schema, v map[string]any, steps []step, path *field.Path) {
	m.required(s, v, steps, path)
	if s.EmbeddedResource {
		m.try("x-kubernetes-embedded-resource", append(slices.Clone(steps), "kind"), path, at(path.Child("kind"), field.ErrorTypeInvalid, ""), "")
	}
	more := s.Value()
	if n := s.MinProperties; n != nil && *n > 0 {
		few := map[string]any{}
		m.try("minProperties", steps, path, at(path, field.ErrorTypeInvalid, "should have at least"), few)
	}
	if n := s.MaxProperties; n != nil && more != nil && *n >= 0 && *n < maxItems {
		many := maps.Clone(v)
		for i := range int(*n) + 1 {
			many[word(i)] = (&maker{}).value(more, i, 0)
		}
		m.try("maxProperties", steps, path, at(path, field.ErrorTypeTooMany, ""), many)
	}
	if a := s.AdditionalProperties; a != nil && !a.Allows {
		m.try("additionalProperties", append(slices.Clone(steps), "unknown"), path, at(path, field.ErrorTypeInvalid, "forbidden property"), int64(1))
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		below := append(slices.Clone(steps), name)
		switch p := s.Properties[name]; {
		case p != nil:
			m.value(p, v[name], below, path.Child(name))
		case more != nil: // servers report the paths of entries in two forms
			m.value(more, v[name], below, path.Child(name))
			return
		}
	}
}

func (m *mutator) required(s *openapi.Schema, v map[string]any, steps []step, path *field.Path) {
	for _, name := range s.Required {
		if p := s.Properties[name]; p == nil || p.Default != nil || path == nil && (name == "metadata" || name == "status") {
			continue
		}
		if _, ok := v[name]; ok {
			m.try("required["+name+"]", append(slices.Clone(steps), name), path, at(path.Child(name), field.ErrorTypeRequired, ""), removed)
		}
	}
}

// junctors searches for an object that violates a junctor.
func (m *mutator) junctors(s *openapi.Schema, v any, steps []step, path *field.Path) {
	for _, j := range []struct {
		name string
		used bool
	}{
		{"anyOf", len(s.AnyOf) > 0 && !s.IntOrString},
		{"oneOf", len(s.OneOf) > 0},
		{"allOf", len(s.AllOf) > 0 && !s.IntOrString},
		{"not", s.Not != nil},
	} {
		if j.used {
			m.search(j.name, s, v, steps, path, false, func(err *field.Error) bool {
				return strings.HasPrefix(err.Detail, fmt.Sprintf("%q must", pathText(path))) && strings.Contains(err.Detail, "("+j.name+")")
			})
		}
	}
}

func pathText(path *field.Path) string {
	if path == nil {
		return ""
	}
	return path.String()
}

// rules searches for an object that violates each CEL rule.
func (m *mutator) rules(s *openapi.Schema, v any, steps []step, path *field.Path) {
	for i, rule := range s.Validations {
		of := path
		if rule.FieldPath != "" {
			if to, _, err := cel.FieldPath(rule.FieldPath, s, true); err == nil {
				of = of.Child(to.String())
			}
		}
		m.search(fmt.Sprintf("x-kubernetes-validations[%d]", i), s, v, steps, path, strings.Contains(rule.Rule, "oldSelf"), func(err *field.Error) bool {
			return sameField(err.Field, of) && isErrorOf(err, rule, s.Validations)
		})
	}
}

// sameField compares paths. Servers report entries of maps in two forms.
func sameField(name string, path *field.Path) bool {
	plain := strings.NewReplacer("[", ".", "]", "")
	return plain.Replace(name) == plain.Replace(path.String())
}

// isErrorOf reports whether an error is the error of a rule.
func isErrorOf(err *field.Error, rule openapi.Rule, all []openapi.Rule) bool {
	if rule.Reason != nil && *rule.Reason == string(field.ErrorTypeDuplicate) {
		return err.Type == field.ErrorTypeDuplicate
	}
	text := func(r openapi.Rule) string {
		if r.Message != "" {
			return strings.TrimSpace(r.Message)
		}
		return "failed rule: " + strings.TrimSpace(r.Rule)
	}
	if rule.MessageExpression == "" {
		return err.Detail == text(rule)
	}
	return !strings.Contains(err.Detail, " in body ") && !slices.ContainsFunc(all, func(r openapi.Rule) bool { return err.Detail == text(r) && r != rule })
}

// search changes a value and its contents until validation returns the expected error.
func (m *mutator) search(rule string, s *openapi.Schema, v any, steps []step, path *field.Path, update bool, expected func(*field.Error) bool) {
	if m.done {
		return
	}
	best := Mutation{Rule: ruleAt(path, rule), Update: update}
	fewest, tries := 0, 0
	visit := func(next map[string]any) (more bool) {
		errs := m.s.validateChange(next, m.obj, update)
		if i := slices.IndexFunc(errs, expected); i >= 0 && (best.Err == nil || len(errs) < fewest) {
			best.Object, best.Err, fewest = next, errs[i], len(errs)
		}
		tries++
		return tries < maxTries && (best.Err == nil || fewest > 1 && tries < maxTries/40)
	}
	for next := range m.s.changesOf(m.obj, s, v, steps) {
		if !visit(next) {
			break
		}
	}
	if best.Err == nil {
		tries = 0
		m.searchPairs(s, v, steps, visit)
	}
	m.done = !m.yield(best)
}

// searchPairs visits the results of two changes.
func (m *mutator) searchPairs(s *openapi.Schema, v any, steps []step, visit func(map[string]any) bool) {
	for next := range m.s.toggles(m.obj, s, v, steps) {
		for after := range m.s.toggles(next, s, valueAt(next, steps), steps) {
			if !visit(after) {
				return
			}
		}
	}
}

// valueAt returns the value at a path.
func valueAt(root any, steps []step) any {
	for _, st := range steps {
		switch node := root.(type) {
		case map[string]any:
			name, _ := st.(string)
			root = node[name]
		case []any:
			i, _ := st.(int)
			if i >= len(node) {
				return nil
			}
			root = node[i]
		}
	}
	return root
}
