// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/kinds"
)

// WatchOptions are the options of [Watch]. The zero value of a field is its default.
type WatchOptions struct {
	// LabelSelector and FieldSelector select the objects, such as "app=web" and "spec.nodeName=node-1", see
	// [request.ListOptions]. Default: all objects.
	LabelSelector string
	FieldSelector string

	// ShardSelector selects a subset of the objects, see [Options.ShardSelector]. Default: all objects.
	ShardSelector string

	// OmitManagedFields asks the server to omit metadata.managedFields, see [Options.OmitManagedFields]. Default: false.
	OmitManagedFields bool

	// PageSize is the number of objects on a page of a list, when the server does not support streaming lists. Default:
	// 500.
	PageSize int64

	// Paged requests pages, without trying a streaming list, see [Options.Paged]. Default: false.
	Paged bool

	// Timeout is the time after which the server ends a watch request, in whole seconds, see [Options.Timeout]. Default: a
	// random time from 5 to 10 minutes for each request.
	Timeout time.Duration

	// OnError receives each error from which the watcher recovers automatically, and each object that can't be decoded,
	// see [Options.OnError]. Default: the error is logged as a warning to [slog.Default].
	OnError func(error)

	// OnStatus receives the status of the sequence when it changes, see [Options.OnStatus]. Default: none.
	OnStatus func(Status)
}

// options returns the options of [Events].
func (o *WatchOptions) options() *Options {
	if o == nil {
		return nil
	}
	return &Options{
		LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector, ShardSelector: o.ShardSelector,
		OmitManagedFields: o.OmitManagedFields, PageSize: o.PageSize, Paged: o.Paged, Timeout: o.Timeout,
		OnError: o.OnError, OnStatus: o.OnStatus,
	}
}

// Watch yields decoded objects without keeping a store: first the existing objects as Added, then their changes as they
// happen, like one watch that never ends.
//
// Watch hides interruptions. After a new list, it yields nothing for unchanged objects and Deleted for objects that no
// longer exist. Since their deletion was not observed, such objects have only their identity and their last known
// version. An object that was replaced by another one with the same name is yielded as Deleted, then as Added. For
// this, Watch remembers the identity, the version and a hash of each object, about 200 bytes.
//
// After each list, Watch yields a Bookmark for which [core.InitialEventsEnd] is true. Other Bookmarks have only the
// version that the watch has reached. Callers own the objects. An object that can't be decoded is skipped, and
// [WatchOptions.OnError] receives an error that names it.
//
// Watch also retries what can't succeed, such as a field selector that the server does not support or a missing
// permission, since a server may change. A program that must not wait cancels ctx in [WatchOptions.OnError].
//
// If K is metav1.PartialObjectMetadata, a client's feed requests metadata only. If K is [core.Row], src must be the feed
// of client.API.Rows; a row whose cells alone have changed, such as its age, is unchanged.
func Watch[K any, P core.ObjectPtr[K]](
	ctx context.Context, src Source, o *WatchOptions,
) iter.Seq2[core.WatchEvent[K], error] {
	src = kinds.Source[K](src)
	opts := o.options().withDefaults(src.Resource())
	return func(yield func(core.WatchEvent[K], error) bool) {
		if err := opts.check("watcher.WatchOptions"); err != nil {
			yield(core.WatchEvent[K]{}, err)
			return
		}
		f := follower[K]{
			resource: src.Resource(),
			as:       func(obj *K) core.Object { return P(obj) },
			trouble:  opts.OnError,
			known:    make(map[core.ObjectRef]known),
			seed:     maphash.MakeSeed(),
			yield:    yield,
		}
		if kinds.IsRow[K]() {
			f.hashed = wire.ProjectionOf(reflect.TypeFor[metav1.PartialObjectMetadata]())
		}
		for ev, err := range Events(ctx, src, &opts) {
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

// known is the state of an object that Watch remembers.
type known struct {
	uid     types.UID
	version string
	content uint64 // see hash: after a restore from a backup, another object may have the same version
	list    int    // the last list that contained it
}

// follower turns events into changes of objects.
type follower[K any] struct {
	resource core.Resource
	as       func(*K) core.Object
	trouble  func(error)
	yield    func(core.WatchEvent[K], error) bool

	known   map[core.ObjectRef]known
	hashed  *wire.Projection // what hash includes: of rows, only the metadata, because cells have ages
	seed    maphash.Seed
	scratch []byte // is used again by each call of hash
	list    int    // counts the lists
}

// take returns false when the consumer has left its loop.
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
	now := known{ev.Head.UID, ev.Head.ResourceVersion, f.hash(ev.Object), f.list}
	old, was := f.known[ev.Head.Ref]
	same := was && old.uid == now.uid
	if same && old.version == now.version && old.content == now.content && now.version != "" {
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

// hash returns a hash of an object. It is the same with and without the kind, which servers omit from the items of a
// list in JSON, but not from the events of a watch.
func (f *follower[K]) hash(obj wire.Packed) uint64 {
	data, err := obj.AppendCompact(f.scratch[:0], f.hashed)
	if err != nil {
		return maphash.Bytes(f.seed, obj.Bytes())
	}
	f.scratch = data
	return maphash.Bytes(f.seed, data)
}

// sweep yields the deletion of each object that was not in the list.
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

// remains returns the object of a deletion that was not observed.
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

// decode returns nil if the object can't be decoded.
func (f *follower[K]) decode(ev Event) *K {
	obj := new(K)
	err := ev.Object.Decode(f.as(obj))
	if err == nil && f.hashed != nil && !bytes.Contains(ev.Object.Bytes(), []byte(`"cells":`)) {
		err = errNoRow
	}
	if err != nil {
		f.trouble(fmt.Errorf("skip %s %s: %w", f.resource, ev.Head.Ref, err))
		return nil
	}
	f.complete(f.as(obj))
	return obj
}

var errNoRow = errors.New("it is not a row of a table: pass the feed of client.API.Rows")

// complete sets the TypeMeta, which servers omit from the items of a list.
func (f *follower[K]) complete(obj core.Object) { kinds.Complete(obj, f.resource) }
