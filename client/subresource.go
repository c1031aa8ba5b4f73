// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Subresource is a part of an object that is read and written by itself, such as its status.
type Subresource[K any] struct {
	api  API[K]
	name string
}

// Status returns the status subresource of the API's kind. Its writes change the status only, whatever else the object
// that is sent contains.
func (a *API[K]) Status() *Subresource[K] {
	return &Subresource[K]{api: *a, name: "status"}
}

func (s *Subresource[K]) named(name string) request.Target {
	t := s.api.named(name)
	t.Subresource = s.name
	return t
}

// Get reads an object through the subresource.
//
// Errors: [core.ErrNotFound], also when the kind has no such subresource.
func (s *Subresource[K]) Get(ctx context.Context, name string, o *request.GetOptions) (*K, error) {
	t := s.named(name)
	return s.api.one(ctx, "get", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Get(t, o)
	}))
}

// Update replaces the subresource and returns the object as stored.
//
// Errors: [core.ErrConflict], [core.ErrNotFound], [core.ErrInvalid].
func (s *Subresource[K]) Update(ctx context.Context, obj *K, o *request.UpdateOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("update", s.named(""), err)
	}
	t := s.api.forObject(body)
	t.Subresource = s.name
	return s.api.one(ctx, "update", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Update(t, body, o)
	}))
}

// Patch changes the subresource by a patch and returns the object as stored.
//
// Errors: [core.ErrNotFound], [core.ErrInvalid].
func (s *Subresource[K]) Patch(ctx context.Context, name string, p request.Patch, o *request.PatchOptions) (*K, error) {
	t := s.named(name)
	return s.api.one(ctx, "patch", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.PatchObject(t, p, o)
	}))
}

// Apply makes the fields of the subresource that obj sets the field manager's and returns the object as stored. The
// object must exist.
//
// Errors: [core.ErrConflict], [core.ErrNotFound].
func (s *Subresource[K]) Apply(ctx context.Context, obj *K, o *request.ApplyOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("apply", s.named(""), err)
	}
	t := s.api.forObject(body)
	t.Subresource = s.name
	return s.api.one(ctx, "apply", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Apply(t, body, o)
	}))
}
