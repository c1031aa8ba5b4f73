// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/kube-go/sdk/kube"
)

// watch prints the rows of the existing objects, and then a row for each change, until the context ends. Watch reconnects
// automatically. An error before the existing objects are known ends it.
func (t *table) watch(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	known := false
	selected := t.selections()[0]
	changes := kube.Watch(ctx, t.objects(t.resource).Rows(), &kube.WatchOptions{
		LabelSelector: selected.LabelSelector, FieldSelector: selected.FieldSelector,
		OnError: func(err error) {
			if !known {
				stop(err)
				return
			}
			fmt.Fprintf(t.notes, "get: %v; retrying\n", err)
		},
	})
	for ev, err := range changes {
		if err != nil {
			return err
		}
		switch ev.Type {
		case kube.Bookmark:
			known = true // the first one follows the existing objects
		case kube.Deleted:
			t.add(ev.Object, "(deleted)")
		default:
			t.add(ev.Object)
		}
		if !known {
			continue
		}
		if _, err := t.print(false); err != nil {
			return err
		}
	}
	return nil
}
