// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/internal/kinds"
)

// ErrNotReady is returned when a store does not know yet what there is. Wait for [Store.Ready].
var ErrNotReady = errors.New("the store is not in step with the server yet")

// Store holds the objects of one kind as they were on the server a moment ago. It is packed: it keeps each object's own
// bytes without managedFields, and decodes a fresh object for whoever reads it, which is then the reader's own.
//
// It is safe for concurrent use.
type Store[K any] struct {
	resource core.Resource
	table    *table
	as       func(*K) core.Object
}

// SelectOptions say which objects of a store are wanted. The zero value of a field is its default.
type SelectOptions struct {
	// Namespace is where the objects are. Default: everywhere.
	Namespace string
	// LabelSelector is written as for the server, such as "app=web,tier!=cache". Default: all labels.
	LabelSelector string
}

// Resource returns what the kind is called on the wire.
func (s *Store[K]) Resource() core.Resource { return s.resource }

// Get returns an object.
//
// Errors: [core.ErrNotFound]; [ErrNotReady] when the store does not hold the object, but has not been synced yet. A ref
// that can't be one of the kind, because it lacks the namespace or has one that the kind does not have, is another error.
func (s *Store[K]) Get(ref core.ObjectRef) (*K, error) {
	object, ok, ready := s.table.get(ref)
	if ok {
		return s.decode(object)
	}
	err := s.checkRef(ref)
	switch {
	case err != nil:
	case ready:
		err = core.ErrNotFound
	default:
		err = ErrNotReady
	}
	return nil, fmt.Errorf("%s %s: %w", s.resource, ref, err)
}

// checkRef returns why a ref can't be one of the kind.
func (s *Store[K]) checkRef(ref core.ObjectRef) error {
	switch {
	case ref.Name == "":
		return errors.New("the name is empty: set ObjectRef.Name")
	case ref.Namespace == "" && s.resource.Namespaced:
		return fmt.Errorf("the namespace is empty: set ObjectRef.Namespace, because %s live in namespaces", s.resource)
	case ref.Namespace != "" && !s.resource.Namespaced:
		return fmt.Errorf("the namespace is %q: leave ObjectRef.Namespace empty, because %s are cluster-scoped",
			ref.Namespace, s.resource)
	}
	return nil
}

// Has reports whether the store holds an object. It does not say why not: [Store.Get] tells an object that does not exist
// from a store that is not synced yet and from a ref that can't be one of the kind.
func (s *Store[K]) Has(ref core.ObjectRef) bool {
	_, ok, _ := s.table.get(ref)
	return ok
}

// Packed returns an object as the store holds it, and whether it does, see [Store.Has]. The bytes last, and must not be
// changed.
func (s *Store[K]) Packed(ref core.ObjectRef) (wire.Packed, bool) {
	object, ok, _ := s.table.get(ref)
	return object, ok
}

// All iterates over the objects in no particular order, as they were all together when the loop began. Each is decoded
// when its turn comes. A namespace is read without looking at others. An object that can't be decoded ends the
// sequence with an error that names it.
//
// Errors: [ErrNotReady].
func (s *Store[K]) All(o *SelectOptions) iter.Seq2[*K, error] {
	var opts SelectOptions
	if o != nil {
		opts = *o
	}
	return func(yield func(*K, error) bool) {
		selector, err := labels.Parse(opts.LabelSelector)
		if err != nil {
			yield(nil, fmt.Errorf("select %s: %w", s.resource, err))
			return
		}
		if opts.Namespace != "" && !s.resource.Namespaced {
			yield(nil, fmt.Errorf("select %s: the namespace is %q: leave SelectOptions.Namespace empty, because they are "+
				"cluster-scoped", s.resource, opts.Namespace))
			return
		}
		objects, ready := s.table.snapshot(opts.Namespace)
		if !ready {
			yield(nil, fmt.Errorf("%s: %w", s.resource, ErrNotReady))
			return
		}
		for _, object := range objects {
			obj, err := s.match(object, selector)
			if err != nil {
				yield(nil, err)
				return
			}
			if obj != nil && !yield(obj, nil) {
				return
			}
		}
	}
}

// match decodes an object if it is selected.
func (s *Store[K]) match(object wire.Packed, selector labels.Selector) (*K, error) {
	if !selector.Empty() {
		meta, err := object.Metadata()
		if err != nil {
			return nil, s.decodeError(object, err)
		}
		if !selector.Matches(labels.Set(meta.Labels)) {
			return nil, nil
		}
	}
	return s.decode(object)
}

// Len returns the number of objects.
func (s *Store[K]) Len() int {
	s.table.mu.RLock()
	defer s.table.mu.RUnlock()
	return s.table.count
}

// ResourceVersion returns the version that the store has come to; empty when it has not been in step yet.
func (s *Store[K]) ResourceVersion() string {
	s.table.mu.RLock()
	defer s.table.mu.RUnlock()
	return s.table.version
}

// Ready waits until the store has been in step with the server once. It then stays ready; what it has may become old
// when the server can't be reached, see [Reflector.Health], or when nothing runs, see [Reflector.Ready]. The error says
// what the trouble was.
func (s *Store[K]) Ready(ctx context.Context) error {
	return s.awaitAll(ctx, func() bool { return s.table.ready })
}

// awaitAll waits until cond, which is about a list that has come to its end, is true.
func (s *Store[K]) awaitAll(ctx context.Context, cond func() bool) error {
	if err := s.table.await(ctx, cond); err != nil {
		return fmt.Errorf("wait for all %s: %w", s.resource, err)
	}
	return nil
}

// WaitFor waits until the store has seen a version, such as that of the answer to a write: what is read afterwards is at
// least as new. Versions are compared as numbers, which Kubernetes 1.35 and later allow for one kind, see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
//
// When the store holds only some of the objects, it does not see the others change; it then learns of their versions
// from bookmarks, which servers send about once a minute.
func (s *Store[K]) WaitFor(ctx context.Context, version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("wait for %s: %w", s.resource, err)
	}
	if err := s.table.await(ctx, func() bool { return s.table.hasSeen(version) }); err != nil {
		return fmt.Errorf("wait for %s at version %s: %w", s.resource, version, err)
	}
	return nil
}

// decode makes an object of its packed form, and fills in the TypeMeta that the server leaves out.
func (s *Store[K]) decode(object wire.Packed) (*K, error) {
	obj := new(K)
	o := s.as(obj)
	if err := object.Decode(o); err != nil {
		return nil, s.decodeError(object, err)
	}
	kinds.Complete(o, s.resource)
	return obj, nil
}

func (s *Store[K]) decodeError(object wire.Packed, err error) error {
	head, _ := object.Head()
	return fmt.Errorf("%s %s: %w", s.resource, head.Ref, err)
}
