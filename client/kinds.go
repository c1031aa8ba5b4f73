// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// only refuses a verb that makes sense for some kinds only, whose names are those of [core.Resource.String].
func (a *API[K]) only(what string, kinds ...string) error {
	res := a.target.Resource
	if a.setup != nil || slices.Contains(kinds, res.String()) {
		return a.setup
	}
	return &request.InvalidError{
		Field:  "kind",
		Detail: fmt.Sprintf("%s can't be %s; only %s can", res, what, strings.Join(kinds, ", ")),
	}
}

// anyOf returns the same API for objects as the server has them, whatever K declares of them.
func (a *API[K]) anyOf() *API[unstructured.Unstructured] {
	target := a.target
	target.Encoding, target.View = wire.JSON, request.ViewObject
	return &API[unstructured.Unstructured]{client: a.client, target: target, oneSpace: a.oneSpace, setup: a.setup}
}

// modifyAny is [API.Modify] for changes of fields that K need not declare.
func (a *API[K]) modifyAny(
	ctx context.Context, name string, change func(map[string]any) error, o *ModifyOptions,
) (*K, error) {
	stored, err := a.anyOf().Modify(ctx, name, func(u *unstructured.Unstructured) error { return change(u.Object) }, o)
	if err != nil {
		return nil, err
	}
	if same, ok := any(stored).(*K); ok {
		return same, nil
	}
	obj := new(K)
	packed, err := wire.Pack(stored, wire.JSON)
	if err == nil {
		err = packed.Decode(asObject(obj))
	}
	return obj, err
}
