// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Primary is the kind that a controller reconciles. Create one with [For].
type Primary[K any] struct{ view *cache.View[K] }

// For returns the kind that a controller reconciles, with all objects of the cluster.
func For[K any, P core.ObjectPtr[K]](c *cache.Cache) Primary[K] {
	return ForView(cache.Of[K, P](c, nil))
}

// ForView returns the kind that a controller reconciles, with the objects of a view.
func ForView[K any](v *cache.View[K]) Primary[K] { return Primary[K]{v} }

// Secondary is a kind whose changes concern the objects of another kind. Create one with [Source].
type Secondary[K any] struct{ view *cache.View[K] }

// Source returns a kind whose changes concern the objects of another kind, with all objects of the cluster.
func Source[K any, P core.ObjectPtr[K]](c *cache.Cache) Secondary[K] {
	return SourceView(cache.Of[K, P](c, nil))
}

// SourceView returns a kind whose changes concern the objects of another kind, with the objects of a view.
func SourceView[K any](v *cache.View[K]) Secondary[K] { return Secondary[K]{v} }

// Owned is a [Secondary] of any kind.
type Owned interface{ feed() feed }

func (s Secondary[K]) feed() feed { return s.view }

// Trigger is a [Secondary] with a function that maps its objects to the objects that they concern.
type Trigger struct{ source *source }

// Map returns a trigger. f returns references to the objects that a changed object concerns. It is called with the old
// and the new state of the object, or with the last state of a deleted object, so that objects that it no longer
// concerns are reconciled, too. The result must depend only on the object: f is not called again when other objects
// change. A panic of f is logged with its stack, and that state of the object then concerns no objects. A reference
// that is invalid for the reconciled kind, such as one without a namespace, is a failed run, see [Options.OnResult].
func (s Secondary[K]) Map(f func(*K) []core.ObjectRef) Trigger {
	res := s.view.Resource()
	refs := func(p wire.Packed) ([]core.ObjectRef, error) {
		obj := new(K)
		o := any(obj).(core.Object)
		if err := p.Decode(o); err != nil {
			return nil, err
		}
		kinds.Complete(o, res)
		return f(obj), nil
	}
	return Trigger{&source{feed: s.feed(), refs: eachState(func(p wire.Packed) (found []core.ObjectRef, err error) {
		try(&err, func() { found, err = refs(p) }) // decoding calls methods of K
		return found, err
	})}}
}

// feed is the part of a view that a controller needs, independent of its kind.
type feed interface {
	identity
	changes
	store
}

type identity interface {
	Server() string
	Resource() core.Resource
	Health() error
}

type changes interface {
	Run(ctx context.Context) error
	Ready(ctx context.Context) error
	Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error]
}

type store interface {
	Observe(o reflector.Observer) (stop func())
	Packed(ref core.ObjectRef) (wire.Packed, bool)
	Concerns(obj core.Object) bool
}

// source is a feed with a function that maps its changes to the keys of the controller.
type source struct {
	feed feed
	refs func(reflector.Change) ([]core.ObjectRef, error)

	number  int           // the number of the source in the applier
	version atomic.Uint64 // the resource version that the feed has observed
}

// ready reports whether the source has delivered its existing objects.
func (s *source) ready() bool { return s.feed.Ready(ended()) == nil }

// ended returns a context that has ended, so that functions that wait return immediately.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// run adds the keys that the source's changes concern to the applier until ctx ends, and returns its cause, or the
// error of an invalid source.
func (s *source) run(ctx context.Context, a *applier.Applier[core.ObjectRef], logger *slog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	defer s.feed.Observe(s.observer(a))()
	wg.Go(func() { stop(s.feed.Run(ctx)) })
	for change, err := range s.feed.Subscribe(ctx) {
		if err != nil {
			return err
		}
		s.enqueue(ctx, change, a, logger)
	}
	return nil // not reached: the sequence ends with an error
}

// observer reports the progress of the source to the applier.
func (s *source) observer(a *applier.Applier[core.ObjectRef]) reflector.Observer {
	return reflector.Observer{
		Seen: func(version string) {
			if n, err := strconv.ParseUint(version, 10, 64); err == nil {
				s.version.Store(n)
				a.Seen(s.number, n)
			}
		},
		Gone: func(object wire.Packed) {
			if head, err := object.Head(); err == nil {
				a.Gone(s.number, head.UID)
			}
		},
	}
}

func (s *source) enqueue(
	ctx context.Context, c reflector.Change, a *applier.Applier[core.ObjectRef], logger *slog.Logger,
) {
	refs, err := s.refs(c)
	if err != nil {
		logger.LogAttrs(ctx, slog.LevelError, "can't use a changed object", describe(s.feed.Resource(), c.Ref, err)...)
	}
	priority := applier.Normal
	if c.Initial {
		priority = applier.Low
	}
	for _, ref := range refs {
		a.Add(ref, priority)
	}
}

// itself maps an object of the primary kind to its own key.
func itself(c reflector.Change) ([]core.ObjectRef, error) {
	if c.Type == core.Bookmark {
		return nil, nil
	}
	return []core.ObjectRef{c.Ref}, nil
}

// eachState maps a change to the keys of both states of the object, so that the objects that it concerned before are
// reconciled, too. A key occurs only once: otherwise, a worker could finish it in between, and run it twice for one
// change.
func eachState(refs func(wire.Packed) ([]core.ObjectRef, error)) func(reflector.Change) ([]core.ObjectRef, error) {
	return func(c reflector.Change) (all []core.ObjectRef, err error) {
		known := make(map[core.ObjectRef]bool)
		for _, p := range []wire.Packed{c.Old, c.New} {
			if p.Len() == 0 {
				continue
			}
			found, trouble := refs(p)
			err = errors.Join(err, trouble)
			for _, ref := range found {
				if !known[ref] {
					known[ref] = true
					all = append(all, ref)
				}
			}
		}
		return all, err
	}
}

// controllerOf maps an object to the object of a kind that controls it.
func controllerOf(owner core.Resource) func(wire.Packed) ([]core.ObjectRef, error) {
	return func(p wire.Packed) ([]core.ObjectRef, error) {
		meta, err := p.Metadata()
		if err != nil {
			return nil, err
		}
		ref := metav1.GetControllerOf(meta)
		if ref == nil || ref.Kind != owner.Kind {
			return nil, nil
		}
		// The version may differ: it is the one in which the owner was written.
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != owner.Group {
			return nil, nil
		}
		key := core.ObjectRef{Name: ref.Name}
		if owner.Namespaced {
			if meta.Namespace == "" {
				return nil, fmt.Errorf("it is cluster-scoped, and its controller %s %s lives in a namespace, so the server "+
					"deletes it: give it an owner that is cluster-scoped", owner, ref.Name)
			}
			key.Namespace = meta.Namespace
		}
		return []core.ObjectRef{key}, nil
	}
}
