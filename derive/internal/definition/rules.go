// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

// environment compiles rules.
type environment = *cel.Environment

// rule checks a rule, except for its expressions.
func (k *keywords) rule(s *openapi.Schema, r openapi.Rule, path *field.Path) {
	message := strings.TrimSpace(r.Message)
	switch {
	case strings.TrimSpace(r.Rule) == "":
		k.add(field.Required(path.Child("rule"), "rule is not specified"))
	case r.Message != "" && message == "":
		k.add(field.Invalid(path.Child("message"), r.Message, "must be non-empty if specified"))
	case hasLineBreak(message):
		k.add(field.Invalid(path.Child("message"), r.Message, "must not contain line breaks"))
	case hasLineBreak(strings.TrimSpace(r.Rule)) && message == "":
		k.add(field.Required(path.Child("message"), "message must be specified if rule contains line breaks"))
	}
	if r.MessageExpression != "" && strings.TrimSpace(r.MessageExpression) == "" {
		k.add(field.Required(path.Child("messageExpression"), "messageExpression must be non-empty if specified"))
	}
	reasons := []string{"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"}
	if r.Reason != nil && !slices.Contains(reasons, *r.Reason) {
		k.add(field.NotSupported(path.Child("reason"), *r.Reason, reasons))
	}
	if r.FieldPath == "" {
		return
	}
	path = path.Child("fieldPath")
	if strings.TrimSpace(r.FieldPath) == "" {
		k.add(field.Invalid(path, r.FieldPath, "must be non-empty if specified"))
	}
	if hasLineBreak(r.FieldPath) {
		k.add(field.Invalid(path, r.FieldPath, "must not contain line breaks"))
	}
	if unreadable(s) == nil {
		if _, _, err := cel.FieldPath(r.FieldPath, s, true); err != nil {
			k.add(field.Invalid(path, r.FieldPath, "must be a valid path"))
		}
	}
}

func hasLineBreak(s string) bool { return strings.ContainsAny(s, "\n\r") }

// maxRuleCost is the limit of the estimated cost of a rule for all values in an object.
const maxRuleCost = 10_000_000

// compile compiles the rules of a schema, and checks their costs.
func (k *keywords) compile(s *openapi.Schema, path *field.Path, at place, sc *scope) {
	typ, err := sc.celType()
	if err != nil {
		k.celErrs = append(k.celErrs, field.InternalError(path,
			fmt.Errorf("internal error: failed to construct type information for x-kubernetes-validations rules: %w", err)))
		return
	}
	programs, err := k.env.Compile(s, typ)
	if err != nil {
		k.celErrs = append(k.celErrs, field.InternalError(path, err))
		return
	}
	for i, p := range programs {
		k.program(s.Validations[i], p, path.Index(i), at, sc)
	}
}

// program checks one compiled rule.
func (k *keywords) program(r openapi.Rule, p cel.Program, path *field.Path, at place, sc *scope) {
	add := func(err *field.Error) { k.celErrs = append(k.celErrs, err) }
	cost := times(p.MaxCost, p.MaxCardinality)
	if sc.cardinality != nil {
		cost = times(p.MaxCost, *sc.cardinality)
	}
	if cost > maxRuleCost {
		add(field.Forbidden(path.Child("rule"), exceeds("estimated rule cost", cost, maxRuleCost)))
	}
	sc.total.observe(path.Child("rule"), cost)
	if p.Err != nil {
		add(field.Invalid(path.Child("rule"), internalRule(r), p.Err.Error()))
	}
	switch {
	case p.MessageErr != nil:
		add(field.Invalid(path.Child("messageExpression"), internalRule(r), p.MessageErr.Error()))
	case p.HasMessage:
		if p.MaxMessageCost > maxRuleCost {
			add(field.Forbidden(path.Child("messageExpression"), exceeds("estimated messageExpression cost", p.MaxMessageCost, maxRuleCost)))
		}
		sc.total.observe(path.Child("messageExpression"), p.MaxMessageCost)
	}
	switch {
	case p.UsesOldSelf && at.uncorrelated != nil:
		add(field.Invalid(path.Child("rule"), r.Rule,
			fmt.Sprintf("oldSelf cannot be used on the uncorrelatable portion of the schema within %v", at.uncorrelated)))
	case !p.UsesOldSelf && r.OptionalOldSelf != nil:
		add(field.Invalid(path.Child("optionalOldSelf"), *r.OptionalOldSelf, "may not be set if oldSelf is not used in rule"))
	}
}
