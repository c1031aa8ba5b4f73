// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/internal/kinds"
)

// Watch is [Events] for who wants decoded objects and keeps no store: the objects that are there come as Added, then
// their changes come as they happen, as if one watch went on for ever.
//
// Gaps are bridged. When the objects had to be listed anew, those that have not changed are not repeated, and those that
// are gone come as Deleted; since nobody saw their end, their objects have nothing but their identity and the last
// version known. An object that was replaced by another of the same name comes as Deleted, then Added.
// To know this, Watch remembers the identity and version of each object, some 200 bytes.
//
// After each list comes a Bookmark for which [core.InitialEventsEnd] is true, and now and then one that only tells how
// far the watch has come. Objects are the caller's own. One that can't be decoded goes to [Config.OnError], as an error
// that names it, and is passed over.
//
// With metav1.PartialObjectMetadata as K, a client's feed asks the server for metadata only.
func Watch[K any, P core.ObjectPtr[K]](ctx context.Context, src Source, c *Config) iter.Seq2[core.WatchEvent[K], error] {
	config := c.withDefaults()
	src = kinds.Source[K](src)
	return func(yield func(core.WatchEvent[K], error) bool) {
		f := follower[K]{
			resource: src.Resource(),
			as:       func(obj *K) core.Object { return P(obj) },
			trouble:  config.OnError,
			known:    make(map[core.ObjectRef]known),
			yield:    yield,
		}
		for ev, err := range Events(ctx, src, &config) {
			if err != nil {
				yield(core.WatchEvent[K]{}, err)
				return
			}
			if !f.take(ev) {
				return
			}
		}
	}
}

// known is what is remembered of an object.
type known struct {
	uid     types.UID
	version string
	list    int // the last list that it was in
}

// follower makes changes of objects out of events.
type follower[K any] struct {
	resource core.Resource
	as       func(*K) core.Object
	trouble  func(error)
	yield    func(core.WatchEvent[K], error) bool

	known map[core.ObjectRef]known
	list  int // counts the lists
}

// take returns false when the consumer has had enough.
func (f *follower[K]) take(ev Event) bool {
	switch ev.Type {
	case Init:
		f.list++
	case InitApply, Apply:
		return f.apply(ev)
	case Delete:
		old, ok := f.known[ev.Head.Ref]
		if !ok {
			return true
		}
		delete(f.known, ev.Head.Ref)
		obj := f.decode(ev)
		if obj == nil {
			obj = f.remains(ev.Head.Ref, old)
		}
		return f.yield(core.WatchEvent[K]{Type: core.Deleted, Object: obj}, nil)
	case InitDone:
		return f.sweep() && f.bookmark(ev.Head.ResourceVersion, true)
	case Bookmark:
		return f.bookmark(ev.Head.ResourceVersion, false)
	}
	return true
}

func (f *follower[K]) apply(ev Event) bool {
	now := known{ev.Head.UID, ev.Head.ResourceVersion, f.list}
	old, was := f.known[ev.Head.Ref]
	same := was && old.uid == now.uid
	if same && old.version == now.version && now.version != "" {
		f.known[ev.Head.Ref] = now
		return true
	}
	if was && !same {
		delete(f.known, ev.Head.Ref)
		if !f.yield(core.WatchEvent[K]{Type: core.Deleted, Object: f.remains(ev.Head.Ref, old)}, nil) {
			return false
		}
	}
	obj := f.decode(ev)
	if obj == nil {
		if same {
			old.list = f.list
			f.known[ev.Head.Ref] = old
		}
		return true
	}
	f.known[ev.Head.Ref] = now
	change := core.WatchEvent[K]{Type: core.Added, Object: obj}
	if same {
		change.Type = core.Modified
	}
	return f.yield(change, nil)
}

// sweep tells of the objects that were not in the list.
func (f *follower[K]) sweep() bool {
	for ref, old := range f.known {
		if old.list == f.list {
			continue
		}
		delete(f.known, ref)
		if !f.yield(core.WatchEvent[K]{Type: core.Deleted, Object: f.remains(ref, old)}, nil) {
			return false
		}
	}
	return true
}

func (f *follower[K]) bookmark(version string, listed bool) bool {
	obj := new(K)
	o := f.as(obj)
	f.complete(o)
	o.SetResourceVersion(version)
	if listed {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return f.yield(core.WatchEvent[K]{Type: core.Bookmark, Object: obj}, nil)
}

// remains returns what is left of an object whose end nobody saw.
func (f *follower[K]) remains(ref core.ObjectRef, last known) *K {
	obj := new(K)
	o := f.as(obj)
	f.complete(o)
	o.SetNamespace(ref.Namespace)
	o.SetName(ref.Name)
	o.SetUID(last.uid)
	o.SetResourceVersion(last.version)
	return obj
}

// decode returns nil when the object can't be decoded.
func (f *follower[K]) decode(ev Event) *K {
	obj := new(K)
	if err := ev.Object.Decode(f.as(obj)); err != nil {
		f.trouble(fmt.Errorf("%s %s is passed over: %w", f.resource, ev.Head.Ref, err))
		return nil
	}
	f.complete(f.as(obj))
	return obj
}

// complete fills in the TypeMeta that the server leaves out.
func (f *follower[K]) complete(obj core.Object) { kinds.Complete(obj, f.resource) }
