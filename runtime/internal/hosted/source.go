// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Host is the host of a guest.
type Host interface {
	// Watch starts a watch.
	Watch(w *abi.Watch) (Stream, error)

	// Get appends an object of a watch to dst.
	Get(dst []byte, g *abi.Get) ([]byte, error)
}

// Stream is the items of a watch. Its reader closes it.
type Stream interface {
	ID() int64

	// Next waits for the next item. It returns io.EOF after the last one.
	Next(ctx context.Context) (data []byte, flags abi.Flags, err error)

	Close()
}

// Source is a [watcher.Source] of the objects of a host's watch. [NewSource] returns one.
type Source struct {
	*reflector.Remote

	host     Host
	resource core.Resource
	watch    abi.Watch
	seen     bool
	current  *atomic.Int64 // the id of the current watch, for all forms; 0 for none
}

// NewSource returns the objects of a resource, in one namespace or in all of them if it is empty. If seen is true, the
// host has the feature [abi.FeatureSeen].
func NewSource(h Host, res core.Resource, namespace string, seen bool) *Source {
	s := &Source{
		host: h, resource: res, seen: seen, current: new(atomic.Int64),
		watch: abi.Watch{
			Group: res.Group, Version: res.Version, Kind: res.Kind, Resource: res.Plural, Namespaced: res.Namespaced,
			Namespace: namespace,
		},
	}
	s.Remote = reflector.NewRemote(s.read)
	return s
}

// Resource returns the resource of the kind.
func (s *Source) Resource() core.Resource { return s.resource }

// Form returns the source with whole objects, or with metadata only.
func (s *Source) Form(metadata bool) watcher.Source {
	form := *s
	form.watch.Projection = abi.ProjectionFull
	if metadata {
		form.watch.Projection = abi.ProjectionMetadata
	}
	return &form
}

var errNoWatch = errors.New("the host has the objects, and its watch is not running")

func (s *Source) read(dst []byte, ref core.ObjectRef, version string) ([]byte, error) {
	id := s.current.Load()
	if id == 0 {
		return dst, errNoWatch
	}
	return s.host.Get(dst, &abi.Get{Watch: id, Namespace: ref.Namespace, Name: ref.Name, ResourceVersion: version})
}

var errUnused = errors.New("the host lists and watches the objects")

// List is not used, because of Events.
func (s *Source) List(context.Context, *request.ListOptions, func(wire.Packed) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{}, errUnused
}

// Watch is not used, because of Events.
func (s *Source) Watch(context.Context, *request.WatchOptions) (iter.Seq2[wire.Event, error], error) {
	return nil, errUnused
}

// Events yields the objects and their changes, see [watcher.Events]. The host recovers from failures of the server; if
// its watch ends, for example because the module has no permission, another one is started after a delay.
func (s *Source) Events(ctx context.Context, o *watcher.Options) iter.Seq2[watcher.Event, error] {
	return watcher.Recover(ctx, s.resource, o, func(ctx context.Context) iter.Seq2[watcher.Event, error] {
		return func(yield func(watcher.Event, error) bool) {
			if err := s.follow(ctx, o, func(ev watcher.Event) bool { return yield(ev, nil) }); err != nil {
				yield(watcher.Event{}, err)
			}
		}
	})
}

// follow yields the events of one watch. It returns nil if the consumer has left its loop.
func (s *Source) follow(ctx context.Context, o *watcher.Options, yield func(watcher.Event) bool) error {
	if o.ShardSelector != "" {
		return &request.InvalidError{Field: "ShardSelector", Detail: "is set, but the watches of a host are not sharded: " +
			"leave it empty"}
	}
	if o.Window != nil {
		return &request.InvalidError{Field: "Window", Detail: "is set, but the watches of a host are not sharded: " +
			"leave Selection.Sharded false"}
	}
	w := s.watch
	w.LabelSelector, w.FieldSelector = o.LabelSelector, o.FieldSelector
	items, err := s.host.Watch(&w)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.resource, err)
	}
	defer items.Close()
	s.current.Store(items.ID())
	defer s.current.CompareAndSwap(items.ID(), 0)
	d := decoder{seen: s.seen}
	for {
		data, flags, err := items.Next(ctx)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			var more bool
			if more, err = d.item(data, flags, yield); err == nil && !more {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("watch %s: %w", s.resource, err)
		}
	}
}
