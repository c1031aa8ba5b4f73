// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Create stores a new object and returns it as stored. An object without a name but with metadata.generateName gets a
// name from the server.
//
// Errors: [core.ErrAlreadyExists], [core.ErrInvalid].
func (a *API[K]) Create(ctx context.Context, obj *K, o *request.CreateOptions) (*K, error) {
	return typed[K](a.create(ctx, copyOf(obj), o))
}

func (e *endpoint) create(ctx context.Context, obj core.Object, o *request.CreateOptions) (received, error) {
	return e.write(ctx, "create", obj, func(t request.Target) (*request.Request, error) {
		t.Name = ""
		return request.Create(t, obj, o)
	})
}

// Update replaces an object and returns it as stored. If obj has a resource version, the stored object must still be at
// that version; such an update is not sent again when its response is lost, since it may have succeeded.
//
// The server removes the fields that obj does not have, also those that K does not declare: with a type that has only
// some fields of a kind, use [API.Modify], [API.Apply] or [API.Patch].
//
// Errors: [core.ErrConflict] when the object has changed since it was read, [core.ErrNotFound], [core.ErrInvalid].
func (a *API[K]) Update(ctx context.Context, obj *K, o *request.UpdateOptions) (*K, error) {
	return typed[K](a.update(ctx, copyOf(obj), o))
}

func (e *endpoint) update(ctx context.Context, obj core.Object, o *request.UpdateOptions) (received, error) {
	return e.write(ctx, "update", obj, func(t request.Target) (*request.Request, error) {
		return request.Update(t, obj, o)
	})
}

// Patch changes an object by a patch, such as request.MergePatch(body), and returns it as stored.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid]; [core.ErrConflict] when the patch sets a resource version that is not
// the object's.
func (a *API[K]) Patch(ctx context.Context, name string, p request.Patch, o *request.PatchOptions) (*K, error) {
	return typed[K](a.patch(ctx, name, p, o))
}

func (e *endpoint) patch(
	ctx context.Context, name string, p request.Patch, o *request.PatchOptions,
) (received, error) {
	t := e.named(name)
	return e.one(ctx, "patch", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.PatchObject(t, p, o)
	}))
}

// Apply writes an object by server-side apply and returns the object as stored. It creates the object if it does not
// exist. The field manager owns the fields that obj sets; the server removes fields that the manager applied before and
// that obj leaves out.
//
// In a typed object, nil fields and structs in which nothing is set are left out. A number, string or bool that is zero
// and whose JSON tag has no omitempty is an error if it stands beside fields that are set: with Force it would erase
// the stored value. So is a zero struct that is encoded as one of them, such as a metav1.Duration. Set the field, apply
// a generated apply struct or an unstructured object, or set [request.ApplyOptions.SendZeroValues]. The items of lists
// and the values of maps are sent whole, zero values included.
//
// Errors: [core.ErrConflict] when another manager owns a field with another value and Force is not set; the causes of
// the [*core.StatusError] name the fields and their owners. A [*request.InvalidError] names the zero values.
func (a *API[K]) Apply(ctx context.Context, obj *K, o *request.ApplyOptions) (*K, error) {
	return typed[K](a.apply(ctx, copyOf(obj), o))
}

func (e *endpoint) apply(ctx context.Context, obj core.Object, o *request.ApplyOptions) (received, error) {
	return e.write(ctx, "apply", obj, func(t request.Target) (*request.Request, error) {
		return request.Apply(t, obj, o)
	})
}

// write sends an object, which is nil if the caller's object is nil.
func (e *endpoint) write(
	ctx context.Context, verb string, obj core.Object, builder func(request.Target) (*request.Request, error),
) (received, error) {
	if obj == nil {
		return received{}, WrapError(verb, e.target, errNilObject())
	}
	t := e.forObject(obj)
	return e.one(ctx, verb, t, encoded(t, builder))
}

func errNilObject() error { return &request.InvalidError{Field: "object", Detail: "is nil"} }
