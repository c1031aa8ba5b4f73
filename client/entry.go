// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// Entry reads, changes and writes one object, which may not exist, in single steps. [API.Modify] and
// [API.CreateOrUpdate] do the same in a loop.
//
//	entry, err := settings.Entry(ctx, "web", nil)
//	cm := entry.OrInsert(&corev1.ConfigMap{Data: defaults})
//	cm.Data["color"] = "blue"
//	cm, err = entry.Commit(ctx, nil)   // creates, updates, or does nothing
//
// It uses JSON, whatever encoding the API prefers, since only JSON shows the fields that K does not declare.
//
// It is not safe for concurrent use.
type Entry[K any] struct {
	api     *API[K] // uses JSON
	target  request.Target
	missing error  // that the server has no such object
	obj     *K     // nil when there is none
	raw     []byte // the server's JSON; nil for an object that does not exist
	from    []byte // the JSON of obj when it was read, or of a blank one, to tell what was changed
}

// Entry reads an object, which may not exist.
func (a *API[K]) Entry(ctx context.Context, name string, o *request.GetOptions) (*Entry[K], error) {
	e := &Entry[K]{api: a.PreferEncoding(wire.JSON), target: a.named(name)}
	got, err := e.api.get(ctx, name, o)
	switch {
	case isAbsent(err):
		e.missing = err
		e.from, err = toJSON(a.addressed(name))
	case err != nil:
		return nil, err
	default:
		err = e.hold(got)
	}
	return e, WrapError("get", e.target, err)
}

// hold stores an object that the server sent.
func (e *Entry[K]) hold(got received) (err error) {
	e.obj, _ = typed[K](got, nil)
	e.raw, e.missing = got.body, nil
	e.from, err = toJSON(e.obj)
	return err
}

// Exists reports whether the object existed at the last request.
func (e *Entry[K]) Exists() bool { return e.missing == nil }

// Object returns the object for the caller to change, or nil if it does not exist.
func (e *Entry[K]) Object() *K { return e.obj }

// OrInsert returns the existing object, if any. Otherwise it sets the name and namespace of obj and returns obj, which
// Commit then creates. It panics if obj is nil and no object exists.
func (e *Entry[K]) OrInsert(obj *K) *K {
	if e.obj == nil {
		e.api.address(asObject(obj), e.target.Name)
		e.obj = obj
	}
	return e.obj
}

// Commit writes the changes: it creates an object that did not exist, and otherwise sends the difference as a merge
// patch, or nothing without a difference. It returns the object as stored, which the entry then holds unless it
// was a dry run.
//
// Fields that K does not declare are kept, also those of items of a changed list that are recognized, such as by their
// names; see Undeclared fields in package patch.
//
// Errors: [core.ErrConflict] if the object has changed since it was read; [core.ErrAlreadyExists] if it was created,
// and [core.ErrNotFound] if it was deleted; [core.ErrInvalid]; a [*request.InvalidError] for a changed field that can't
// be written this way.
func (e *Entry[K]) Commit(ctx context.Context, o *request.PatchOptions) (*K, error) {
	if o == nil {
		o = &request.PatchOptions{}
	}
	if e.obj == nil {
		return nil, WrapError("update", e.target, &request.InvalidError{Field: "object", Detail: "is not there; insert one"})
	}
	got, err := e.write(ctx, o)
	if err == nil && !o.DryRun {
		err = WrapError("update", e.target, e.hold(got))
	}
	return typed[K](got, err)
}

// write sends the changes, if there are any.
func (e *Entry[K]) write(ctx context.Context, o *request.PatchOptions) (received, error) {
	diff, err := patch.DiffMerge(e.from, e.obj, &patch.Options{Lock: e.Exists(), Raw: e.raw})
	if err == nil {
		err = e.check(diff)
	}
	switch {
	case err != nil:
		return received{}, WrapError("update", e.target, err)
	case !e.Exists():
		create := request.CreateOptions(*o)
		return e.api.create(ctx, copyOf(e.obj), &create)
	case len(diff) == 0:
		return received{asObject(e.obj), e.raw}, nil
	}
	return e.api.patch(ctx, e.target.Name, request.MergePatch(diff), o)
}

// check returns an error for changes that the server would ignore.
func (e *Entry[K]) check(diff map[string]any) error {
	invalid := func(field, detail string) error {
		return &request.InvalidError{Field: field, Detail: detail}
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if _, ok := diff[field]; ok {
			return invalid(field, "was changed; an object stays of its kind")
		}
	}
	metadata, _ := diff["metadata"].(map[string]any)
	for _, field := range []string{"name", "namespace", "uid"} {
		if _, ok := metadata[field]; ok {
			return invalid("metadata."+field, "was changed; write another object through an entry of its own")
		}
	}
	_, status := diff["status"]
	switch sub := e.target.Subresource; {
	case sub == "" && status && slices.Contains(e.target.Resource.Subresources, "status"):
		return invalid("status", "was changed, but is written through the subresource; use Status().Modify")
	case sub == "status":
		for field := range diff {
			locks := field == "metadata" && len(metadata) == 1 && metadata["resourceVersion"] != nil
			if field != "status" && !locks {
				return invalid(field, "was changed, but only the status is written through the subresource")
			}
		}
	}
	return nil
}

// addressed returns an object that has only its identity.
func (a *API[K]) addressed(name string) *K {
	obj := new(K)
	a.address(asObject(obj), name)
	return obj
}

// address sets the kind, name and namespace of an object.
func (e *endpoint) address(obj core.Object, name string) {
	obj.GetObjectKind().SetGroupVersionKind(e.target.Resource.GroupVersionKind())
	obj.SetName(name)
	if e.target.Namespace != "" {
		obj.SetNamespace(e.target.Namespace)
	}
}

// isAbsent reports whether the server serves the kind but has no such object.
func isAbsent(err error) bool {
	_, unknown := errors.AsType[*NotServedError](err)
	return errors.Is(err, core.ErrNotFound) && !unknown
}

// toJSON returns an object's JSON.
func toJSON[K any](obj *K) (data []byte, err error) {
	if u, ok := any(obj).(*unstructured.Unstructured); ok { // which encodes itself only when it has a kind
		data, err = wire.MarshalJSON(u.Object)
	} else {
		data, err = wire.MarshalJSON(obj)
	}
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	return data, nil
}
