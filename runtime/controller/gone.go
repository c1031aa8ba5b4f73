// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"sync"
)

// goneKeys is the keys whose object was deleted, until a worker has seen that it no longer exists. A nil *goneKeys is
// always empty.
type goneKeys struct {
	mu   sync.Mutex // guards keys
	keys map[Key]struct{}
}

func (g *goneKeys) mark(key Key) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys == nil {
		g.keys = make(map[Key]struct{})
	}
	g.keys[key] = struct{}{}
}

// take removes a key, and reports whether it was marked.
func (g *goneKeys) take(key Key) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.keys[key]
	delete(g.keys, key)
	return ok
}

// forget removes the keys of a cluster.
func (g *goneKeys) forget(cluster string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.keys, func(key Key, _ struct{}) bool { return key.Cluster == cluster })
}
