// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-go/sdk/core"
	validator "github.com/kube-go/sdk/derive/validation"
)

const apiGroup = "apiextensions.k8s.io"

// Admit processes a definition as a server does when it is created, with old nil, or updated: it sets defaults, the
// generation and status.storedVersions, and validates the definition. Then it sets the status as [Accept] does. Others
// are the definitions of the server, which may include old. Admit returns a new object.
//
// The caller must drop unknown fields first. For an update, the caller must also set the metadata that clients can't
// change, such as the UID.
//
// Errors: core.ErrInvalid, core.ErrBadRequest.
func Admit(
	crd, old *unstructured.Unstructured, others []*unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if old != nil {
		if err := checkVersion(crd, apiGroup, "customresourcedefinitions"); err != nil {
			return nil, err
		}
	}
	out := crd.DeepCopy()
	delete(out.Object, "status")
	complete(out)
	checked, err := check(out, old)
	if err != nil {
		return nil, err
	}
	m, err := read(out)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	if old == nil {
		out.SetGeneration(1)
		m.Status.StoredVersions = stored(nil, m.Spec.storage())
		if len(checked) > 0 {
			return nil, invalid(out, checked)
		}
	} else if err := m.update(out, old, checked); err != nil {
		return nil, err
	}
	if err := m.Status.write(out); err != nil {
		return nil, err
	}
	return Accept(out, others)
}

// AdmitStatus processes an update of the status of a definition. As in a server, it does not change the spec, but it
// changes the metadata. See [Admit] for the parameters, the result and the errors.
func AdmitStatus(
	crd, old *unstructured.Unstructured, others []*unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if err := checkVersion(crd, apiGroup, "customresourcedefinitions"); err != nil {
		return nil, err
	}
	out := crd.DeepCopy()
	out.Object["spec"] = old.DeepCopy().Object["spec"]
	out.SetGeneration(old.GetGeneration())
	found, err := problems(out)
	if err != nil {
		return nil, err
	}
	errs := checkMetaUpdate(out, old)
	if errs = append(errs, below("status.acceptedNames", found)...); len(errs) > 0 {
		return nil, invalid(out, errs)
	}
	return Accept(out, others)
}

// complete sets the defaults of a definition. It ignores fields of the wrong type, which are reported later.
func complete(crd *unstructured.Unstructured) {
	spec, ok := crd.Object["spec"].(map[string]any)
	if !ok {
		return
	}
	if names, ok := spec["names"].(map[string]any); ok {
		kind, _ := names["kind"].(string)
		if text, ok := names["singular"].(string); names["singular"] == nil || ok && text == "" {
			names["singular"] = strings.ToLower(kind)
		}
		if text, ok := names["listKind"].(string); kind != "" && (names["listKind"] == nil || ok && text == "") {
			names["listKind"] = kind + "List"
		}
	}
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	service, ok, err := unstructured.NestedFieldNoCopy(spec, "conversion", "webhook", "clientConfig", "service")
	if fields, isMap := service.(map[string]any); ok && err == nil && isMap && fields["port"] == nil {
		fields["port"] = int64(443)
	}
}

// check validates a definition without its status. It returns nil for an update that does not change the spec, since
// checking rules takes time.
func check(crd, old *unstructured.Unstructured) (field.ErrorList, error) {
	if old != nil && equality.Semantic.DeepEqual(crd.Object["spec"], old.Object["spec"]) {
		return nil, nil
	}
	return problems(crd)
}

// problems returns the validation errors of a definition. It returns an error if the definition can't be decoded.
func problems(crd *unstructured.Unstructured) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, p := range validator.Check(crd) {
		if p.Reason == "" {
			return nil, badRequest(p.String())
		}
		kind := field.ErrorType(p.Reason)
		detail := strings.TrimPrefix(strings.TrimPrefix(p.Message, kind.String()), ": ")
		errs = append(errs, &field.Error{Type: kind, Field: p.Field, BadValue: field.OmitValueType{}, Detail: detail})
	}
	return errs, nil
}

