// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/kinds"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Primary is the kind that a controller reconciles. Create one with [For] or [ForView].
type Primary[K any] struct {
	inputs []input
	filter *filter // nil without Where
}

// For returns the kind that a controller reconciles, with all objects of the cluster.
func For[K any, P core.ObjectPtr[K]](c *cache.Cache) Primary[K] {
	return ForView(cache.Of[K, P](c, nil))
}

// ForView returns the kind that a controller reconciles, with the objects of one or more views: of several namespaces,
// or of several clusters, whose caches must have different names.
func ForView[K any](v *cache.View[K], more ...*cache.View[K]) Primary[K] {
	return Primary[K]{inputs: inputsOf(v, more)}
}

// Secondary is a kind whose changes concern the objects of another kind. Create one with [Source] or [SourceView].
type Secondary[K any] struct {
	inputs []input
	filter *filter // nil without Where
}

// Source returns a kind whose changes concern the objects of another kind, with all objects of the cluster.
func Source[K any, P core.ObjectPtr[K]](c *cache.Cache) Secondary[K] {
	return SourceView(cache.Of[K, P](c, nil))
}

// SourceView returns a kind whose changes concern the objects of another kind, with the objects of one or more views:
// of several namespaces, or of several clusters. A changed object concerns objects of its own cluster.
func SourceView[K any](v *cache.View[K], more ...*cache.View[K]) Secondary[K] {
	return Secondary[K]{inputs: inputsOf(v, more)}
}

// AnySecondary is a [Secondary] of any kind, for [Controller.Owns] and [Controller.Reads].
type AnySecondary interface{ source() *source }

func (s Secondary[K]) source() *source {
	return &source{inputs: s.inputs, filter: s.filter, kind: newObject[K]}
}

// newObject returns a new object of a kind.
func newObject[K any]() core.Object { return any(new(K)).(core.Object) }

// Trigger starts runs of objects that it determines. [Secondary.Map] and [On] return triggers, which
// [Controller.Watches] takes. Run returns an error for the zero Trigger, and for one without a function.
type Trigger struct{ source *source }

// On returns a trigger that reconciles the objects of a sequence, such as those of messages from outside the cluster. A
// goroutine of [Controller.Run] ranges over keys(ctx); ctx ends when Run stops. A sequence that waits must also wait
// for the end of ctx:
//
//	controller.On(func(ctx context.Context) iter.Seq[controller.Key] {
//		return func(yield func(controller.Key) bool) {
//			for {
//				select {
//				case key, open := <-messages:
//					if !open || !yield(key) {
//						return
//					}
//				case <-ctx.Done():
//					return
//				}
//			}
//		}
//	})
//
// Run waits at most 10 s for a sequence that ignores the end of ctx, and then returns an error. The trigger ends when
// the sequence ends; a panic of the sequence is logged, and ends it, too. A key of a cluster that the controller does
// not have is logged, and one of a cluster that is not synced yet is ignored: all objects of the cluster run once the
// cluster is.
func On(keys func(ctx context.Context) iter.Seq[Key]) Trigger {
	if keys == nil {
		return Trigger{}
	}
	return Trigger{&source{start: func(s *session) stage { return &sequence{s, keys} }}}
}

// Map returns a trigger. f returns references to the objects that a changed object concerns; they are in the cluster of
// the changed object. It is called with the old and the new state of the object, or with the last state of a deleted
// object, so that objects that it no longer concerns are reconciled, too. If several changes of an object wait, f is
// also called with the states between them, since runs may have read these; a WebAssembly module does not receive them.
// So one object may need up to eleven calls; the first is the one with the newest state. A reference that is invalid for
// the reconciled kind, such as one without a namespace, is a failed run, see [Options.OnResult].
//
// f is not called again when other objects change, so its result must depend only on the object, with one exception: f
// may find the objects in a [reflector.Index] of the view of the reconciled kind. An object that begins to use the
// changed one after the call is reconciled because of its own change. f is not called before the index is ready.
//
// If f returns an error or panics, the state is logged and mapped again after the controller's back-off, unless the
// error is [core.Terminal]. Of such states of an object, and of the states between waiting changes, at most the newest 8
// are kept. A state that can't be decoded is not mapped again.
//
// f may be slow, such as when it reads from another server: up to 8 calls run at the same time, at most 4 of them for
// initial objects, so that changes do not wait for these. Calls for one object never overlap. Other sources are not
// delayed. The context of f ends after [Options.RunTimeout], when Run stops, or when the cluster of the object leaves.
// [RunOf] and [Logger] accept it: Key is the changed object, with the name of its cluster.
func (s Secondary[K]) Map(f func(ctx context.Context, obj *K) ([]core.ObjectRef, error)) Trigger {
	if f == nil {
		return Trigger{}
	}
	src := s.source()
	if len(src.inputs) == 0 {
		return Trigger{src}
	}
	res := src.resource()
	src.start = startMapping(func(ctx context.Context, p wire.Packed) ([]core.ObjectRef, error) {
		obj := new(K)
		if err := decode(reflector.StateOf(p), any(obj).(core.Object), res); err != nil {
			return nil, core.Terminal(err)
		}
		return f(ctx, obj)
	}, res)
	return Trigger{src}
}

