// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/sample"
)

// Sample returns a valid object: the smallest one, or a full one with all fields. It has no status and no namespace.
// The result for a definition is always the same. Sample returns an error if it does not find a valid object, which can
// happen with rules that only few objects satisfy.
func (v *Validator) Sample(full bool) (*unstructured.Unstructured, error) {
	obj, err := v.sampler().Object(full)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: obj}, nil
}

func (v *Validator) sampler() *sample.Sampler {
	return sample.New(v.root, v.group+"/"+v.version, v.kind, func(obj, old map[string]any) field.ErrorList {
		u := &unstructured.Unstructured{Object: obj}
		v.setNamespace(u, "default")
		if old == nil {
			return v.create(u)
		}
		prev := &unstructured.Unstructured{Object: old}
		v.setNamespace(prev, "default")
		u.SetResourceVersion("1")
		return v.update(u, prev)
	})
}

// Mutation is an object that violates one rule of its definition.
type Mutation struct {
	// Rule is the path of the rule, for example spec.title.maxLength or spec.x-kubernetes-validations[0].
	Rule string
	// Object violates the rule. It is nil if no such object was found.
	Object *unstructured.Unstructured
	// Update is true for a transition rule, which the update from the valid object to this object violates.
	Update bool
	// Cause is the validation error of the rule.
	Cause metav1.StatusCause
}

// Mutations yields a Mutation for each rule that applies to a valid object. The mutated object violates this rule, and
// as few others as possible. Use it to check which objects a definition rejects, and with which messages.
func (v *Validator) Mutations(obj *unstructured.Unstructured) iter.Seq[Mutation] {
	return func(yield func(Mutation) bool) {
		for m := range v.sampler().Mutations(obj.Object) {
			out := Mutation{Rule: m.Rule, Update: m.Update}
			if m.Err != nil {
				out.Object = &unstructured.Unstructured{Object: m.Object}
				out.Cause = metav1.StatusCause{Type: metav1.CauseType(m.Err.Type), Field: m.Err.Field, Message: m.Err.ErrorBody()}
			}
			if !yield(out) {
				return
			}
		}
	}
}

// Change is a valid object that differs from another one in one value.
type Change struct {
	// Path is the path of the value, for example spec.replicas.
	Path string
	// Old and New are the values. Nil stands for a value that is added or removed.
	Old, New any
	// Object is the changed object. It has its default values, and no status.
	Object *unstructured.Unstructured
}

// Changes yields changes of a valid object: for each value outside of its metadata and status, another value and the
// removal of the value, and for each missing field, a value. The result for a definition and an object is always the
// same. Servers accept each change, and also its reversal. Use it to test what a controller does after changes.
func (v *Validator) Changes(obj *unstructured.Unstructured) iter.Seq[Change] {
	return func(yield func(Change) bool) {
		for c := range v.sampler().Changes(obj.Object) {
			if !yield(Change{Path: c.Path, Old: c.Old, New: c.New, Object: &unstructured.Unstructured{Object: c.Object}}) {
				return
			}
		}
	}
}
