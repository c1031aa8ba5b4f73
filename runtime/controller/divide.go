// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/watcher"
)

// divided is the [Shards] of views with [cache.Selection] Sharded. Its windows are Shards.
type divided interface {
	cache.Shards
	ByNamespace() bool // all objects of a namespace have the same owner
}

// divisible is a feed that may have only the objects of this replica, such as a [cache.View].
type divisible interface {
	Shard(by cache.Shards) (watcher.Shards, error)
}

// Mistakes in the selections of views.
var (
	errSomeSharded = errors.New("Selection.Sharded is set for some views of the reconciled kind: set it for all of " +
		"them, or for none")
	errSecondarySharded = errors.New("Selection.Sharded is set for objects that are not reconciled, and that are not in " +
		"the shard of the object that they concern: leave it out, or set ByNamespace of sharding.Options")
	errPrimaryWhole = errors.New("Selection.Sharded is set, but not for the reconciled kind: set it there, too")
	errNoWindow     = errors.New("Selection.Sharded is set, but the controller is sharded by something that can't " +
		"divide views: use a *sharding.Member")
)

// divide makes the sharded views of a member have only the objects of this replica, and returns their windows.
func divide(m *member, by Shards) (windows []Shards, err error) {
	var shards cache.Shards
	d, able := by.(divided)
	if able {
		shards = d
	}
	for i, f := range m.feeds {
		view, ok := f.feed.(divisible)
		var window watcher.Shards
		if ok {
			if window, err = view.Shard(shards); err != nil {
				return nil, f.failed(err)
			}
		}
		primary := i < m.primary
		if primary && i > 0 && (window != nil) != (len(windows) > 0) {
			return nil, f.failed(errSomeSharded)
		}
		if window == nil {
			continue
		}
		one, ok := window.(Shards)
		switch {
		case !able || !ok:
			return nil, f.failed(errNoWindow)
		case !primary && !d.ByNamespace():
			return nil, f.failed(errSecondarySharded)
		case !primary && len(windows) == 0:
			return nil, f.failed(errPrimaryWhole)
		}
		if err := checkNamespaced(f.feed.Resource(), m.feeds[0].feed.Resource(), primary); err != nil {
			return nil, f.failed(err)
		}
		if !slices.Contains(windows, one) {
			windows = append(windows, one)
		}
	}
	return windows, nil
}

// checkNamespaced returns an error if the objects of a source that is divided by namespace always concern objects of
// another one.
func checkNamespaced(res, reconciled core.Resource, primary bool) error {
	if primary || res.Namespaced && reconciled.Namespaced {
		return nil
	}
	if reconciled.Namespaced {
		reconciled = res
	}
	return fmt.Errorf("Selection.Sharded divides the objects by namespace, and %s are cluster-scoped: leave it out",
		reconciled)
}
