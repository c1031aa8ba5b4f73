// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [Await] and [Gone]. The zero value of a field is its default.
type Options struct {
	// Logger logs each failure after which the wait continues, as a warning. Default: [slog.Default].
	Logger *slog.Logger
}

// Await waits until the object of the given name exists and meets the condition, and returns that state of the object.
// A namespaced kind needs the API of one namespace.
//
// Errors: the context's cause if the context ends first, with the last state that was observed; the condition's error
// if it is marked by [core.Terminal]; the server's error if retrying cannot help, such as a missing permission. None is
// terminal for a controller that returns it, because the awaited object may be repaired later.
func Await[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *client.API[K], name string, c Condition[K], o *Options,
) (*K, error) {
	w := newWaiter[K, P](api, name, o)
	if c == nil {
		return nil, w.failure(&request.InvalidError{Field: "condition", Detail: "is nil: pass one such as wait.Exists"})
	}
	var found *K
	err := w.run(ctx, func(obj *K) error {
		if obj == nil {
			return errors.New("it does not exist")
		}
		found = obj
		return c(obj)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Gone waits until the object of the given name and UID is deleted, even if another object has taken its name. With an
// empty UID, it waits until no object of that name exists. It does not delete the object. If the server no longer
// serves the kind, the object is deleted, unless uid is empty and the object was not observed before.
//
// Errors: the context's cause if the context ends first, with what delays the deletion, such as finalizers and the
// conditions of a namespace; the server's error if retrying cannot help.
func Gone[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *client.API[K], name string, uid types.UID, o *Options,
) error {
	known := uid != ""
	err := newWaiter[K, P](api, name, o).run(ctx, func(obj *K) error {
		known = known || obj != nil
		switch {
		case obj == nil, uid != "" && P(obj).GetUID() != uid:
			return nil
		case P(obj).GetDeletionTimestamp() == nil:
			return errors.New("it exists and is not being deleted")
		case len(P(obj).GetFinalizers()) > 0:
			return fmt.Errorf("it is being deleted and waits for the finalizers %s", strings.Join(P(obj).GetFinalizers(), ", "))
		}
		return beingDeleted(obj, api.Resource())
	})
	if known && removed(ctx, api, err) {
		return nil
	}
	return err
}

// discoveries is how often removed looks for a kind, once per second: servers remove a kind from their discovery
// documents a moment after its paths.
const discoveries = 5

// removed reports whether an error of a request means that the server no longer has the kind in any version, so that
// its objects are deleted. The response alone does not show that: it is the same for another version, and that of a
// proxy may look like it.
func removed[K any](ctx context.Context, api *client.API[K], err error) bool {
	if _, notServed := errors.AsType[*client.NotServedError](err); !notServed {
		return false
	}
	gvk := api.Resource().GroupVersionKind()
	for n := 1; ctx.Err() == nil; n++ {
		d, err := discovery.Discover(ctx, api.Client(), nil)
		if err != nil {
			return false
		}
		_, err = d.ForKind(gvk.GroupKind().WithVersion(""))
		unknown, ok := errors.AsType[*discovery.UnknownResourceError](err)
		if n == discoveries || ok && len(unknown.Failed) == 0 {
			return ok && len(unknown.Failed) == 0
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return false
}

func isNamespace(r core.Resource) bool { return r.Group == "" && r.Kind == "Namespace" }

// beingDeleted returns an error with what delays the deletion of an object without finalizers in its metadata. Only
// namespaces have that in their spec and status.
func beingDeleted(obj any, resource core.Resource) error {
	text := "it is being deleted"
	if !isNamespace(resource) {
		return errors.New(text)
	}
	var namespace struct {
		Spec struct {
			Finalizers []string `json:"finalizers"`
		} `json:"spec"`
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	}
	if convert(obj, &namespace) != nil {
		return errors.New(text) // the type declares the fields differently
	}
	if f := namespace.Spec.Finalizers; len(f) > 0 {
		text += " and waits for the finalizers " + strings.Join(f, ", ") + " of its spec"
	}
	for _, c := range namespace.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			text += "; " + c.unlike().Error()
		}
	}
	return errors.New(excerpt.Of(text, maxDelay))
}

// maxDelay is the maximum number of bytes of the error of beingDeleted. A condition may list each kind of a namespace.
const maxDelay = 2048

// waiter watches one object.
type waiter[K any, P core.ObjectPtr[K]] struct {
	api    *client.API[K]
	name   string
	logger *slog.Logger

	obj     *K   // nil: it does not exist
	listing bool // the initial list is incomplete: the object may exist

	seen    error // the last error of the condition; nil if the object was never observed
	trouble error // the last failure since then
}

func newWaiter[K any, P core.ObjectPtr[K]](api *client.API[K], name string, o *Options) *waiter[K, P] {
	w := &waiter[K, P]{api: api, name: name, logger: slog.Default()}
	if o != nil && o.Logger != nil {
		w.logger = o.Logger
	}
	return w
}

// run calls the condition with the object, or with nil if the object does not exist, at the start and after every
// change, until the condition returns nil.
func (w *waiter[K, P]) run(ctx context.Context, condition func(*K) error) error {
	if err := w.check(); err != nil {
		return w.failure(err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := &watcher.Options{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", w.name).String(),
		OnError: func(err error) {
			if apierr.Fatal(err) {
				stop(err)
				return
			}
			w.trouble = err
			w.logger.Warn("retrying after a failure", "for", w.object(), "err", err)
		},
	}
	for ev, err := range watcher.Events(ctx, w.api.Feed(), config) {
		if err != nil {
			return w.failure(err)
		}
		changed, err := w.take(ev)
		if err != nil {
			return w.failure(err)
		}
		if !changed {
			continue
		}
		w.trouble, w.seen = nil, condition(w.obj)
		switch {
		case w.seen == nil:
			return nil
		case core.IsTerminal(w.seen):
			err, w.seen = w.seen, nil
			return w.failure(err)
		}
	}
	return w.failure(context.Cause(ctx)) // unreachable: the sequence ends with an error
}

// take stores the state of the object that an event carries, and reports whether to check the condition.
func (w *waiter[K, P]) take(ev watcher.Event) (changed bool, err error) {
	switch ev.Type {
	case watcher.Init:
		w.obj, w.listing = nil, true
	case watcher.InitDone:
		w.listing = false
	case watcher.InitApply, watcher.Apply:
		w.obj, err = w.decode(ev)
	case watcher.Delete:
		w.obj = nil
	case watcher.Bookmark:
		return false, nil
	}
	return !w.listing, err
}

// check returns an error if the API and the name do not identify one object.
func (w *waiter[K, P]) check() error {
	switch {
	case w.name == "":
		return &request.InvalidError{Field: "name", Detail: "is empty: set the name of the object"}
	case w.api.Resource().Namespaced && w.api.Namespace() == "":
		return &request.InvalidError{Field: "namespace", Detail: "is empty: choose one with API.In"}
	}
	return nil
}

func (w *waiter[K, P]) decode(ev watcher.Event) (*K, error) {
	obj := P(new(K))
	if err := ev.Object.Decode(obj); err != nil {
		return nil, err
	}
	kinds.Complete(obj, w.api.Resource())
	return obj, nil
}

// object returns the resource, namespace and name of the awaited object.
func (w *waiter[K, P]) object() string {
	return w.api.Resource().String() + " " + core.ObjectRef{Namespace: w.api.Namespace(), Name: w.name}.String()
}

// failure returns the reason why the wait ends, together with the last known state of the object. It is not terminal.
func (w *waiter[K, P]) failure(reason error) error {
	err := fmt.Errorf("await %s: %w", w.object(), reason)
	if w.seen != nil {
		err = fmt.Errorf("%w; last seen: %w", err, w.seen)
	}
	if w.trouble != nil {
		err = fmt.Errorf("%w; last failure: %w", err, w.trouble)
	}
	return core.NotTerminal(err)
}
