// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Rules contains the compiled rules of a schema and of its subschemas. A nil *Rules is valid and empty. Rules is safe
// for concurrent use.
type Rules struct {
	schema     *openapi.Schema
	programs   []Program
	items      *Rules
	values     *Rules
	properties map[string]*Rules
}

// Rules compiles the rules of a schema and of its subschemas.
func (e *Environment) Rules(s *openapi.Schema, resource bool) (*Rules, error) {
	if !hasRules(s) {
		return nil, nil
	}
	return e.rules(s, resource, TypeOf(s, resource))
}

func hasRules(s *openapi.Schema) bool {
	if s == nil {
		return false
	}
	return len(s.Validations) > 0 || hasRules(s.Item()) || hasRules(s.Value()) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.Properties)), hasRules)
}

// rules implements Rules for a schema of a given type.
func (e *Environment) rules(s *openapi.Schema, resource bool, t *Type) (*Rules, error) {
	if !hasRules(s) || t == nil {
		return nil, nil
	}
	r := &Rules{schema: s, properties: map[string]*Rules{}}
	if resource {
		r.schema = withMeta(s)
	}
	var err error
	if len(s.Validations) > 0 {
		if r.programs, err = e.Compile(s, t); err != nil {
			return nil, err
		}
	}
	if item := s.Item(); item != nil {
		if r.items, err = e.rules(item, item.EmbeddedResource, t.Elem); err != nil {
			return nil, err
		}
	}
	if v := s.Value(); v != nil {
		if r.values, err = e.rules(v, v.EmbeddedResource, t.Elem); err != nil {
			return nil, err
		}
	}
	for name, p := range s.Properties {
		of := t.Property(name)
		if _, ok := Escape(name); !ok {
			of = TypeOf(p, p.EmbeddedResource)
		}
		sub, err := e.rules(p, p.EmbeddedResource, of)
		if err != nil {
			return nil, err
		}
		if sub != nil {
			r.properties[name] = sub
		}
	}
	return r, nil
}

// Check evaluates the rules for a value and its old value, which may be nil. It ignores violations by unchanged values,
// except for transition rules. It returns the remaining budget, which is negative if the budget was exceeded.
func (r *Rules) Check(path *field.Path, v, old any, correlated *value.Correlated, budget int64) (field.ErrorList, int64) {
	e := &evaluation{budget: budget}
	e.check(r, path, v, old, ratchet{value: correlated})
	return e.errs, e.budget
}

// ratchet determines whether a value has changed. A value without a correlated old value is unchanged if the enclosing
// value is unchanged.
type ratchet struct{ value, parent *value.Correlated }

func (r ratchet) unchanged() bool {
	if r.value != nil {
		return r.value.Unchanged()
	}
	return r.parent.Unchanged()
}

func (r ratchet) key(name string) ratchet {
	switch {
	case r.value == nil:
		return r
	case r.parent == nil && (name == "apiVersion" || name == "kind"):
		return ratchet{}
	}
	return ratchet{r.value.Key(name), r.value}
}

func (r ratchet) index(i int) ratchet {
	if r.value == nil {
		return r
	}
	return ratchet{r.value.Index(i), r.value}
}

// evaluation is the evaluation of all rules for an object.
type evaluation struct {
	budget int64
	errs   field.ErrorList
}

func (e *evaluation) add(err *field.Error) { e.errs = append(e.errs, err) }

// stop adds an error and stops the evaluation.
func (e *evaluation) stop(err *field.Error) {
	e.add(err)
	e.budget = -1
}

func (e *evaluation) check(r *Rules, path *field.Path, v, old any, rt ratchet) {
	if r == nil || v == nil || e.budget < 0 {
		return
	}
	e.programs(r, path, v, old, rt)
	switch v := v.(type) {
	case []any:
		prev, _ := old.([]any)
		if r.items == nil {
			return
		}
		byKeys := value.IndexKeys(r.schema, prev)
		for i, item := range v {
			e.check(r.items, path.Index(i), item, byKeys.Like(item), rt.index(i))
		}
	case map[string]any:
		prev, _ := old.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			e.check(r.values, path.Key(key), v[key], prev[key], rt.key(key))
			e.check(r.properties[key], path.Child(key), v[key], prev[key], rt.key(key))
		}
	}
}

