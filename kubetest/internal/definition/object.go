// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core"
)

// Create processes a decoded object before it is stored: it drops the status if there is a status subresource, sets the
// generation, and validates the object. The object must have its name, its namespace and the metadata that the server
// sets. Create returns the warnings of the server.
//
// Errors: core.ErrInvalid.
func (v *Version) Create(obj *unstructured.Unstructured) (warnings []string, err error) {
	val, err := v.validator()
	if err != nil {
		return nil, internal(err)
	}
	if v.Status {
		delete(obj.Object, "status")
	}
	obj.SetGeneration(1)
	if err := v.checkType(obj); err != nil {
		return nil, err
	}
	if err := val.Create(obj); err != nil {
		return nil, err
	}
	return finalizerWarnings(obj.GetFinalizers(), nil), nil
}

// Update processes a decoded object that replaces old, which must be in this version. With subresource "status", it
// replaces everything in obj except for the status and the managed fields by the content of old. Otherwise it keeps the
// status of old if there is a status subresource. It keeps the metadata that clients can't change, sets the generation,
// and validates the object. Update returns the warnings of the server.
//
// Call Update only if the resource versions of obj and old are equal, or if obj has no resource version, which is an
// error.
//
// Errors: core.ErrInvalid.
func (v *Version) Update(obj, old *unstructured.Unstructured, subresource string) (warnings []string, err error) {
	val, err := v.validator()
	if err != nil {
		return nil, internal(err)
	}
	if err := checkVersion(obj, v.Resource.Group, v.Resource.Plural); err != nil {
		return nil, err
	}
	if subresource == "status" {
		prepareStatus(obj, old)
	} else {
		v.prepare(obj, old)
	}
	keepMeta(obj, old)
	if err := v.checkType(obj); err != nil {
		return nil, err
	}
	if err := v.checkDeletion(obj, old); err != nil {
		return nil, err
	}
	if subresource == "status" {
		err = val.UpdateStatus(obj, old)
	} else {
		err = val.Update(obj, old)
	}
	if err != nil {
		return nil, err
	}
	return finalizerWarnings(obj.GetFinalizers(), old.GetFinalizers()), nil
}

// checkVersion checks that an update has a resource version. As in a server, the error has the resource, not the kind.
func checkVersion(obj *unstructured.Unstructured, group, plural string) error {
	if obj.GetResourceVersion() != "" {
		return nil
	}
	kind := schema.GroupKind{Group: group, Kind: plural}
	path := field.NewPath("metadata", "resourceVersion")
	errs := field.ErrorList{field.Invalid(path, 0, "must be specified for an update")}
	return &core.StatusError{Status: apierrors.NewInvalid(kind, obj.GetName(), errs).ErrStatus}
}

// checkType checks the kind. Unlike other errors of validation, this one has the kind of the object.
func (v *Version) checkType(obj *unstructured.Unstructured) error {
	kind := obj.GetKind()
	if kind == v.Resource.Kind {
		return nil
	}
	errs := field.ErrorList{field.Invalid(field.NewPath("kind"), kind, "must be "+v.Resource.Kind)}
	group := obj.GroupVersionKind().GroupKind()
	return &core.StatusError{Status: apierrors.NewInvalid(group, obj.GetName(), errs).ErrStatus}
}

// checkDeletion checks that an update does not mark the object as deleted. As in a server, each error appears twice.
func (v *Version) checkDeletion(obj, old *unstructured.Unstructured) error {
	path := field.NewPath("metadata")
	errs := below(path.String()+".deletion", validation.ValidateObjectMetaAccessorUpdate(obj, old, path))
	if len(errs) == 0 {
		return nil
	}
	kind := schema.GroupKind{Group: v.Resource.Group, Kind: v.Resource.Kind}
	return &core.StatusError{Status: apierrors.NewInvalid(kind, obj.GetName(), append(errs, errs...)).ErrStatus}
}

// prepare keeps the status of the old object, and sets the generation.
func (v *Version) prepare(obj, old *unstructured.Unstructured) {
	if v.Status {
		if status, ok := old.Object["status"]; ok {
			obj.Object["status"] = runtime.DeepCopyJSONValue(status)
		} else {
			delete(obj.Object, "status")
		}
	}
	obj.SetGeneration(old.GetGeneration())
	if !equality.Semantic.DeepEqual(withoutMeta(obj), withoutMeta(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

func withoutMeta(obj *unstructured.Unstructured) map[string]any {
	content := maps.Clone(obj.Object)
	delete(content, "metadata")
	return content
}

// prepareStatus replaces everything except for the status and the managed fields.
func prepareStatus(obj, old *unstructured.Unstructured) {
	status, ok := obj.Object["status"]
	managed := obj.GetManagedFields()
	obj.Object = old.DeepCopy().Object
	obj.SetManagedFields(managed)
	if ok {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
}

// keepMeta keeps the metadata that clients can't change.
func keepMeta(obj, old *unstructured.Unstructured) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		obj.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); deleted != nil {
		obj.SetDeletionTimestamp(deleted)
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(grace)
	}
}

// finalizerWarnings returns the warnings for new finalizers.
func finalizerWarnings(finalizers, old []string) []string {
	standard := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kubernetes"}
	var warnings []string
	warn := func(name, text string) {
		warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: %s", name, text))
	}
	finalizers = slices.Sorted(slices.Values(finalizers))
	for _, name := range slices.Compact(finalizers) {
		if slices.Contains(old, name) {
			continue
		}
		const avoid = " to avoid accidental conflicts with other finalizer writers"
		switch {
		case strings.Contains(name, "/") || slices.Contains(standard, name):
		case strings.Contains(name, "."):
			warn(name, "prefer a domain-qualified finalizer name including a path (/)"+avoid)
		default:
			warn(name, "prefer a domain-qualified finalizer name"+avoid)
		}
	}
	return warnings
}
