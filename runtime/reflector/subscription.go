// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Change is a change of one object since the last change that the subscriber received for it.
type Change struct {
	// Type is Added, Modified or Deleted, or Bookmark once: it concerns no object, and follows the last of the objects
	// that existed when the subscription began.
	Type core.EventType

	Ref core.ObjectRef

	// Old is the last state of the object that the subscriber received. It does not exist if the subscriber received none,
	// or if it received the deletion. A deletion is delivered even if the subscriber received no other change of the
	// object; Old is then its last state. If Old and New have different UIDs, the old object was deleted, and New is
	// another object with the same name: also if the subscriber did not receive the old one.
	Old State

	// New is the current state of the object. It does not exist if the object is deleted.
	New State

	// Initial is true for the Added changes of the objects that existed when the subscription began.
	Initial bool
}

// changes yields the changes of the table, see [Store.Subscribe], for readers of a form. The subscription begins when
// the objects have the form.
func (t *table) changes(ctx context.Context, form uint64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := t.awaitForm(ctx, form); err != nil {
			yield(Change{}, err)
			return
		}
		sub := t.subscribe(nil)
		defer t.unsubscribe(sub)
		for {
			if ctx.Err() != nil {
				yield(Change{}, context.Cause(ctx))
				return
			}
			change, ok, err := t.next(sub)
			switch {
			case ok && !yield(change, nil):
				return
			case ok:
			case err != nil:
				yield(Change{}, err)
				return
			default:
				select {
				case <-sub.alerted:
				case <-ctx.Done():
				}
			}
		}
	}
}

// subscription holds the undelivered changes of a subscriber. It is changed with the table's lock held: the write lock
// by writers of the table, the read lock by its subscriber, which is one goroutine.
type subscription struct {
	queue   []*pending // the existing objects, and the Bookmark
	changed []*pending // the objects that changed later, also those that are in queue, too; they take turns with queue
	turn    bool       // the last turn was for changed
	byRef   map[core.ObjectRef]*pending
	loading bool          // not all existing objects are in queue yet, and nothing was delivered
	ready   bool          // the table had all objects when loading began
	synced  bool          // the Bookmark was queued or delivered
	alerted chan struct{} // has one token when there are new changes
	held    *atomic.Int64 // the memory of the undelivered changes, in bytes; nil if nobody needs it
}

// pendingBytes is the memory of an undelivered change besides the old state.
const pendingBytes = 160

// hold counts memory of undelivered changes.
func (s *subscription) hold(bytes int) {
	if s.held != nil {
		s.held.Add(int64(bytes))
	}
}

// pending is an undelivered change. The current state of the object is in the table.
type pending struct {
	ref     core.ObjectRef
	old     wire.Packed // the last delivered state, or the last state of all if unknown
	unknown bool        // old was not delivered: the object was created and deleted in the meantime
	initial bool
	changed bool // it is among the changed ones
	synced  bool // it is the Bookmark: all existing objects were delivered
}

// loadBatch is the number of existing objects that are queued in one critical section. Writers wait for it.
const loadBatch = 1000

// subscribe starts a subscription with all existing objects. held counts the memory of the undelivered changes, unless
// it is nil.
func (t *table) subscribe(held *atomic.Int64) *subscription {
	s := t.beginLoad(held)
	for batch := range slices.Chunk(t.refs(), loadBatch) {
		t.load(s, batch)
	}
	t.endLoad(s)
	return s
}

// beginLoad starts a subscription, which receives changes from now on.
func (t *table) beginLoad(held *atomic.Int64) *subscription {
	s := &subscription{alerted: make(chan struct{}, 1), loading: true, held: held}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.ready = t.ready
	t.subscriptions[s] = struct{}{}
	return s
}

// refs returns the existing objects.
func (t *table) refs() []core.ObjectRef {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]core.ObjectRef, 0, t.count)
	for ns, objects := range t.objects {
		for name := range objects {
			all = append(all, core.ObjectRef{Namespace: ns, Name: name})
		}
	}
	return all
}

