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

// ErrNotReady is returned by a store that has not completed its first list. Wait for [Store.Ready].
var ErrNotReady = errors.New("the store is not synced yet")

// Store holds recent states of the objects of one kind. It is packed: it keeps each object as encoded bytes without
// managedFields, and decodes a new object for each read, which the caller may change.
//
// It is safe for concurrent use.
type Store[K any] struct {
	resource core.Resource
	table    *table
	as       func(*K) core.Object
}

// SelectOptions select objects of a store. The zero value of a field is its default.
type SelectOptions struct {
	// Namespace is the namespace of the objects. Default: all namespaces.
	Namespace string
	// LabelSelector is a label selector as in API requests, such as "app=web,tier!=cache". Default: all labels.
	LabelSelector string
}

// Resource returns the resource of the kind.
func (s *Store[K]) Resource() core.Resource { return s.resource }

// Get returns an object.
//
// Errors: [core.ErrNotFound]; [ErrNotReady] if the store does not hold the object and is not synced yet. A ref that is
// invalid for the kind, because it lacks a namespace or has one that it can't have, is another error.
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

// checkRef returns why a ref is invalid for the kind, or nil.
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

// Has reports whether the store holds an object. If it returns false, [Store.Get] returns the reason: the object does
// not exist, the store is not synced yet, or the ref is invalid for the kind.
func (s *Store[K]) Has(ref core.ObjectRef) bool {
	_, ok, _ := s.table.get(ref)
	return ok
}

// Packed returns an object in its packed form, and reports whether the store holds it; see [Store.Has]. The bytes stay
// valid, and must not be changed.
func (s *Store[K]) Packed(ref core.ObjectRef) (wire.Packed, bool) {
	object, ok, _ := s.table.get(ref)
	return object, ok
}

// All iterates over a snapshot of the objects, which is taken when the loop begins. The order is not specified. Each
// object is decoded when it is yielded. Selecting a namespace does not read other namespaces. For an object that can't
// be decoded, the sequence yields an error that names the object, and continues.
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
			if (obj != nil || err != nil) && !yield(obj, err) {
				return
			}
		}
	}
}

// match decodes an object if the selector matches it, and returns nil otherwise.
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

// ResourceVersion returns the resource version that the store has observed. It is empty until the store is synced.
func (s *Store[K]) ResourceVersion() string {
	s.table.mu.RLock()
	defer s.table.mu.RUnlock()
	return s.table.version
}

// Ready waits until the store has been synced once. From then on the store is ready, but its objects may become
// outdated: when the server can't be reached, see [Reflector.Health], or when Run is not running, see
// [Reflector.Ready]. If ctx ends first, the error includes the last error of the reflector.
func (s *Store[K]) Ready(ctx context.Context) error {
	return s.awaitAll(ctx, func() bool { return s.table.ready })
}

// awaitAll waits until cond, which concerns a complete list, is true.
func (s *Store[K]) awaitAll(ctx context.Context, cond func() bool) error {
	if err := s.table.await(ctx, cond); err != nil {
		return fmt.Errorf("wait for all %s: %w", s.resource, err)
	}
	return nil
}

// WaitFor waits until the store has observed a resource version, such as that of the response to a write. Later reads
// are at least as new. Versions are compared as numbers, which Kubernetes 1.35 and later allow for versions of one
// kind; see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
//
// A store that holds only some of the objects does not see changes of the others. It observes those versions through
// bookmarks, which servers send about once a minute.
func (s *Store[K]) WaitFor(ctx context.Context, version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("wait for %s: %w", s.resource, err)
	}
	if err := s.table.await(ctx, func() bool { return s.table.hasSeen(version) }); err != nil {
		return fmt.Errorf("wait for %s at version %s: %w", s.resource, version, err)
	}
	return nil
}

// decode decodes a packed object, and sets the TypeMeta, which servers omit from the items of a list.
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
