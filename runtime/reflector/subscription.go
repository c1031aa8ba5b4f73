// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"iter"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Change is a change of one object since the last change that the subscriber received for it.
type Change struct {
	// Type is Added, Modified or Deleted, or Bookmark once: it concerns no object, and follows the last of the objects
	// that existed when the subscription began.
	Type core.EventType

	Ref core.ObjectRef

	// Old is the last state of the object that the subscriber received. It is empty (see [wire.Packed.Len]) if the
	// subscriber received none, or if it received the deletion. A deletion is delivered even if the subscriber received
	// no other change of the object; Old is then the last state of the object. If Old and New have different UIDs, the
	// old object was deleted and New is another object with the same name.
	Old wire.Packed

	// New is the current state of the object. It is empty if the object is deleted.
	New wire.Packed

	// Initial is true for the Added changes of the objects that existed when the subscription began.
	Initial bool
}

// Subscribe yields the existing objects as Added, then a Bookmark, then each change as it happens. If the store is not
// synced yet, the Bookmark follows when it is. No change that happens while the subscription begins is lost or
// delivered twice.
//
// A slow subscriber does not delay the watch. Undelivered changes of one object are merged into one, from the oldest
// Old to the newest New, so the number of undelivered changes never exceeds the number of objects. Deletions are always
// delivered. Changes of different objects are delivered in the order of the first undelivered change of each. The
// packed objects stay valid, and must not be changed.
//
// The subscription begins when the caller ranges over the sequence, and ends with the loop. The sequence yields an
// error only as its last pair: the cause of ctx, or the error that [Reflector.Run] returned for an invalid request.
func (s *Store[K]) Subscribe(ctx context.Context) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		sub := s.table.subscribe()
		defer s.table.unsubscribe(sub)
		for {
			if ctx.Err() != nil {
				yield(Change{}, context.Cause(ctx))
				return
			}
			change, ok, err := s.table.next(sub)
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
	queue   []*pending
	byRef   map[core.ObjectRef]*pending
	synced  bool          // the Bookmark was queued or delivered
	alerted chan struct{} // has one token when there are new changes
}

// pending is an undelivered change. The current state of the object is in the table.
type pending struct {
	ref     core.ObjectRef
	old     wire.Packed // the last delivered state, or the last state of all if unknown
	unknown bool        // no state was delivered: the object was created and deleted in the meantime
	initial bool
	synced  bool // it is the Bookmark: all existing objects were delivered
}

// subscribe starts a subscription with all existing objects.
func (t *table) subscribe() *subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &subscription{alerted: make(chan struct{}, 1)}
	if t.count > 0 {
		s.byRef = make(map[core.ObjectRef]*pending, t.count)
		s.queue = make([]*pending, 0, t.count+1)
	}
	for ns, objects := range t.objects {
		for name := range objects {
			s.offer(core.ObjectRef{Namespace: ns, Name: name}, wire.Packed{}, false)
		}
	}
	if t.ready {
		s.markSynced()
	}
	t.subscriptions[s] = struct{}{}
	return s
}

func (t *table) unsubscribe(s *subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subscriptions, s)
}

// offer queues a change of an object. old is its state in the table before the change, or empty if it was not there.
// gone reports that the object was deleted.
func (s *subscription) offer(ref core.ObjectRef, old wire.Packed, gone bool) {
	p, ok := s.byRef[ref]
	switch {
	case !ok:
		p = &pending{ref: ref, old: old, initial: !s.synced}
		if s.byRef == nil {
			s.byRef = make(map[core.ObjectRef]*pending)
		}
		s.byRef[ref] = p
		s.push(p)
	case gone && p.old.Len() == 0:
		p.old, p.unknown = old, true
	case p.unknown:
		p.old, p.unknown = wire.Packed{}, false
	}
}

// markSynced queues the Bookmark.
func (s *subscription) markSynced() {
	s.synced = true
	s.push(&pending{synced: true})
}

func (s *subscription) push(p *pending) {
	s.queue = append(s.queue, p)
	s.alert()
}

// pop returns the oldest undelivered change, or nil.
func (s *subscription) pop() *pending {
	if len(s.queue) == 0 {
		s.queue, s.byRef = nil, nil // so that a burst does not leave a large map behind
		return nil
	}
	p := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	if !p.synced {
		delete(s.byRef, p.ref)
	}
	return p
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
	c := Change{Type: core.Deleted, Ref: p.ref, Old: p.old}
	if e, ok := t.objects[p.ref.Namespace][p.ref.Name]; ok {
		c.New = e.object
		c.Type = core.Modified
		if p.old.Len() == 0 {
			c.Type, c.Initial = core.Added, p.initial
		}
	}
	return c, true, nil
}
