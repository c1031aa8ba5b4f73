// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"github.com/kube-go/sdk/core/request"
)

// GetOrNil reads one object from the server; without an error, nil means that there is none. A kind that the server does
// not know at all is an error.
func (a *API[K]) GetOrNil(ctx context.Context, name string, o *request.GetOptions) (*K, error) {
	obj, err := a.Get(ctx, name, o)
	if isAbsent(err) {
		return nil, nil
	}
	return obj, err
}
