// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Options are the options of a [Validator].
type Options struct {
	// FieldValidation is what is done about fields that the schema does not have, and about fields that are given twice.
	// With Warn and Ignore they are dropped. Default: Strict, they are refused.
	FieldValidation request.FieldValidation
}

// DefinitionError says why a server would refuse the definition of a kind. Nothing can be said of its objects then.
type DefinitionError struct {
	Name     string // of the definition
	Problems []Problem
}

// Error lists the problems.
func (e *DefinitionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "definition %s:", e.Name)
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(" " + p.String())
	}
	return b.String()
}

// Validator says what an API server says of objects of one version of a kind. It is safe for concurrent use.
type Validator struct {
	group     string
	kind      string
	version   string
	clustered bool
	hasStatus bool
	scale     *openapi.Scale

	root   *openapi.Schema
	spec   *value.Checker
	status *value.Checker // nil when nothing is said of a status
	rules  *cel.Rules
	strict bool
}

// New returns what validates the objects of one version of the kind that a definition defines.
//
// Errors: [*DefinitionError].
func New(crd *unstructured.Unstructured, version string, o *Options) (*Validator, error) {
	if o == nil {
		o = &Options{}
	}
	switch o.FieldValidation {
	case "", request.ValidationStrict, request.ValidationWarn, request.ValidationIgnore:
	default:
		return nil, fmt.Errorf("validation: FieldValidation %q is not one of Strict, Warn and Ignore", o.FieldValidation)
	}
	env := cel.NewEnvironment()
	def, problems := check(crd, env)
	if len(problems) > 0 {
		return nil, &DefinitionError{crd.GetName(), problems}
	}
	v := def.Version(version)
	if v == nil {
		return nil, fmt.Errorf("validation: definition %s has no version %q", def.Name, version)
	}
	rules, err := env.Rules(v.Root(), true)
	if err != nil {
		return nil, fmt.Errorf("validation: %w", err)
	}
	val := &Validator{
		group: def.Spec.Group, kind: def.Spec.Names.Kind, version: version, clustered: def.Spec.Scope == "Cluster",
		root: v.Root(), spec: value.NewChecker(v.Root()), rules: rules,
		strict: o.FieldValidation == "" || o.FieldValidation == request.ValidationStrict,
	}
	if s := v.Subresources; s != nil {
		val.scale, val.hasStatus = s.Scale, s.Status != nil
	}
	if status := v.Root().Properties["status"]; status != nil {
		val.status = value.NewChecker(status)
	}
	return val, nil
}

// For returns what validates objects of K, by the definition that [derive.CRD] returns for it.
//
// Errors: [*DefinitionError], and those of [derive.CRD].
func For[K any, P core.ObjectPtr[K]](o *Options) (*Validator, error) {
	crd, err := derive.CRD[K, P]()
	if err != nil {
		return nil, err
	}
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		return nil, err
	}
	return New(crd, res.Version, o)
}

// Create says what a server says to a new object: nil, or a [*core.StatusError]. The object is a typed one, an
// unstructured one, its content as map[string]any, or its text as []byte, JSON or YAML. It is not changed. Without a
// namespace it is one of namespace default.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field.
func (v *Validator) Create(obj any) error {
	u, err := v.decode(obj, v.strict)
	if err != nil {
		return err
	}
	v.place(u, "default")
	if v.hasStatus {
		delete(u.Object, "status")
	}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + "x2x4x")
	}
	u.SetGeneration(1)
	return v.invalid(u, v.create(u))
}

// Update says what a server says when an object becomes another one, see [Validator.Create]. What the server alone decides
// may be missing in the new one. With the subresource status, an update does not change the status.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field.
func (v *Validator) Update(obj, old any) error {
	u, was, err := v.pair(obj, old)
	if err != nil {
		return err
	}
	if v.hasStatus {
		setOrDelete(u.Object, "status", was.Object)
	}
	return v.invalid(u, v.update(u, was))
}

// UpdateStatus says what a server says when the status of an object is updated. Of the new object only the status counts.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field, or for a kind without the subresource status.
func (v *Validator) UpdateStatus(obj, old any) error {
	if !v.hasStatus {
		return v.badRequest(errors.New("the kind has no subresource status"))
	}
	u, was, err := v.pair(obj, old)
	if err != nil {
		return err
	}
	next := was.DeepCopy()
	setOrDelete(next.Object, "status", u.Object)
	return v.invalid(next, v.updateStatus(next, was))
}

// setOrDelete makes a field what it is in another object.
func setOrDelete(obj map[string]any, key string, from map[string]any) {
	if v, ok := from[key]; ok {
		obj[key] = v
	} else {
		delete(obj, key)
	}
}

// Default sets the default values of an object, as a server does when it reads one: where a field is missing, or null
// where it may not be. Other nulls that may not be are removed.
func (v *Validator) Default(obj *unstructured.Unstructured) {
	value.PruneNulls(obj.Object, v.root)
	value.Default(obj.Object, v.root)
}

// Prune removes the fields that the schema does not have, as a server does, and returns their paths.
func (v *Validator) Prune(obj *unstructured.Unstructured) []string {
	return value.Prune(obj.Object, v.root, true)
}
