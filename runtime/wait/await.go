// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/apierr"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Options are the options of [Await] and [Gone]. The zero value of a field is its default.
type Options struct {
	// Logger logs each failure after which the wait continues, as a warning. Default: [slog.Default].
	Logger *slog.Logger
}

// Await waits until there is an object of the given name and the condition holds of it, and returns the object as it
// was then. A namespaced kind needs the API of one namespace.
//
// Errors: the context's cause when it ends first, with what was seen last; the condition's error when it is marked by
// [Never]; what the server said when it said no for good.
func Await[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *client.API[K], name string, c Condition[K], o *Options,
) (*K, error) {
	var found *K
	err := newWaiter[K, P](api, name, o).run(ctx, func(obj *K) error {
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

// Gone waits until the object of the given name and UID is gone, even if another one has taken its name. With an empty
// UID it waits until there is no object of that name. It does not delete.
//
// Errors: the context's cause when it ends first, with what holds the object; what the server said when it said no for
// good.
func Gone[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *client.API[K], name string, uid types.UID, o *Options,
) error {
	return newWaiter[K, P](api, name, o).run(ctx, func(obj *K) error {
		switch {
		case obj == nil, uid != "" && P(obj).GetUID() != uid:
			return nil
		case P(obj).GetDeletionTimestamp() == nil:
			return errors.New("it exists and is not being deleted")
		case len(P(obj).GetFinalizers()) > 0:
			return fmt.Errorf("it is being deleted and waits for %s", strings.Join(P(obj).GetFinalizers(), ", "))
		}
		return errors.New("it is being deleted")
	})
}

// waiter follows one object.
type waiter[K any, P core.ObjectPtr[K]] struct {
	api    *client.API[K]
	name   string
	logger *slog.Logger

	obj     *K   // nil: there is none
	listing bool // and it is not known yet whether there is one

	seen    error // what the condition said last; nil when nothing was seen
	trouble error // what has gone wrong since
}

func newWaiter[K any, P core.ObjectPtr[K]](api *client.API[K], name string, o *Options) *waiter[K, P] {
	w := &waiter[K, P]{api: api, name: name, logger: slog.Default()}
	if o != nil && o.Logger != nil {
		w.logger = o.Logger
	}
	return w
}

// run shows the object to the condition, nil when there is none, at first and after every change, until it is
// satisfied.
func (w *waiter[K, P]) run(ctx context.Context, condition func(*K) error) error {
	if err := w.check(); err != nil {
		return w.failure(err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := &watcher.Config{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", w.name).String(),
		OnError: func(err error) {
			if apierr.Fatal(err) {
				stop(err)
				return
			}
			w.trouble = err
			w.logger.Warn("waiting goes on after a failure", "for", w.object(), "error", err)
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
		case isNever(w.seen):
			err, w.seen = w.seen, nil
			return w.failure(err)
		}
	}
	return w.failure(context.Cause(ctx)) // the sequence has ended with an error before
}

// take keeps the object up to date, and reports whether its state is one to look at.
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

// check refuses what does not mean one object.
func (w *waiter[K, P]) check() error {
	switch {
	case w.name == "":
		return &request.InvalidError{Field: "name", Detail: "is empty; name the object"}
	case w.api.Resource().Namespaced && w.api.Namespace() == "":
		return &request.InvalidError{Field: "namespace", Detail: "is empty; choose one with API.In"}
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

// object names what is awaited.
func (w *waiter[K, P]) object() string {
	return w.api.Resource().String() + " " + core.ObjectRef{Namespace: w.api.Namespace(), Name: w.name}.String()
}

// failure says why waiting ends, and what is known of the object.
func (w *waiter[K, P]) failure(reason error) error {
	err := fmt.Errorf("await %s: %w", w.object(), reason)
	if w.seen != nil {
		err = fmt.Errorf("%w; last seen: %w", err, w.seen)
	}
	if w.trouble != nil {
		err = fmt.Errorf("%w; last failure: %w", err, w.trouble)
	}
	return err
}
