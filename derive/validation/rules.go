// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/value"
)

// create validates a new object.
func (v *Validator) create(u *unstructured.Unstructured) field.ErrorList {
	if errs := v.checkType(u); len(errs) > 0 {
		return errs
	}
	errs := validation.ValidateObjectMetaAccessor(u, !v.clustered, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, v.spec.Check(nil, u.Object, nil)...)
	errs = append(errs, v.checkReplicas(u)...)
	errs = append(errs, v.checkStatusReplicas(u)...)
	errs = append(errs, value.CheckMeta(nil, u.Object, v.root, false)...)
	errs = append(errs, value.CheckUnique(nil, v.root, u.Object)...)
	return v.checkRules(errs, u, nil, nil)
}

// update validates an update of an object.
func (v *Validator) update(u, old *unstructured.Unstructured) field.ErrorList {
	if errs := v.checkType(u); len(errs) > 0 {
		return errs
	}
	pair := value.Correlate(v.root, u.Object, old.Object)
	errs := v.checkMetaUpdate(u, old)
	errs = append(errs, v.spec.Check(nil, u.Object, pair)...)
	errs = append(errs, v.checkReplicas(u)...)
	errs = append(errs, v.checkStatusReplicas(u)...)
	errs = append(errs, value.CheckMeta(nil, u.Object, v.root, false)...)
	errs = append(errs, v.checkStillUnique(u, old)...)
	return v.checkRules(errs, u, old, pair)
}

// updateStatus validates an update of the status subresource. Fields outside of the status are validated by rules only.
func (v *Validator) updateStatus(u, old *unstructured.Unstructured) field.ErrorList {
	if errs := v.checkType(u); len(errs) > 0 {
		return errs
	}
	pair := value.Correlate(v.root, u.Object, old.Object)
	errs := v.checkMetaUpdate(u, old)
	if status, ok := u.Object["status"]; ok && v.status != nil {
		errs = append(errs, v.status.Check(field.NewPath("status"), status, pair.Key("status"))...)
	}
	errs = append(errs, v.checkStatusReplicas(u)...)
	errs = append(errs, v.checkStillUnique(u, old)...)
	return v.checkRules(errs, u, old, pair)
}

// checkMetaUpdate checks metadata as servers do, which validate the metadata of custom resources twice.
func (v *Validator) checkMetaUpdate(u, old *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(u, !v.clustered, value.PathSegment, path)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(u, old, path)...)
	return append(errs, validation.ValidateObjectMetaAccessorUpdate(u, old, path)...)
}

// checkStillUnique checks lists for duplicates, unless the old object had duplicates.
func (v *Validator) checkStillUnique(u, old *unstructured.Unstructured) field.ErrorList {
	if len(value.CheckUnique(nil, v.root, old.Object)) > 0 {
		return nil
	}
	return value.CheckUnique(nil, v.root, u.Object)
}

// checkRules adds the errors of CEL rules, which are not evaluated if there are blocking errors.
func (v *Validator) checkRules(errs field.ErrorList, u, old *unstructured.Unstructured, pair *value.Correlated) field.ErrorList {
	if v.rules == nil {
		return errs
	}
	if slices.ContainsFunc(errs, value.IsBlocking) {
		return append(errs, field.Invalid(nil, nil,
			"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	var prev any
	if old != nil {
		prev = old.Object
	}
	more, _ := v.rules.Check(nil, u.Object, prev, pair, cel.Budget)
	return append(errs, more...)
}

func (v *Validator) checkType(u *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	if u.GetKind() != v.kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), "must be "+v.kind))
	}
	if want := v.group + "/" + v.version; u.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), "must be "+want))
	}
	return errs
}

// checkReplicas checks the desired number of replicas.
func (v *Validator) checkReplicas(u *unstructured.Unstructured) field.ErrorList {
	if v.scale == nil {
		return nil
	}
	return checkCount(u, v.scale.SpecReplicasPath)
}

// checkStatusReplicas checks the observed number of replicas and the label selector.
func (v *Validator) checkStatusReplicas(u *unstructured.Unstructured) field.ErrorList {
	if v.scale == nil {
		return nil
	}
	errs := checkCount(u, v.scale.StatusReplicasPath)
	if path := v.scale.LabelSelectorPath; path != nil {
		if text, _, err := unstructured.NestedString(u.Object, fieldsOf(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), text, err.Error()))
		}
	}
	return errs
}

func checkCount(u *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(u.Object, fieldsOf(path)...)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(field.NewPath(path), n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

func fieldsOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
