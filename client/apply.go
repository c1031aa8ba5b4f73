// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// Apply writes an object by server-side apply and returns the object as stored. It creates the object if it does not
// exist. The field manager owns the fields that obj sets; the server removes fields that the manager applied before and
// that obj leaves out.
//
// In a typed object, nil fields and structs in which nothing is set are left out. A number, string or bool that is zero
// and whose JSON tag has no omitempty is an error if it stands beside fields that are set: with Force it would erase the
// stored value. Set the field, apply a generated apply struct or an unstructured object, or set
// [request.ApplyOptions.SendZeroValues]. The items of lists and the values of maps are sent whole, zero values included.
//
// Errors: [core.ErrConflict] when another manager owns a field with another value and Force is not set; the causes of
// the [*core.StatusError] name the fields and their owners. A [*request.InvalidError] names the zero values.
func (a *API[K]) Apply(ctx context.Context, obj *K, o *request.ApplyOptions) (*K, error) {
	body, err := copyOf(obj)
	if err != nil {
		return nil, wrap("apply", a.target, err)
	}
	t := a.forObject(body)
	return a.one(ctx, "apply", t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.Apply(t, body, o)
	}))
}
