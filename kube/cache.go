// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// WatchOptions are the options of [Watch]: LabelSelector, FieldSelector, ShardSelector, OmitManagedFields, OnError,
// OnStatus, PageSize, Paged and Timeout. See [watcher.WatchOptions].
type WatchOptions = watcher.WatchOptions

// Watch yields the existing objects of an API as Added, and then their changes, until the context ends. The Object of
// an event of type Bookmark has only a version: Watch yields one after the existing objects, and others later. It
// recovers from failures, which WatchOptions.OnError receives, and also retries a request that the server always
// refuses. See [watcher.Watch].
func Watch[K any, P core.ObjectPtr[K]](
	ctx context.Context, api *API[K], o *WatchOptions,
) iter.Seq2[WatchEvent[K], error] {
	return watcher.Watch[K, P](ctx, api.Feed(), o)
}

// Caches.
type (
	// Cache is a set of shared watches on one server: views of the same resource and [Selection] share one watch.
	// [NewCache] returns one. Methods: Cluster, Watches, Discard. See [cache.Cache].
	Cache = cache.Cache
	// CacheOptions are the options of [NewCache]: Cluster, Compression, Logger, SnapshotDir, Source. See
	// [cache.Options].
	CacheOptions = cache.Options
	// Selection selects the objects of a view: Namespace, LabelSelector, FieldSelector, Sharded. See
	// [cache.Selection].
	Selection = cache.Selection
	// View is one kind of object in a cache. [ViewOf], [MetadataOf] and [ViewOfResource] return one. Methods: Run, Ready,
	// Store, Health, Status, Subscribe, Follow, State, Observe, Concerns, WaitFor, Resource, Cache, Server, Cluster,
	// Selection, On, Shard. See [cache.View].
	View[K any] = cache.View[K]
	// Store has the objects of a view in packed form. Methods: Get, Has, Len, All (with [SelectOptions]), State, Ready,
	// ResourceVersion, Subscribe, Deliver, Follow, Refs, Observe, WaitForVersion, Resource. See [reflector.Store].
	Store[K any] = reflector.Store[K]
	// SelectOptions select objects of a store: Namespace, LabelSelector, Owner. See [reflector.SelectOptions].
	SelectOptions = reflector.SelectOptions
	// Index finds the objects of a store by other values. [IndexBy] returns one. Methods: All, Len. See
	// [reflector.Index].
	Index[K any, T comparable] = reflector.Index[K, T]
)

// NewCache returns a cache of the objects of a server. It starts no watch until a view runs. See [cache.New].
func NewCache(c *Client, o *CacheOptions) *Cache { return cache.New(c, o) }

// ViewOf returns the view of a kind in a cache. Run it, or pass it to a controller, which runs it. See [cache.Of].
func ViewOf[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[K] { return cache.Of[K, P](c, s) }

// MetadataOf returns the view of the metadata of a kind: without other views of the kind, the cache requests and holds
// nothing else. See [cache.MetadataOf].
func MetadataOf[K any, P core.ObjectPtr[K]](c *Cache, s *Selection) *View[metav1.PartialObjectMetadata] {
	return cache.MetadataOf[K, P](c, s)
}

// ViewOfResource returns the view of an explicit resource, for a Go type whose resource is not known, such as
// unstructured.Unstructured. See [cache.OfResource].
func ViewOfResource[K any, P core.ObjectPtr[K]](c *Cache, res Resource, s *Selection) *View[K] {
	return cache.OfResource[K, P](c, res, s)
}

// Decoded returns a view of the same objects that decodes each state once. Its readers share the objects, and must not
// change them. Use it in programs that continuously read most objects. See [cache.Decoded].
func Decoded[K any](v *View[K]) *View[K] { return cache.Decoded(v) }

// IndexBy returns an index of the objects of a view by the values of f, such as the name of the node of a pod. It
// always has the same objects as the view. See [reflector.IndexBy].
func IndexBy[K any, T comparable](v *View[K], f func(*K) []T) *Index[K, T] {
	return reflector.IndexBy(v.Store(), f)
}