// decode decodes an object, and sets its TypeMeta, which servers omit from the items of a list. A panic, as of a method
// of the object's type, is an error.
func decode(s reflector.State, obj core.Object, res core.Resource) (err error) {
	try(&err, func() {
		if err = s.Decode(obj); err != nil {
			head, _ := s.Head()
			err = fmt.Errorf("%s %s: %w", res, head.Ref, err)
		}
		kinds.Complete(obj, res)
	})
	return err
}

// source is a source of a controller: feeds of a kind, and a function that maps their changes to the reconciled objects
// that they concern; or a sequence of keys.
type source struct {
	inputs []input
	filter *filter            // nil without Where
	kind   func() core.Object // returns a new object of the kind
	refs   func(reflector.Change) ([]core.ObjectRef, error)
	start  func(*session) stage // if the trigger has a stage, which then replaces refs
}

// resource returns the resource of the kind, or the zero value if the source has no feeds.
func (s *source) resource() core.Resource {
	if len(s.inputs) == 0 {
		return core.Resource{}
	}
	return s.inputs[0].feed.Resource()
}

// itself maps an object of the primary kind to its own key.
func itself(c reflector.Change) ([]core.ObjectRef, error) {
	return []core.ObjectRef{c.Ref}, nil
}

// eachState maps a change to the keys of the states of the object, each once, so that the objects that it concerned
// before are reconciled, too.
func eachState(refs func(wire.Packed) ([]core.ObjectRef, error)) func(reflector.Change) ([]core.ObjectRef, error) {
	return func(c reflector.Change) (all []core.ObjectRef, err error) {
		add := func(states ...reflector.State) {
			for _, state := range states {
				if !state.Exists() {
					continue
				}
				found, trouble := refs(state.Packed())
				err = errors.Join(err, trouble)
				all = append(all, found...)
			}
		}
		add(c.Old, c.New)
		add(c.Between...)
		return unique(all), err
	}
}

// unique returns each ref once.
func unique(refs []core.ObjectRef) []core.ObjectRef {
	known := make(map[core.ObjectRef]bool, len(refs))
	return slices.DeleteFunc(refs, func(ref core.ObjectRef) bool {
		again := known[ref]
		known[ref] = true
		return again
	})
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

// feed has the methods of a [cache.View] that do not depend on the Go type of its objects.
type feed interface { //nolint:interfacebloat // a controller uses all of them, and views are the only implementation
	Cache() *cache.Cache
	Server() string
	Cluster() string
	Resource() core.Resource
	Selection() cache.Selection
	Run(ctx context.Context) error
	Ready(ctx context.Context) error
	Health() error
	State(ref core.ObjectRef) reflector.State
	Concerns(obj core.Object) bool
	Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error]
	Follow(ctx context.Context, f func(reflector.Change)) error
	Observe(o reflector.Observer) (stop func())
	Shard(by cache.ShardSources) (watcher.ShardSource, error)
}

// input is a feed of a source.
type input struct {
	feed feed
	on   func(*cache.Cache) feed // returns the same feed on another cluster
}

// inputsOf returns the inputs of views, each once: a change in a repeated one would cause two runs. It returns none if
// a view is nil, which is a mistake of the caller, see errNoView.
func inputsOf[K any](v *cache.View[K], more []*cache.View[K]) []input {
	inputs := make([]input, 0, 1+len(more))
	for _, v := range append([]*cache.View[K]{v}, more...) {
		if v == nil {
			return nil
		}
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.feed == feed(v) }) {
			inputs = append(inputs, input{v, func(c *cache.Cache) feed { return v.On(c) }})
		}
	}
	return inputs
}

// ready reports whether a feed has delivered its existing objects.
func ready(f feed) bool { return f.Ready(ended()) == nil }

// ended returns a context that has ended, so that functions that wait return immediately.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
