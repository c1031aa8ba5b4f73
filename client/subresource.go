// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// Subresource reads and writes a subresource, such as the status. S is the type of its objects: for most subresources
// the kind itself, for some a different kind, such as Scale. It is immutable and safe for concurrent use.
type Subresource[S any] struct {
	api API[S] // whose target has a subresource
}

// Status returns the status subresource. Its writes change only the status, and ignore the other fields of the object.
func (a *API[K]) Status() *Subresource[K] { return a.Subresource("status") }

// Subresource returns a subresource whose objects have the kind itself, such as "resize" of pods or "finalize" of
// namespaces. If the subresources of the kind are known, each verb of any other returns an error without a request.
func (a *API[K]) Subresource(name string) *Subresource[K] {
	s := &Subresource[K]{api: *a}
	s.api.target.Subresource, s.api.setup = name, a.having(name)
	return s
}

// SubresourceOf returns a subresource whose objects have a different kind.
//
//	bindings := client.SubresourceOf[corev1.Binding](pods, "binding", corev1.SchemeGroupVersion.WithKind("Binding"))
func SubresourceOf[S, K any, P core.ObjectPtr[S]](
	a *API[K],
	name string,
	kind schema.GroupVersionKind,
) *Subresource[S] {
	s := new(Subresource[S])
	s.api.init(a.client, reflect.TypeFor[S](), &a.target.Resource, a.having(name))
	s.api.oneSpace, s.api.target.Namespace = a.oneSpace, a.target.Namespace
	s.api.target.Subresource, s.api.target.Kind = name, kind
	if s.api.setup == nil && (kind.Version == "" || kind.Kind == "") {
		s.api.setup = &request.InvalidError{
			Field:  "kind",
			Detail: "has no version or no name; set the kind in which the subresource is written",
		}
	}
	return s
}

// Get reads the subresource of an object.
//
// Errors: [core.ErrNotFound], also when the kind has no such subresource.
func (s *Subresource[S]) Get(ctx context.Context, name string, o *request.GetOptions) (*S, error) {
	return s.api.Get(ctx, name, o)
}

// Create sends an object to the subresource of another object, such as a binding of a pod. It returns the object in the
// response, or nil if the response is only a success.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid].
func (s *Subresource[S]) Create(ctx context.Context, name string, obj *S, o *request.CreateOptions) (*S, error) {
	return typed[S](s.api.createAt(ctx, name, copyOf(obj), o))
}

// createAt sends an object to the subresource of the object with the name.
func (e *endpoint) createAt(
	ctx context.Context, name string, obj core.Object, o *request.CreateOptions,
) (received, error) {
	t := e.named(name)
	if obj == nil {
		return received{}, WrapError("create", t, errNilObject())
	}
	return e.one(ctx, "create", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Create(t, obj, o)
	}))
}

// Update replaces the subresource and returns the object as stored.
//
// Errors: [core.ErrConflict], [core.ErrNotFound], [core.ErrInvalid].
func (s *Subresource[S]) Update(ctx context.Context, obj *S, o *request.UpdateOptions) (*S, error) {
	return s.api.Update(ctx, obj, o)
}

// Patch changes the subresource by a patch and returns the object as stored.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid].
func (s *Subresource[S]) Patch(ctx context.Context, name string, p request.Patch, o *request.PatchOptions) (*S, error) {
	return s.api.Patch(ctx, name, p, o)
}

// Apply writes the subresource by server-side apply and returns the object as stored. The object must exist. See
// [API.Apply] for the fields of a typed object that count as set.
//
// Errors: [core.ErrConflict], [core.ErrNotFound].
func (s *Subresource[S]) Apply(ctx context.Context, obj *S, o *request.ApplyOptions) (*S, error) {
	return s.api.Apply(ctx, obj, o)
}

// having returns an error if the kind is known not to have a subresource.
func (e *endpoint) having(name string) error {
	res := e.target.Resource
	first, _, _ := strings.Cut(name, "/")
	known := len(res.Verbs) > 0 || len(res.Subresources) > 0 // what is given by hand need not say either
	switch {
	case e.setup != nil:
		return e.setup
	case e.target.Subresource != "":
		return &request.InvalidError{Field: "subresource", Detail: "has no subresources; use the API of the kind"}
	case name == "":
		return &request.InvalidError{Field: "subresource", Detail: "is empty; name one, such as status"}
	case !known || slices.Contains(res.Subresources, first):
		return nil
	}
	has := "have no subresources"
	if len(res.Subresources) > 0 {
		has = "have " + strings.Join(res.Subresources, ", ")
	}
	return &request.InvalidError{
		Field:  "subresource",
		Detail: fmt.Sprintf("%q is not known: %s %s; to ask a newer server for it, use client.Of (kube.APIOf)", name, res, has),
	}
}

// Scale returns the scale subresource, which has the number of replicas. If the kind is known not to have one, each
// verb returns an error without a request.
//
//	_, err := deployments.Scale().Modify(ctx, "web", func(s *core.Scale) error {
//		s.Spec.Replicas = 3
//		return nil
//	}, nil)
func (a *API[K]) Scale() *Subresource[core.Scale] {
	return SubresourceOf[core.Scale](
		a,
		"scale",
		schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
	)
}
