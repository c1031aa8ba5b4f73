// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

const (
	// maxFailing is the maximum number of failing objects that a controller remembers.
	maxFailing = 1000
	// maxError is the maximum length of an error that a controller remembers, in bytes.
	maxError = 500
)

// Inspection is the current work of a controller besides its runs, object by object, such as for a debug page.
type Inspection struct {
	// Queue is the numbers of objects that wait for a worker by priority, the highest first.
	Queue []applier.Level

	// Failing is the failing objects, the latest failure first. FailingKeys is the number that the controller remembers,
	// at most 1000.
	Failing     []FailingKey
	FailingKeys int

	// Held is the objects that are held back, see [Options.HoldTimeout]: the longest-held objects first.
	Held []HeldKey
}

// FailingKey is an object whose last run has failed, or has requested another one as soon as the back-off allows.
type FailingKey struct {
	Key      Key
	Err      string    // as it is logged, but at most 500 bytes; empty if the run has not failed
	Failures int       // see [Result].Failures
	Last     time.Time // when the run ended
	Next     time.Time // when the next run begins, unless a change causes one; zero after a [core.Terminal] error
}

// HeldKey is an object that is held back until the sources have observed the writes of its last run.
type HeldKey struct {
	Key    Key
	Writes int           // the number of writes that have not been observed
	Source core.Resource // of the first of them
	Object core.ObjectRef
	Left   time.Duration // until the object is released anyway
}

// Inspect returns what the controller does now. The lists of objects have at most limit elements.
func (c monitor) Inspect(limit int) Inspection {
	current := c.engine.current()
	if current == nil {
		return Inspection{}
	}
	in := Inspection{Queue: current.applier.Queue(), Held: current.heldKeys(limit)}
	in.Failing, in.FailingKeys = current.failing.list(limit)
	return in
}

func (s *session) heldKeys(limit int) (all []HeldKey) {
	feeds := s.roster.Load().feeds()
	for _, h := range s.applier.Held(limit) {
		k := HeldKey{Key: h.Key, Writes: len(h.Writes), Left: h.Left}
		if len(h.Writes) > 0 {
			first := h.Writes[0]
			k.Object = first.Ref
			if i := slices.IndexFunc(feeds, func(f *memberFeed) bool { return f.number == first.Source }); i >= 0 {
				k.Source = feeds[i].feed.Resource()
			}
		}
		all = append(all, k)
	}
	return all
}

// failing is the failing objects of a session. Objects that do not fail cost no memory, and their runs only read the
// number. A nil *failing remembers nothing.
type failing struct {
	has    func(Key) bool // reports whether the cluster of a key belongs to the session
	number atomic.Int64   // of the objects; stored with mu held

	mu  sync.Mutex // guards all
	all map[Key]*FailingKey
}

// note takes note of the result of a run. failures is the number of consecutive failed runs, if it has failed.
func (f *failing) note(r *Result, failures int) {
	if r.Err != nil || r.RetryIn > 0 {
		f.put(r, failures)
	} else {
		f.remove(r.Key)
	}
}

func (f *failing) put(r *Result, failures int) {
	if f == nil {
		return
	}
	k := &FailingKey{Key: r.Key, Failures: failures, Last: time.Now()}
	if r.Err != nil {
		k.Err = strings.Clone(excerpt.Of(r.Err.Error(), maxError)) // it may be a part of a larger string
	}
	next := r.RetryIn
	if timed, ok := errors.AsType[*timedError](r.Err); ok && (next == 0 || timed.within < next) {
		next = timed.within
	}
	if next > 0 {
		k.Next = k.Last.Add(next)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.has(k.Key) { // its cluster has left during the run
		return
	}
	if f.all == nil {
		f.all = make(map[Key]*FailingKey)
	}
	f.all[k.Key] = k
	if len(f.all) > maxFailing {
		for _, o := range f.all {
			if o.Last.Before(k.Last) {
				k = o
			}
		}
		delete(f.all, k.Key)
	}
	f.number.Store(int64(len(f.all)))
}

// remove forgets an object.
func (f *failing) remove(key Key) {
	if f == nil || f.number.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, key)
	f.number.Store(int64(len(f.all)))
}

// left forgets the objects of a cluster.
func (f *failing) left(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.all {
		if key.Cluster == cluster {
			delete(f.all, key)
		}
	}
	f.number.Store(int64(len(f.all)))
}

// list returns the latest objects, and the number of all.
func (f *failing) list(limit int) (all []FailingKey, number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.all {
		all = append(all, *k)
	}
	slices.SortFunc(all, func(a, b FailingKey) int { return b.Last.Compare(a.Last) })
	return all[:min(limit, len(all))], len(all)
}
