// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive"
	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
	"github.com/kube-go/sdk/derive/internal/value"
)

// Options are the options of a [Validator].
type Options struct {
	// FieldValidation determines how unknown and duplicate fields are handled. With [metav1.FieldValidationStrict], they
	// are errors. With [metav1.FieldValidationWarn] and [metav1.FieldValidationIgnore], they are dropped. Default: Strict.
	FieldValidation string
}

// DefinitionError reports that the definition of a kind is invalid, so that its objects can't be validated.
type DefinitionError struct {
	Name     string // the name of the definition
	Problems []Problem
}

// Error returns the problems in one line.
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

// Validator validates objects of one version of a kind as an API server does. It is safe for concurrent use.
type Validator struct {
	group     string
	kind      string
	version   string
	clustered bool
	hasStatus bool
	scale     *openapi.Scale

	root   *openapi.Schema
	spec   *value.Checker
	status *value.Checker // nil if the schema has no status
	rules  *cel.Rules
	strict bool
}

// New returns a Validator for one version of a definition.
//
// Errors: [*DefinitionError].
func New(crd *unstructured.Unstructured, version string, o *Options) (*Validator, error) {
	if o == nil {
		o = &Options{}
	}
	switch o.FieldValidation {
	case "", metav1.FieldValidationStrict, metav1.FieldValidationWarn, metav1.FieldValidationIgnore:
	default:
		return nil, fmt.Errorf("validation: FieldValidation %q is invalid: use Strict, Warn or Ignore", o.FieldValidation)
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
		strict: o.FieldValidation == "" || o.FieldValidation == metav1.FieldValidationStrict,
	}
	if s := v.Subresources; s != nil {
		val.scale, val.hasStatus = s.Scale, s.Status != nil
	}
	if status := v.Root().Properties["status"]; status != nil {
		val.status = value.NewChecker(status)
	}
	return val, nil
}

// For returns a Validator for K, with its generated definition, or otherwise with that of [derive.Reflect] without
// options.
//
// Errors: [*DefinitionError], and those of [derive.Reflect].
func For[K any, P core.ObjectPtr[K]](o *Options) (*Validator, error) {
	crd, err := core.CRD[K, P]()
	if _, undefined := errors.AsType[*core.UndefinedKindError](err); undefined {
		crd, err = derive.Reflect[K, P](nil)
	}
	if err != nil {
		return nil, err
	}
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		return nil, err
	}
	return New(crd, res.Version, o)
}

// Create validates a new object. It returns nil if a server would accept the object. The object can be a typed object,
// an unstructured object, its content as map[string]any, or its JSON or YAML as []byte. Create does not modify it.
// Objects without a namespace are validated in namespace default.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field.
func (v *Validator) Create(obj any) error {
	u, err := v.decode(obj, v.strict)
	if err != nil {
		return err
	}
	v.setNamespace(u, "default")
	if v.hasStatus {
		delete(u.Object, "status")
	}
	if u.GetName() == "" && u.GetGenerateName() != "" {
		u.SetName(u.GetGenerateName() + "x2x4x")
	}
	u.SetGeneration(1)
	return v.invalid(u, v.create(u))
}

// Update validates the update of an object from old to obj, see [Validator.Create]. The new object may omit fields that
// the server controls. If the kind has a status subresource, Update ignores the status of obj.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field.
func (v *Validator) Update(obj, old any) error {
	u, prev, err := v.pair(obj, old)
	if err != nil {
		return err
	}
	if v.hasStatus {
		setStatus(u.Object, prev.Object)
	}
	return v.invalid(u, v.update(u, prev))
}

// UpdateStatus validates an update of the status subresource. It ignores all fields of obj except for the status.
//
// Errors: core.ErrInvalid, core.ErrBadRequest for an unknown field, or for a kind without a status subresource.
func (v *Validator) UpdateStatus(obj, old any) error {
	if !v.hasStatus {
		return v.badRequest(errors.New("the kind has no status subresource"))
	}
	u, prev, err := v.pair(obj, old)
	if err != nil {
		return err
	}
	next := prev.DeepCopy()
	setStatus(next.Object, u.Object)
	return v.invalid(next, v.updateStatus(next, prev))
}

// setStatus copies the status from another object, or deletes it if the other object does not have one.
func setStatus(obj, from map[string]any) {
	if v, ok := from["status"]; ok {
		obj["status"] = v
	} else {
		delete(obj, "status")
	}
}

// Default sets the default values of an object, as a server does when it decodes one: for missing fields, and for
// fields with an invalid null. It removes other invalid nulls.
func (v *Validator) Default(obj *unstructured.Unstructured) {
	value.PruneNulls(obj.Object, v.root)
	value.Default(obj.Object, v.root)
}

// Prune removes unknown fields, as a server does, and returns their paths.
func (v *Validator) Prune(obj *unstructured.Unstructured) []string {
	return value.Prune(obj.Object, v.root, true)
}
