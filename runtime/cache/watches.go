// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/watcher"
)

// Watch is the state of one of the watches of a [Cache], such as for metrics. Views of the same resource and selection
// share a watch.
type Watch struct {
	Resource  core.Resource
	Selection Selection

	Running bool           // a view runs
	Objects int            // the objects that the cache holds
	Status  watcher.Status // of the current run, or of the last one
}

// Watches returns the state of all watches, by resource and selection, including those that have never run.
func (c *Cache) Watches() []Watch {
	all := make([]Watch, 0, 8)
	for _, w := range c.list() {
		all = append(all, Watch{w.resource, w.selection, w.running(), w.objects(), w.reflector.Status()})
	}
	slices.SortFunc(all, func(a, b Watch) int {
		return cmp.Or(
			cmp.Compare(a.Resource.String(), b.Resource.String()), cmp.Compare(a.Resource.Version, b.Resource.Version),
			cmp.Compare(a.Selection.Namespace, b.Selection.Namespace),
			cmp.Compare(a.Selection.LabelSelector, b.Selection.LabelSelector),
			cmp.Compare(a.Selection.FieldSelector, b.Selection.FieldSelector),
		)
	})
	return all
}

// list returns the watches in no order.
func (c *Cache) list() []*watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.watches))
}

// running reports whether a view runs.
func (w *watch) running() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last != nil && w.last.users > 0
}

// objects returns the number of objects.
func (w *watch) objects() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.views {
		return v.(counter).count() // all views have the same objects
	}
	return 0
}

// counter is a [View] of any type.
type counter interface{ count() int }

func (v *View[K]) count() int { return v.store.Len() }