// update sets the generation and the status for an update, and validates it.
func (m *manifest) update(out, old *unstructured.Unstructured, checked field.ErrorList) error {
	before, err := read(old)
	if err != nil {
		return err
	}
	m.Status = before.Status
	m.Status.StoredVersions = stored(before.Status.StoredVersions, m.Spec.storage())
	out.SetGeneration(old.GetGeneration())
	if !equality.Semantic.DeepEqual(out.Object["spec"], old.Object["spec"]) {
		out.SetGeneration(old.GetGeneration() + 1)
	}
	errs := checkMetaUpdate(out, old)
	errs = append(errs, below("spec", checked)...)
	errs = append(errs, m.checkImmutable(before)...)
	errs = append(errs, m.checkStored()...)
	errs = append(errs, below("metadata.annotations[", checked)...) // the approval of APIs in groups of Kubernetes
	if len(errs) > 0 {
		return invalid(out, errs)
	}
	return nil
}

// stored adds a version to the stored versions.
func stored(versions []string, storage string) []string {
	if storage == "" || slices.Contains(versions, storage) {
		return versions
	}
	return append(slices.Clone(versions), storage)
}

// below returns the errors of the fields with a prefix.
func below(prefix string, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(errs), func(e *field.Error) bool { return !strings.HasPrefix(e.Field, prefix) })
}

// checkMetaUpdate checks metadata as servers do, which validate updates of the metadata of definitions twice.
func checkMetaUpdate(crd, old *unstructured.Unstructured) field.ErrorList {
	path := field.NewPath("metadata")
	segment := func(name string, prefix bool) []string {
		if prefix {
			return content.IsPathSegmentPrefix(name)
		}
		return content.IsPathSegmentName(name)
	}
	errs := validation.ValidateObjectMetaAccessor(crd, false, segment, path)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(crd, old, path)...)
	return append(errs, validation.ValidateObjectMetaAccessorUpdate(crd, old, path)...)
}

// checkImmutable checks the fields that identify the stored objects.
func (m *manifest) checkImmutable(old *manifest) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	same := func(value, before string, path *field.Path) {
		errs = append(errs, validation.ValidateImmutableField(value, before, path)...)
	}
	if old.Status.isTrue(established) {
		same(m.Spec.Scope, old.Spec.Scope, spec.Child("scope"))
		same(m.Spec.Names.Kind, old.Spec.Names.Kind, spec.Child("names", "kind"))
	}
	same(m.Spec.Group, old.Spec.Group, spec.Child("group"))
	same(m.Spec.Names.Plural, old.Spec.Names.Plural, spec.Child("names", "plural"))
	return errs
}

// checkStored checks that all stored versions exist.
func (m *manifest) checkStored() field.ErrorList {
	path := field.NewPath("status", "storedVersions")
	if len(m.Status.StoredVersions) == 0 {
		return field.ErrorList{field.Invalid(path, m.Status.StoredVersions, "must have at least one stored version")}
	}
	var errs field.ErrorList
	for _, v := range m.Spec.Versions {
		if v.Storage && !slices.Contains(m.Status.StoredVersions, v.Name) {
			errs = append(errs, field.Invalid(path, m.Status.StoredVersions, "must have the storage version "+v.Name))
		}
	}
	for i, name := range m.Status.StoredVersions {
		if !slices.ContainsFunc(m.Spec.Versions, func(v manifestVersion) bool { return v.Name == name }) {
			text := fmt.Sprintf("missing from spec.versions; %[1]s was previously a storage version, and must remain in "+
				"spec.versions until a storage migration ensures no data remains persisted in %[1]s and removes %[1]s from "+
				"status.storedVersions", name)
			errs = append(errs, field.Invalid(path.Index(i), name, text))
		}
	}
	return errs
}

func invalid(crd *unstructured.Unstructured, errs field.ErrorList) error {
	group := schema.GroupKind{Group: apiGroup, Kind: "CustomResourceDefinition"}
	return &core.StatusError{Status: apierrors.NewInvalid(group, crd.GetName(), errs).ErrStatus}
}

func badRequest(text string) error {
	const prefix = `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: `
	return &core.StatusError{Status: apierrors.NewBadRequest(prefix + text).ErrStatus}
}
