// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// quota limits the memory of the shared watches that a module uses. It counts all objects of each of them, once, as if
// no other module used it. So it does not depend on other modules. It is safe for concurrent use.
type quota struct {
	limit int64

	mu     sync.Mutex // guards the fields below, and those of shares and claims
	used   int64
	shares map[*sharedWatch]*share
	over   map[abi.Watch]time.Time // until when a watch that has exceeded the limit is refused
}

// overTime is the time for which a module can't watch again what has exceeded its limit. Each attempt reads objects
// from the API server, up to the limit.
const overTime = 30 * time.Second

// admit returns an error if a watch, which checkWatch has accepted, has exceeded the limit a short time ago.
func (q *quota) admit(w abi.Watch, now time.Time) error {
	w.KeysOnly = false
	q.mu.Lock()
	defer q.mu.Unlock()
	if wait := q.over[w].Sub(now); wait > 0 {
		return q.exceeded(wait)
	}
	return nil
}

// refuse makes admit refuse a watch for a while. The caller holds the mutex of the quota.
func (q *quota) refuse(w abi.Watch, now time.Time) {
	if q.over == nil {
		q.over = make(map[abi.Watch]time.Time)
	}
	maps.DeleteFunc(q.over, func(_ abi.Watch, until time.Time) bool { return !until.After(now) })
	q.over[w] = now.Add(overTime)
}

// exceeded returns the error of a watch that may be tried again after a time.
func (q *quota) exceeded(wait time.Duration) error {
	return &abi.Error{Code: abi.OverLimit, Message: fmt.Sprintf("with this watch, the module needs more than %d bytes of "+
		"the host's cache (Limits.CacheBytes): select fewer objects, or only their metadata with the projection %s; the same "+
		"watch is possible again in %v", q.limit, abi.ProjectionMetadata, wait.Round(time.Second))}
}

// share is a shared watch that a module uses.
type share struct {
	claims int
	bytes  int64 // of its objects
}

// claim is the use of a shared watch by one watch or one controller of a module.
type claim struct {
	quota    *quota
	watch    *sharedWatch
	held     func() int64 // the memory that only this claim needs; nil for none
	exceeded func(error)  // ends the use; it must not block
	own      int64        // the memory of held that is counted
	ended    bool
}

// claim begins the use of a shared watch. The caller passes its size to resize, and calls end. If the module exceeds
// its limit, exceeded is called with the error, and the claim ends.
func (q *quota) claim(w *sharedWatch, held func() int64, exceeded func(error)) *claim {
	c := &claim{quota: q, watch: w, held: held, exceeded: exceeded}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shares == nil {
		q.shares = make(map[*sharedWatch]*share)
	}
	if q.shares[w] == nil {
		q.shares[w] = &share{}
	}
	q.shares[w].claims++
	return c
}

// resize records the size of the objects. It is called with locks of the cache held.
func (c *claim) resize(bytes int64) {
	c.watch.bytes.Store(bytes)
	c.update(func(s *share) {
		c.quota.used += bytes - s.bytes
		s.bytes = bytes
	})
}

// check records the memory that only the claim needs.
func (c *claim) check() { c.update(func(*share) {}) }

func (c *claim) update(count func(*share)) {
	q := c.quota
	q.mu.Lock()
	if c.ended {
		q.mu.Unlock()
		return
	}
	count(q.shares[c.watch])
	if c.held != nil {
		held := c.held()
		q.used += held - c.own
		c.own = held
	}
	over := q.used > q.limit
	if over {
		c.release() // so that the other watches of the module go on
		q.refuse(c.watch.key, time.Now())
	}
	q.mu.Unlock()
	if over {
		c.exceeded(q.exceeded(overTime))
	}
}

// end ends the use. It can be called again.
func (c *claim) end() {
	c.quota.mu.Lock()
	defer c.quota.mu.Unlock()
	c.release()
}

// release ends the use. The caller holds the mutex of the quota.
func (c *claim) release() {
	if c.ended {
		return
	}
	c.ended = true
	q := c.quota
	s := q.shares[c.watch]
	q.used -= c.own
	if s.claims--; s.claims == 0 {
		q.used -= s.bytes
		delete(q.shares, c.watch)
	}
}

// inUse returns the number of bytes in use.
func (q *quota) inUse() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}