// load queues those of the objects that still exist, also if they have changed since loading began.
func (t *table) load(s *subscription, refs []core.ObjectRef) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ref := range refs {
		if t.objects[ref.Namespace][ref.Name] == nil {
			continue
		}
		if s.byRef == nil {
			s.byRef = make(map[core.ObjectRef]*pending)
		}
		p := s.byRef[ref]
		if p == nil {
			p = &pending{ref: ref}
			s.byRef[ref] = p
			s.hold(pendingBytes)
		}
		p.initial = true
		s.queue = append(s.queue, p)
	}
}

// endLoad ends the existing objects of a subscription.
func (t *table) endLoad(s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.loading = false
	if t.ready {
		s.markSynced()
	}
}

func (t *table) unsubscribe(s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subscriptions, s)
	if s.held != nil {
		s.held.Store(0)
	}
}

// offer queues a change of an object. old is its state in the table before the change, or empty if it was not there.
// gone reports that the object was deleted.
func (s *subscription) offer(ref core.ObjectRef, old wire.Packed, gone bool) {
	p, ok := s.byRef[ref]
	if !ok {
		p = &pending{ref: ref, old: old, initial: !s.isLive(), changed: s.isLive()}
		if s.loading { // old was not delivered
			if p.unknown = gone; !gone {
				p.old = wire.Packed{}
			}
		}
		if s.byRef == nil {
			s.byRef = make(map[core.ObjectRef]*pending)
		}
		s.byRef[ref] = p
		s.hold(pendingBytes + p.old.Len())
		s.push(p)
		return
	}
	if p.initial && s.isLive() && !p.changed {
		p.changed = true
		s.push(p)
	}
	if gone && (p.old.Len() == 0 || p.unknown) {
		s.hold(old.Len() - p.old.Len())
		p.old, p.unknown = old, true
	}
}

// markSynced queues the Bookmark, unless endLoad will do it.
func (s *subscription) markSynced() {
	if s.loading {
		return
	}
	s.synced = true
	s.push(&pending{synced: true})
}

// isLive reports whether changes are of objects that were complete before.
func (s *subscription) isLive() bool { return s.synced || s.loading && s.ready }

func (s *subscription) push(p *pending) {
	if s.isLive() && !p.synced {
		s.changed = append(s.changed, p)
	} else {
		s.queue = append(s.queue, p)
	}
	s.alert()
}

// pop returns the next undelivered change, or nil.
func (s *subscription) pop() *pending {
	for len(s.changed)+len(s.queue) > 0 {
		from := &s.queue
		if s.turn = !s.turn; len(s.changed) > 0 && (s.turn || len(s.queue) == 0) {
			from = &s.changed
		}
		p := (*from)[0]
		(*from)[0] = nil
		*from = (*from)[1:]
		switch {
		case p.synced:
			return p
		case s.byRef[p.ref] == p:
			delete(s.byRef, p.ref)
			s.hold(-pendingBytes - p.old.Len())
			return p
		} // otherwise it was delivered from the other list
	}
	s.queue, s.changed, s.byRef = nil, nil, nil // so that a burst does not leave a large map behind
	return nil
}

// alert notifies the subscriber of new changes.
func (s *subscription) alert() {
	select {
	case s.alerted <- struct{}{}:
	default:
	}
}

// next returns the next change for a subscriber. If there is none, it returns false, with an error if there will never
// be one.
func (t *table) next(s *subscription) (Change, bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := s.pop()
	switch {
	case p == nil:
		return Change{}, false, t.failed
	case p.synced:
		return Change{Type: core.Bookmark}, true, nil
	}
	c := Change{Type: core.Deleted, Ref: detached(p.ref), Old: t.past(p.old)}
	if e := t.objects[p.ref.Namespace][p.ref.Name]; e != nil {
		c.New = t.state(e.object)
		c.Type = core.Modified
		if p.old.Len() == 0 {
			c.Type, c.Initial = core.Added, p.initial
		}
	}
	return c, true, nil
}

// detached returns a reference for the readers of a table, who may keep it, such as in a queue. The name in the table
// shares its memory with the object, see [table.pack].
func detached(ref core.ObjectRef) core.ObjectRef {
	ref.Name = strings.Clone(ref.Name)
	return ref
}
