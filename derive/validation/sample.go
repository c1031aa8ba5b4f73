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

// Sample makes an object that a server accepts: the smallest one, or a full one that has each field. It has no status and
// no namespace. The same definition always gives the same object. It is an error when none was found, as may be with rules
// that hold for few objects.
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
		v.place(u, "default")
		if old == nil {
			return v.create(u)
		}
		was := &unstructured.Unstructured{Object: old}
		v.place(was, "default")
		u.SetResourceVersion("1")
		return v.update(u, was)
	})
}

// Mutation is an object that breaks one rule of its definition.
type Mutation struct {
	// Rule is the place of the rule in an object, such as spec.title.maxLength or spec.x-kubernetes-validations[0].
	Rule string
	// Object breaks the rule. It is nil when no such object was found.
	Object *unstructured.Unstructured
	// Update is whether the rule is about changes: it is broken when the good object becomes this one.
	Update bool
	// Cause is what a server says because of the rule.
	Cause metav1.StatusCause
}

// Mutations yields an object for each rule that a good object shows: one that breaks this rule, and as little else as
// possible. It tells which rules of a definition really refuse something, and with which words.
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
