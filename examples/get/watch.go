// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
)

// watch prints a row for each change until the context ends. It watches the metadata of the objects, which is small,
// and requests the row of each object that changes. Watch reconnects automatically.
func (t *table) watch(ctx context.Context) error {
	objects, selected := t.objects(t.resource), t.selections()[0]
	changes := kube.Watch(ctx, objects.Metadata(), &kube.WatchOptions{
		LabelSelector: selected.LabelSelector, FieldSelector: selected.FieldSelector,
		OnError: func(err error) { fmt.Fprintf(t.notes, "get: %v; retrying\n", err) },
	})
	for ev, err := range changes {
		if err != nil {
			return err
		}
		if err := t.change(ctx, objects, ev); err != nil {
			return err
		}
	}
	return nil
}

// change prints the row of an object that has changed. For a deleted object it prints the last row again, with a mark.
func (t *table) change(
	ctx context.Context, objects *kube.API[unstructured.Unstructured], ev kube.WatchEvent[metav1.PartialObjectMetadata],
) error {
	ref := kube.RefOf(ev.Object)
	t.watched[ref] = true
	switch {
	case ev.Type == kube.Bookmark:
		for ref := range t.printed {
			if !t.watched[ref] { // it was deleted between the list and the watch
				t.deleted(ref)
			}
		}
		return t.flush()
	case ev.Type == kube.Deleted:
		t.deleted(ref)
		return t.flush()
	case t.printed[ref].version == ev.Object.ResourceVersion:
		return nil // this version is already printed
	}
	if ref.Namespace != "" {
		objects = objects.In(ref.Namespace)
	}
	page, err := objects.Table(ctx, &kube.ListOptions{FieldSelector: byName + ref.Name})
	if err != nil {
		return err
	}
	t.add(page) // if the object was deleted meanwhile, there is no row, and its event follows
	return t.flush()
}

// deleted adds the last row of an object that no longer exists, with a mark.
func (t *table) deleted(ref kube.ObjectRef) {
	if last, ok := t.printed[ref]; ok {
		t.rows = append(t.rows, append(last.cells, "(deleted)"))
		delete(t.printed, ref)
	}
}
