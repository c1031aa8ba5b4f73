// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"

	"github.com/kube-go/sdk/runtime/watcher"
)

// ShardSources divides the objects of views among the replicas of a program. A *sharding.Member is one.
type ShardSources interface {
	// ShardSource returns the shard of this replica for one watch.
	ShardSource() watcher.ShardSource
}

// Shard makes a view with [Selection.Sharded] select the objects that this replica owns, and returns the shard that its
// watch uses. It is the same for all views of the same objects. A controller calls it for its sources. For other
// views, it returns nil and no error.
//
// Errors: by is nil, or the view belongs to another group of replicas.
func (v *View[K]) Shard(by ShardSources) (watcher.ShardSource, error) {
	w := v.watch
	if w.window == nil {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case by == nil:
		return nil, errors.New("Selection.Sharded is set, but nothing divides the objects: use a *sharding.Member")
	case w.windows == nil:
		w.windows = by
		w.window.Set(by.ShardSource())
	case w.windows != by:
		return nil, errors.New("Selection.Sharded: the view has another group of replicas: use a cache for each group")
	}
	return w.window.Source(), nil
}
