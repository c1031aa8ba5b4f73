// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/runtime/reflector"
)

// goneKeys is the keys whose object was deleted, until a worker has seen that it no longer exists. A nil *goneKeys is
// always empty.
type goneKeys struct {
	mu   sync.Mutex // guards keys
	keys map[Key]types.UID
}

func (g *goneKeys) mark(key Key, uid types.UID) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys == nil {
		g.keys = make(map[Key]types.UID)
	}
	g.keys[key] = uid
}

// take removes the mark of a key; now is the key's current state. If the object does not exist, take returns the UID of
// the deleted one, and reports whether the key was marked. The mark of an object that was deleted after its state was
// read stays for the next run.
func (g *goneKeys) take(key Key, now reflector.State) (uid types.UID, ok bool) {
	if g == nil {
		return "", false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	uid, ok = g.keys[key]
	if ok && now.Exists() {
		if head, err := now.Head(); err != nil || head.UID == uid {
			return "", false
		}
	}
	delete(g.keys, key)
	return uid, ok && !now.Exists()
}

// forget removes the keys of a cluster.
func (g *goneKeys) forget(cluster string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.keys, func(key Key, _ types.UID) bool { return key.Cluster == cluster })
}
