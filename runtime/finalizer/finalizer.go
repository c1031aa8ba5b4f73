// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/apierr"
)

// Funcs are the two halves of a reconciler. Both are required, and both must be idempotent.
type Funcs[K any] struct {
	// Apply changes the world to the state that the object specifies. The object already has the finalizer.
	Apply func(ctx context.Context, obj *K) (controller.Action, error)

	// Cleanup undoes what Apply did. When it returns [controller.AwaitChange] without an error, the finalizer is
	// removed. When it returns [controller.RequeueAfter] or an error, it has not finished: the finalizer stays, and
	// Cleanup is called again. To wait until another object no longer exists, return RequeueAfter with a long time: if
	// the controller watches the object, its deletion causes a run earlier.
	Cleanup func(ctx context.Context, obj *K) (controller.Action, error)
}

// Reconcile calls the function of f that obj needs, and keeps the finalizer with the given name on the object while
// cleanup may be necessary. The name must be qualified with a domain, such as "docs.example.com/cleanup". The scope of
// api may be the object's namespace or all namespaces.
//
// Errors: the errors of f; an error of the server if the finalizer can't be added or removed; a [core.Terminal]
// error if the name, f or obj is invalid.
func Reconcile[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *client.API[K], name string, obj *K, f Funcs[K],
) (controller.Action, error) {
	if f.Apply == nil || f.Cleanup == nil {
		return controller.Action{}, core.Terminal(wrong(name, "Apply and Cleanup must both be set"))
	}
	if P(obj).GetDeletionTimestamp() == nil {
		obj, err := Add[K, P](ctx, api, name, obj)
		if obj == nil || err != nil {
			return controller.Action{}, err
		}
		return f.Apply(ctx, obj)
	}
	if err := check(name, P(obj)); err != nil {
		return controller.Action{}, err
	}
	if !slices.Contains(P(obj).GetFinalizers(), name) {
		return controller.AwaitChange(), nil
	}
	action, err := f.Cleanup(ctx, obj)
	switch {
	case err != nil:
		return controller.Action{}, fmt.Errorf("cleanup: %w", err)
	case action != controller.AwaitChange():
		return action, nil // not finished
	}
	return controller.AwaitChange(), Remove[K, P](ctx, api, name, obj)
}

// Add ensures that the object has the finalizer, unless it is being deleted. It returns the object as stored, or nil if
// the object is deleted or being deleted. The name and the api are those of [Reconcile].
//
// Errors: an error of the server; a [core.Terminal] error if the name or obj is invalid.
func Add[K any, P core.ObjectPtr[K]](ctx context.Context, api *client.API[K], name string, obj *K) (*K, error) {
	if err := check(name, P(obj)); err != nil {
		return nil, err
	}
	return newEditor[K, P](api, name, obj).add(ctx, obj)
}

// Remove ensures that the object does not have the finalizer, and changes no other finalizer. It is not an error if the
// object does not exist. The name and the api are those of [Reconcile].
//
// Errors: an error of the server; a [core.Terminal] error if the name or obj is invalid.
func Remove[K any, P core.ObjectPtr[K]](ctx context.Context, api *client.API[K], name string, obj *K) error {
	if err := check(name, P(obj)); err != nil {
		return err
	}
	return newEditor[K, P](api, name, obj).remove(ctx, obj)
}

// check rejects invalid arguments before any request is sent.
func check(name string, obj core.Object) error {
	switch {
	case !strings.Contains(name, "/") || len(validation.IsQualifiedName(name)) > 0:
		return core.Terminal(wrong(name, "want a name qualified by a domain, such as docs.example.com/cleanup"))
	case obj.GetName() == "" || obj.GetUID() == "":
		return core.Terminal(wrong(name, "the object has no name or no UID; use one that the server returned"))
	}
	return nil
}

func wrong(name, what string) error { return fmt.Errorf("finalizer %q: %s", name, what) }

