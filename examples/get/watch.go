// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/kube"
)

// watch prints what changes from now on, until the context ends. Connections end, sooner or later; then it goes on from
// where it was, or when that is too long ago, from a new list.
func (t *table) watch(ctx context.Context) error {
	for {
		err := t.watchOnce(ctx)
		if errors.Is(err, kube.ErrExpired) {
			err = cmp.Or(t.list(ctx), t.flush())
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !kube.IsRetryable(err):
			return err
		case err != nil:
			fmt.Fprintf(t.notes, "get: %v; trying again\n", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// watchOnce sends one watch request, whose events are tables of one row.
func (t *table) watchOnce(ctx context.Context) error {
	selected := t.selections()[0]
	target := request.Target{Resource: t.resource, Namespace: t.namespace(t.resource), View: request.ViewTable}
	r, err := request.Watch(target, &kube.WatchOptions{
		ResourceVersion: t.version, LabelSelector: selected.LabelSelector, FieldSelector: selected.FieldSelector,
		NoBookmarks: true,
	})
	if err != nil {
		return err
	}
	resp, err := t.client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for ev, err := range wire.Events(resp.Body, resp.Header.Get("Content-Type"), nil) {
		if err != nil {
			return err
		}
		page := new(metav1.Table)
		if err := wire.UnmarshalJSON(ev.Object.Bytes(), page); err != nil {
			return fmt.Errorf("decode watch event: %w", err)
		}
		t.add(page)
		for i, row := range page.Rows {
			if meta := metaOf(row); meta.ResourceVersion != "" {
				t.version = meta.ResourceVersion
			}
			if ev.Type == kube.Deleted {
				last := len(t.rows) - len(page.Rows) + i
				t.rows[last] = append(t.rows[last], "(deleted)")
			}
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return nil
}