func (e *evaluation) programs(r *Rules, path *field.Path, v, old any, rt ratchet) {
	if len(r.programs) == 0 {
		return
	}
	if e.budget <= 0 {
		e.stop(field.Invalid(path, r.schema.Type, outOfBudget))
		return
	}
	plain := map[string]any{"self": valueOf(v, r.schema)}
	optional := map[string]any{"self": plain["self"], "oldSelf": types.OptionalNone}
	if !isNil(old) {
		prev := valueOf(old, r.schema)
		plain["oldSelf"], optional["oldSelf"] = prev, types.OptionalOf(prev)
	}
	for _, p := range r.programs {
		vars := plain
		if p.source.OptionalOldSelf != nil && *p.source.OptionalOldSelf {
			vars = optional
		}
		if _, ok := vars["oldSelf"]; p.rule == nil && p.Err == nil || p.UsesOldSelf && !ok {
			continue
		}
		if e.program(r, p, path, v, vars, rt); e.budget < 0 {
			return
		}
	}
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

// program evaluates a rule.
func (e *evaluation) program(r *Rules, p Program, path *field.Path, v any, vars map[string]any, rt ratchet) {
	typ, text := r.schema.Type, nameOf(p.source)
	if p.Err != nil {
		e.add(field.Invalid(path, typ, fmt.Sprintf("rule compile error: %v", p.Err)))
		return
	}
	out, details, err := p.rule.Eval(vars)
	if !e.spend(details) {
		e.stop(field.Invalid(path, typ, outOfBudget))
		return
	}
	switch {
	case err == nil && out == types.True:
		return
	case err == nil:
	case strings.HasPrefix(err.Error(), "no such overload"):
		e.add(field.Invalid(path, typ, fmt.Sprintf(
			"'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", err, text)))
		return
	case isOverLimit(err):
		e.stop(field.Invalid(path, typ, fmt.Sprintf(
			"'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err, text)))
		return
	default:
		e.add(field.Invalid(path, typ, fmt.Sprintf("%v evaluating rule: %v", err, text)))
		return
	}
	e.fail(r, p, path, v, vars, !p.UsesOldSelf && rt.unchanged())
}

// fail reports a violated rule, unless the violation is ratcheted.
func (e *evaluation) fail(r *Rules, p Program, path *field.Path, v any, vars map[string]any, ratcheted bool) {
	if p.path != "" {
		path = path.Child(p.path)
	}
	add := func(err *field.Error) {
		if !ratcheted {
			e.add(err)
		}
	}
	message := "failed rule: " + nameOf(p.source)
	if p.source.Message != "" {
		message = strings.TrimSpace(p.source.Message)
	}
	if p.HasMessage {
		text, err := e.message(p, vars)
		if e.budget < 0 {
			add(field.Invalid(path, r.schema.Type, err.Error()))
			return
		}
		if err == nil {
			message = text
		}
	}
	if r.schema.Type == "object" || r.schema.Type == "array" {
		v = field.OmitValueType{}
	}
	reason := ""
	if p.source.Reason != nil {
		reason = *p.source.Reason
	}
	switch field.ErrorType(reason) {
	case field.ErrorTypeForbidden:
		add(field.Forbidden(path, message))
	case field.ErrorTypeRequired:
		add(field.Required(path, message))
	case field.ErrorTypeDuplicate:
		add(field.Duplicate(path, v))
	default:
		add(field.Invalid(path, v, message))
	}
}

// maxMessage is the maximum size of a message in bytes.
const maxMessage = 5 << 10

// message evaluates a message expression. It returns an error if the result is not a valid message.
func (e *evaluation) message(p Program, vars map[string]any) (string, error) {
	out, details, err := p.message.Eval(vars)
	switch {
	case !e.spend(details):
		e.budget = -1
		return "", errors.New("messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run")
	case isOverLimit(err):
		e.budget = -1
		return "", fmt.Errorf("no further validation rules will be run due to call cost exceeds limit for messageExpression: %q",
			p.source.MessageExpression)
	case err != nil:
		return "", err
	}
	text, ok := out.Value().(string)
	text = strings.TrimSpace(text)
	if !ok || text == "" || len(text) > maxMessage || strings.Contains(text, "\n") {
		return "", errors.New("messageExpression must evaluate to a non-empty string of at most 5 KiB without line breaks")
	}
	return text, nil
}

// spend deducts the cost of an evaluation from the budget. It reports whether the budget was sufficient.
func (e *evaluation) spend(details *cel.EvalDetails) bool {
	if details == nil || details.ActualCost() == nil {
		return false
	}
	cost := *details.ActualCost()
	if cost > math.MaxInt64 || int64(cost) > e.budget {
		return false
	}
	e.budget -= int64(cost)
	return true
}

func isOverLimit(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "operation cancelled: actual cost limit exceeded")
}

// nameOf returns the name of a rule for use in messages.
func nameOf(r openapi.Rule) string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Rule)
}

// isNil reports whether a value is nil or a nil slice or map.
func isNil(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return v == nil
	case map[string]any:
		return v == nil
	}
	return false
}
