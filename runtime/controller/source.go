// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"iter"
	"log/slog"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/queue"
	"github.com/kube-go/sdk/runtime/reflector"
)

// Primary is the kind that a controller reconciles. Make one with [For].
type Primary[K any] struct{ view *cache.View[K] }

// For returns the kind that a controller reconciles: all of its objects in the cluster.
func For[K any, P core.ObjectPtr[K]](c *cache.Cache) Primary[K] {
	return ForView(cache.Of[K, P](c, nil))
}

// ForView returns the kind that a controller reconciles: the objects of a view.
func ForView[K any](v *cache.View[K]) Primary[K] { return Primary[K]{v} }

// Secondary is a kind whose changes concern the objects of another. Make one with [Source].
type Secondary[K any] struct{ view *cache.View[K] }

// Source returns a kind whose changes concern the objects of another: all of its objects in the cluster.
func Source[K any, P core.ObjectPtr[K]](c *cache.Cache) Secondary[K] {
	return SourceView(cache.Of[K, P](c, nil))
}

// SourceView returns a kind whose changes concern the objects of another: the objects of a view.
func SourceView[K any](v *cache.View[K]) Secondary[K] { return Secondary[K]{v} }

// Owned is a [Secondary] of any kind.
type Owned interface{ feed() feed }

func (s Secondary[K]) feed() feed { return s.view }

// Trigger is a [Secondary] together with the way from its objects to those that they concern.
type Trigger struct{ source source }

// Map says which objects a changed one concerns. It is asked about the object as it is and as it was, and, when it is
// gone, about its last state; so what an object no longer concerns hears of it too. Its answer must depend on nothing
// but the object: it is not asked again when other things change.
func (s Secondary[K]) Map(f func(*K) []core.ObjectRef) Trigger {
	res := s.view.Resource()
	return Trigger{source{feed: s.view, refs: func(p wire.Packed) ([]core.ObjectRef, error) {
		obj := new(K)
		o := any(obj).(core.Object)
		if err := p.Decode(o); err != nil {
			return nil, err
		}
		o.GetObjectKind().SetGroupVersionKind(res.GroupVersionKind())
		return f(obj), nil
	}}}
}

// feed is what a controller needs of a view, whatever its kind.
type feed interface {
	Resource() core.Resource
	Run(ctx context.Context) error
	Ready(ctx context.Context) error
	Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error]
	Health() error
}

// source is a feed together with the way from its objects to the keys of the controller.
type source struct {
	feed feed
	refs func(wire.Packed) ([]core.ObjectRef, error)
}

// run puts the keys that the source's changes concern into the queue until ctx ends, and returns its cause, or why the
// source can't work at all.
func (s source) run(ctx context.Context, q *queue.Queue[core.ObjectRef], logger *slog.Logger) error {
	ctx, stop := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { stop(s.feed.Run(ctx)) })
	defer wg.Wait()
	for change, err := range s.feed.Subscribe(ctx) {
		if err != nil {
			return err
		}
		s.enqueue(ctx, change, q, logger)
	}
	return nil // not reached: the sequence ends with an error
}

// enqueue looks at both states of the object, so that what it concerned before hears of the change too.
func (s source) enqueue(ctx context.Context, c reflector.Change, q *queue.Queue[core.ObjectRef], logger *slog.Logger) {
	priority := queue.Normal
	if c.Initial {
		priority = queue.Low
	}
	for _, p := range []wire.Packed{c.Old, c.New} {
		if p.Len() == 0 {
			continue
		}
		refs, err := s.refs(p)
		if err != nil {
			logger.ErrorContext(ctx, "a changed object can't be read", "kind", s.feed.Resource().Kind, "object", c.Ref.String(), "err", err)
			continue
		}
		for _, ref := range refs {
			q.Add(ref, priority)
		}
	}
}

// itself is the way from an object of the primary kind to its own key.
func itself(p wire.Packed) ([]core.ObjectRef, error) {
	head, err := p.Head()
	return []core.ObjectRef{head.Ref}, err
}

// controllerOf returns the way from an object to the object of a kind that controls it.
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
			key.Namespace = meta.Namespace
		}
		return []core.ObjectRef{key}, nil
	}
}
