// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/runtime/cache"
)

// The limits for keeping watches that no module uses: time, number and total bytes. They are kept so that a module that
// starts again finds its objects. The quotas of modules do not count them.
const (
	keepWatch   = time.Minute
	keepWatches = 64
	keepBytes   = 256 << 20
)

// shared has the watches of the host: one for each resource, selection and projection. It forgets those that no module
// uses.
type shared struct {
	newCache func() *cache.Cache

	mu  sync.Mutex                 // guards all and the fields of its elements
	all map[abi.Watch]*sharedWatch // by what a watch selects
}

// sharedWatch is a cache with one watch.
type sharedWatch struct {
	key    abi.Watch // what it selects
	cache  *cache.Cache
	bytes  atomic.Int64 // of its objects
	users  int
	unused time.Time // since when; valid if there are no users

	running atomic.Int32 // the number of uses that run a view of it
}

func newShared(c *client.Client, o *cache.Options) *shared {
	return &shared{
		newCache: func() *cache.Cache { return cache.New(c, o) },
		all:      make(map[abi.Watch]*sharedWatch),
	}
}

// use returns the shared watch for a watch that checkWatch has accepted, until done is called, once. If keep is false,
// and no other module uses the watch, its objects are released. A projection has a watch of its own: otherwise a module
// that reads only metadata would pay for the objects that another module reads.
func (s *shared) use(key abi.Watch) (w *sharedWatch, done func(keep bool)) {
	key.KeysOnly = false
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(time.Now())
	w = s.all[key]
	if w == nil {
		w = &sharedWatch{key: key, cache: s.newCache()}
		s.all[key] = w
	}
	w.users++
	return w, func(keep bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if w.users--; w.users > 0 {
			return
		}
		now := time.Now()
		if w.unused = now; !keep {
			w.unused = time.Time{}
		}
		s.sweep(now)
	}
}

// sweep forgets watches that nobody uses, and releases their objects: the old ones, and the oldest while there are too
// many. The caller holds s.mu.
func (s *shared) sweep(now time.Time) {
	var unused []abi.Watch
	var bytes int64
	for key, w := range s.all {
		if w.users == 0 {
			unused = append(unused, key)
			bytes += w.bytes.Load()
		}
	}
	slices.SortFunc(unused, func(a, b abi.Watch) int { return s.all[a].unused.Compare(s.all[b].unused) })
	for n, key := range unused {
		w := s.all[key]
		if now.Sub(w.unused) <= keepWatch && len(unused)-n <= keepWatches && bytes <= keepBytes {
			return
		}
		bytes -= w.bytes.Load()
		delete(s.all, key)
		w.cache.Discard()
	}
}