// editor changes one finalizer of objects.
type editor[K any, P core.ObjectPtr[K]] struct {
	api  *client.API[K]
	name string
}

// newEditor returns the editor for an object, which may be of another namespace than the api.
func newEditor[K any, P core.ObjectPtr[K]](api *client.API[K], name string, obj *K) editor[K, P] {
	if ns := P(obj).GetNamespace(); ns != "" {
		api = api.In(ns)
	}
	return editor[K, P]{api: api, name: name}
}

func (e editor[K, P]) on(obj *K) bool {
	return slices.Contains(P(obj).GetFinalizers(), e.name)
}

// add returns the object with the finalizer, or nil if the object is deleted or being deleted.
func (e editor[K, P]) add(ctx context.Context, obj *K) (*K, error) {
	obj, err := e.edit(ctx, obj, func(obj *K) (next []string, needed bool) {
		needed = !e.on(obj) && P(obj).GetDeletionTimestamp() == nil
		return append(slices.Clone(P(obj).GetFinalizers()), e.name), needed
	})
	if obj == nil || err != nil || P(obj).GetDeletionTimestamp() != nil {
		return nil, err
	}
	return obj, nil
}

func (e editor[K, P]) remove(ctx context.Context, obj *K) error {
	_, err := e.edit(ctx, obj, func(obj *K) (next []string, needed bool) {
		ours := func(name string) bool { return name == e.name }
		return slices.DeleteFunc(slices.Clone(P(obj).GetFinalizers()), ours), e.on(obj)
	})
	return err
}

// attempts is the maximum number of attempts of an edit that other clients interfere with.
const attempts = 5

// edit replaces the finalizers by those that want returns, if want reports that this is needed. It returns the stored
// object, or nil if it is deleted. The given object may be stale: if the server reports that, edit reads it again.
func (e editor[K, P]) edit(ctx context.Context, obj *K, want func(*K) (next []string, needed bool)) (*K, error) {
	var err error
	for range attempts {
		next, needed := want(obj)
		if !needed {
			return obj, nil
		}
		var stored *K
		stored, err = e.api.Patch(ctx, P(obj).GetName(), swap(P(obj), next), nil)
		switch {
		case err == nil:
			return stored, nil
		case apierr.NotFound(err):
			return nil, nil
		case !errors.Is(err, core.ErrInvalid) && !errors.Is(err, core.ErrConflict):
			return nil, fmt.Errorf("finalizer %s: %w", e.name, err)
		}
		fresh, readErr := e.reread(ctx, obj)
		switch {
		case readErr != nil:
			return nil, fmt.Errorf("finalizer %s: %w; then %w", e.name, err, readErr)
		case fresh == nil:
			return nil, nil
		case !changed(P(obj), P(fresh)) && !errors.Is(err, core.ErrConflict):
			return nil, fmt.Errorf("finalizer %s: %w", e.name, err) // the server has rejected it for another reason
		}
		obj = fresh
	}
	return nil, fmt.Errorf(
		"finalizer %s: other clients changed the object %d times during the update: %w",
		e.name,
		attempts,
		err,
	)
}

// reread returns the newest state of the object, or nil if it is deleted. Another object with the same name does not
// count; it has its own event.
func (e editor[K, P]) reread(ctx context.Context, obj *K) (*K, error) {
	fresh, err := e.api.Get(ctx, P(obj).GetName(), nil)
	switch {
	case apierr.NotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case P(fresh).GetUID() != P(obj).GetUID():
		return nil, nil
	}
	return fresh, nil
}

// changed reports whether an edit that the server rejected for the old state may succeed for the new one.
func changed(old, fresh core.Object) bool {
	return !slices.Equal(old.GetFinalizers(), fresh.GetFinalizers()) ||
		(old.GetDeletionTimestamp() == nil) != (fresh.GetDeletionTimestamp() == nil)
}
