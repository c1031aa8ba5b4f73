// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// CreateOptions are the options of a create.
type CreateOptions struct {
	DryRun          bool   // run the request without storing the result
	FieldManager    string // the owner of the fields; default: the client's, or derived from the user agent
	FieldValidation string // such as [metav1.FieldValidationStrict]; default: the server's
}

// UpdateOptions are the options of an update.
type UpdateOptions struct {
	DryRun          bool   // run the request without storing the result
	FieldManager    string // the owner of the fields; default: the client's, or derived from the user agent
	FieldValidation string // such as [metav1.FieldValidationStrict]; default: the server's
}

// PatchOptions are the options of a patch.
type PatchOptions struct {
	DryRun          bool   // run the request without storing the result
	FieldManager    string // the owner of the fields; default: the client's, or derived from the user agent
	FieldValidation string // such as [metav1.FieldValidationStrict]; default: the server's
}

// ApplyOptions are the options of a server-side apply. It has no field validation: an apply is always strict.
type ApplyOptions struct {
	FieldManager string // the owner of the applied fields; default: the client's; required if it has none
	Force        bool   // take over fields that other managers own; controllers set it
	DryRun       bool   // run the request without storing the result

	// SendZeroValues sends the fields of a typed object whose value is zero and whose JSON tag has no omitempty, also
	// those in a struct whose own tag has it, such as an empty spec. By default such a field is an error beside set
	// fields, since it is unclear whether the zero value is intended or the field was not set, and the apply would
	// overwrite what is stored; a struct without set fields is left out, except for the status in an apply to the
	// subresource status if it encodes to more than {}.
	SendZeroValues bool
}

// Create builds the request that creates an object. For a subresource, the target has the name of the parent object,
// and the created object has the Kind of the target, or that of obj if the target has none. An object with a resource
// version is an error, since servers refuse to create it with an internal error.
func Create(t Target, obj core.Object, o *CreateOptions) (*Request, error) {
	n := needParent
	if t.Subresource != "" {
		n = needObject
	}
	if o == nil {
		o = &CreateOptions{}
	}
	q := url.Values{}
	if err := encodeWrite(q, "CreateOptions.", o.DryRun, cmp.Or(o.FieldManager, t.FieldManager), o.FieldValidation); err != nil {
		return nil, err
	}
	r, err := withObject(t, n, "create", "POST", q, obj)
	if err == nil && t.Subresource == "" && r.Conditional {
		return nil, invalid("metadata.resourceVersion", "is %q, but the server sets it when it creates an object: "+
			"clear it, or use an update", obj.GetResourceVersion())
	}
	return r, err
}

// Update builds the request that replaces an object.
func Update(t Target, obj core.Object, o *UpdateOptions) (*Request, error) {
	if o == nil {
		o = &UpdateOptions{}
	}
	q := url.Values{}
	if err := encodeWrite(q, "UpdateOptions.", o.DryRun, cmp.Or(o.FieldManager, t.FieldManager), o.FieldValidation); err != nil {
		return nil, err
	}
	return withObject(t, needObject, "update", "PUT", q, obj)
}

// Apply builds the request that applies an object by server-side apply: the field manager becomes the owner of the
// fields that obj sets, see https://kubernetes.io/docs/reference/using-api/server-side-apply/. See [wire.MarshalApply]
// for the fields of a typed object that count as set, and [ApplyOptions.SendZeroValues] for those that are ambiguous.
//
// An object that was read from a server or a cache is an error, since an apply would claim all of its fields: one with
// managed fields, and a typed one with a creation timestamp. Files that were exported as unstructured objects often
// have one, so it is not an error there.
func Apply(t Target, obj core.Object, o *ApplyOptions) (*Request, error) {
	if o == nil {
		o = &ApplyOptions{}
	}
	if o.FieldManager == "" && t.FieldManager == "" {
		return nil, invalid(
			"ApplyOptions.FieldManager",
			"is empty; name the owner of the applied fields, or set a default for the client",
		)
	}
	if field := readField(obj); field != "" {
		return nil, invalid(field, "must be empty in an apply; build the object anew, with only the fields you own")
	}
	q := url.Values{}
	if err := encodeWrite(q, "ApplyOptions.", o.DryRun, cmp.Or(o.FieldManager, t.FieldManager), ""); err != nil {
		return nil, err
	}
	if o.Force {
		q.Set("force", "true")
	}
	path, err := t.path(needObject)
	if err != nil {
		return nil, err
	}
	if err := t.checkWrite(); err != nil {
		return nil, err
	}
	if err := matchObject(t, obj); err != nil {
		return nil, err
	}
	body, err := wire.MarshalApply(obj, bodyResource(t, obj), &wire.ApplyOptions{
		ZeroValues: o.SendZeroValues, Status: t.Subresource == "status",
	})
	if zero, ok := errors.AsType[*wire.ZeroValueError](err); ok {
		return nil, invalid(
			strings.Join(zero.Fields, ", "),
			"the value is zero and the JSON tag has no omitempty, so an apply would overwrite the stored value; "+
				"set ApplyOptions.SendZeroValues to send it, or apply a generated apply struct or an unstructured object that "+
				"leaves it out",
		)
	}
	if err != nil {
		return nil, err
	}
	return &Request{
		Verb: "apply", Method: "PATCH", Path: path, Query: q,
		Accept: t.accept(), ContentType: wire.MediaTypeApply, Body: body, Target: t,
		Conditional: obj.GetResourceVersion() != "",
	}, nil
}

