// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Table returns objects as the server would have people see them: columns with names, and a row of cells for each object,
// with the object's metadata. It is one page, as [API.List] reads it; a field selector metadata.name=… selects one object.
// The response as a whole is bounded by ObjectBytes of [wire.Limits].
//
// Errors: [core.ErrExpired] when the continue token is too old; [core.ErrNotAcceptable] of a server that makes no tables.
func (a *API[K]) Table(ctx context.Context, o *request.ListOptions) (*metav1.Table, error) {
	t := a.target
	t.View, t.Encoding = request.ViewTable, wire.JSON
	table, err := a.table(ctx, t, o)
	return table, wrap("list", t, err)
}

func (a *API[K]) table(ctx context.Context, t request.Target, o *request.ListOptions) (*metav1.Table, error) {
	if err := a.ready(); err != nil {
		return nil, err
	}
	if o != nil && o.ShardSelector != "" && o.IncludeObject == request.IncludeNone {
		return nil, &request.InvalidError{
			Field: "ListOptions.IncludeObject", Detail: "None goes with no ShardSelector: which shard a row is of could not be told",
		}
	}
	ctx, cancel := limited(ctx, o)
	defer cancel()
	resp, err := a.client.send(ctx, t, encoded(t, func(t request.Target) (*request.Request, error) {
		return request.List(t, o)
	}))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := wire.ReadBody(resp.Body, a.client.limits)
	if err != nil {
		return nil, err
	}
	table := new(metav1.Table)
	if err := wire.UnmarshalJSON(body, table); err != nil {
		return nil, fmt.Errorf("decode table: %w", err)
	}
	if got, want := table.GroupVersionKind(), metav1.SchemeGroupVersion.WithKind("Table"); got != want {
		return nil, &wire.KindError{Got: got, Want: want}
	}
	return table, checkRows(table, o)
}

// checkRows sees to it that a table of a shard has no other rows.
func checkRows(table *metav1.Table, o *request.ListOptions) error {
	if o == nil || o.ShardSelector == "" {
		return nil
	}
	check := within(o.ShardSelector, func(wire.Packed) error { return nil })
	for _, row := range table.Rows {
		if err := check(wire.NewPacked(wire.JSON, row.Object.Raw)); err != nil {
			return err
		}
	}
	return nil
}
