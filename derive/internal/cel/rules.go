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

// Rules are the rules of a schema and of all that is inside of it. Nil has none. They are safe for concurrent use.
type Rules struct {
	schema     *openapi.Schema
	resource   bool
	programs   []Program
	items      *Rules
	values     *Rules
	properties map[string]*Rules
}

// Rules compiles all rules of a schema.
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

// rules compiles the rules of a schema of a type.
func (e *Environment) rules(s *openapi.Schema, resource bool, t *Type) (*Rules, error) {
	if !hasRules(s) || t == nil {
		return nil, nil
	}
	r := &Rules{schema: s, resource: resource, properties: map[string]*Rules{}}
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

// Check evaluates the rules for a value and what it was; old may be nil. What has not changed since is not complained
// about, except by rules that compare. It returns what is left of a budget, less than zero when that was not enough.
func (r *Rules) Check(path *field.Path, v, old any, correlated *value.Correlated, budget int64) (field.ErrorList, int64) {
	e := &evaluation{budget: budget}
	e.check(r, path, v, old, ratchet{now: correlated})
	return e.errs, e.budget
}

// ratchet finds whether a value has changed. Where it has no pair of its own, that of the value around it counts.
type ratchet struct{ now, above *value.Correlated }

func (r ratchet) unchanged() bool {
	if r.now != nil {
		return r.now.Unchanged()
	}
	return r.above.Unchanged()
}

func (r ratchet) key(name string) ratchet {
	switch {
	case r.now == nil:
		return r
	case r.above == nil && (name == "apiVersion" || name == "kind"):
		return ratchet{}
	}
	return ratchet{r.now.Key(name), r.now}
}

func (r ratchet) index(i int) ratchet {
	if r.now == nil {
		return r
	}
	return ratchet{r.now.Index(i), r.now}
}

// evaluation is one pass over an object.
type evaluation struct {
	budget int64
	errs   field.ErrorList
}

func (e *evaluation) add(err *field.Error) { e.errs = append(e.errs, err) }

// stop ends the evaluation.
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
		was, _ := old.([]any)
		if r.items == nil {
			return
		}
		byKeys := value.IndexKeys(r.schema, was)
		for i, item := range v {
			e.check(r.items, path.Index(i), item, byKeys.Like(item), rt.index(i))
		}
	case map[string]any:
		was, _ := old.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			e.check(r.values, path.Key(key), v[key], was[key], rt.key(key))
			e.check(r.properties[key], path.Child(key), v[key], was[key], rt.key(key))
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
		was := valueOf(old, r.schema)
		plain["oldSelf"], optional["oldSelf"] = was, types.OptionalOf(was)
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

// fail reports a rule that does not hold, unless it may be passed over.
func (e *evaluation) fail(r *Rules, p Program, path *field.Path, v any, vars map[string]any, passOver bool) {
	if p.path != "" {
		path = path.Child(p.path)
	}
	add := func(err *field.Error) {
		if !passOver {
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

// maxMessage is how many bytes an expression may make for a message.
const maxMessage = 5 << 10

// message evaluates the expression of a message. One that can't be shown is an error, and nothing else.
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
		return "", errors.New("the message can't be shown")
	}
	return text, nil
}

// spend takes what an evaluation has cost from the budget, if there is that much left.
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

// nameOf is how a rule is called in messages.
func nameOf(r openapi.Rule) string {
	if r.Message != "" {
		return strings.TrimSpace(r.Message)
	}
	return strings.TrimSpace(r.Rule)
}

// isNil reports whether there is no old value.
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