// readField returns the path of a field that only objects have that were read from a server or a cache, or nothing. An
// unstructured object may have a creation timestamp, since files that were exported have one.
func readField(obj core.Object) string {
	if len(obj.GetManagedFields()) > 0 {
		return "metadata.managedFields"
	}
	// By reflection, because a call of the method would link it for each kind. An unstructured object has no such field.
	created := reflect.Indirect(reflect.ValueOf(obj)).FieldByName("CreationTimestamp")
	if created.IsValid() && !created.IsZero() {
		return "metadata.creationTimestamp"
	}
	return ""
}

func withObject(t Target, n need, verb, method string, q url.Values, obj core.Object) (*Request, error) {
	path, err := t.path(n)
	if err != nil {
		return nil, err
	}
	if err := t.checkWrite(); err != nil {
		return nil, err
	}
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return nil, invalid(
			"object",
			"has only metadata, so the update would remove all other fields; use a patch or an apply",
		)
	}
	if err := matchObject(t, obj); err != nil {
		return nil, err
	}
	body, err := wire.Marshal(obj, bodyResource(t, obj), t.Encoding)
	if err != nil {
		return nil, err
	}
	return &Request{
		Verb: verb, Method: method, Path: path, Query: q,
		Accept: t.accept(), ContentType: t.Encoding.MediaType(), Body: body, Target: t,
		Conditional: obj.GetResourceVersion() != "",
	}, nil
}

// bodyResource returns the resource of the object in a body: that of the target, or of the object itself for
// subresources with a kind of their own, such as scale.
func bodyResource(t Target, obj core.Object) core.Resource {
	res := t.Resource
	if t.Kind.Kind != "" {
		res.Group, res.Version, res.Kind = t.Kind.Group, t.Kind.Version, t.Kind.Kind
		return res
	}
	own := obj.GetObjectKind().GroupVersionKind()
	if t.Subresource != "" && own.Kind != "" && own.Kind != res.Kind {
		res.Group, res.Version, res.Kind = own.Group, own.Version, own.Kind
	}
	return res
}

// matchObject rejects an object whose namespace or name differs from the target's. The body of a subresource may omit
// them.
func matchObject(t Target, obj core.Object) error {
	if ns := obj.GetNamespace(); ns != "" && ns != t.Namespace {
		return invalid("metadata.namespace", "is %q, but the request goes to namespace %q", ns, t.Namespace)
	}
	unnamed := obj.GetName() == "" && t.Subresource != ""
	if t.Name != "" && obj.GetName() != t.Name && !unnamed {
		return invalid("metadata.name", "is %q, but the request goes to %q", obj.GetName(), t.Name)
	}
	return nil
}

func encodeWrite(q url.Values, prefix string, dryRun bool, manager string, validation string) error {
	if dryRun {
		q.Set("dryRun", "All")
	}
	if len(manager) > 128 || strings.ContainsFunc(manager, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return invalid(prefix+"FieldManager", "%q must have at most 128 printable characters", manager)
	}
	set(q, "fieldManager", manager)
	switch validation {
	case "", metav1.FieldValidationStrict, metav1.FieldValidationWarn, metav1.FieldValidationIgnore:
		set(q, "fieldValidation", validation)
		return nil
	}
	return invalid(prefix+"FieldValidation", "%q is not valid; use Strict, Warn or Ignore", validation)
}
