// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/runtime/cache"
)

// How long, and how many, watches that no module uses are kept, so that a module that starts again finds its objects.
const (
	keepWatch   = time.Minute
	keepWatches = 64
)

// shared has the watches of the host: one for each resource and selection. It forgets those that no module uses.
type shared struct {
	newCache func() *cache.Cache

	mu  sync.Mutex                 // guards all and the fields of its elements
	all map[abi.Watch]*sharedWatch // by what a watch selects
}

// sharedWatch is a cache with one watch.
type sharedWatch struct {
	cache  *cache.Cache
	users  int
	unused time.Time // since when; valid if there are no users
}

func newShared(c *client.Client, o *cache.Options) *shared {
	return &shared{
		newCache: func() *cache.Cache { return cache.New(c, o) },
		all:      make(map[abi.Watch]*sharedWatch),
	}
}

// use returns the cache for a watch, until done is called. All projections share it.
func (s *shared) use(key abi.Watch) (c *cache.Cache, done func()) {
	key.Projection, key.KeysOnly = "", false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(time.Now())
	w := s.all[key]
	if w == nil {
		w = &sharedWatch{cache: s.newCache()}
		s.all[key] = w
	}
	w.users++
	return w.cache, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.users--; w.users == 0 {
			w.unused = time.Now()
			s.sweep(w.unused)
		}
	})
}

// sweep forgets watches that nobody uses. The caller holds s.mu.
func (s *shared) sweep(now time.Time) {
	unused := 0
	var oldest abi.Watch
	for key, w := range s.all {
		switch {
		case w.users > 0:
			continue
		case now.Sub(w.unused) > keepWatch:
			delete(s.all, key)
			continue
		}
		if unused == 0 || w.unused.Before(s.all[oldest].unused) {
			oldest = key
		}
		unused++
	}
	if unused > keepWatches {
		delete(s.all, oldest)
	}
}
