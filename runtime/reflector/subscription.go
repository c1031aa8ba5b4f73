// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"iter"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Change is what has happened to one object since the subscriber was told of it last.
type Change struct {
	// Type is Added, Modified or Deleted. One Bookmark, which is about no object, tells that all that was there when
	// the subscription began was told.
	Type core.EventType

	Ref core.ObjectRef

	// Old is the object as the subscriber was told of it last; nothing (see [wire.Packed.Len]) when it was not, or when
	// it was told of its end. The end of an object comes even when nothing else of it was told; Old is then its last
	// state. When Old and New have different UIDs, the old object was deleted, and New is another of the same name.
	Old wire.Packed

	// New is the object as it is now; nothing when it is deleted.
	New wire.Packed

	// Initial is true for the Added of what was there when the subscription began.
	Initial bool
}

// Subscribe tells what is there, as Added, then a Bookmark, then each change as it comes. When the store has not
// been in step with the server yet, the Bookmark comes when it is. No change that comes while the subscription begins is
// lost or told twice.
//
// The watch does not wait for slow subscribers. Changes of one object that were not told yet become one, from the oldest
// Old to the newest New; so no more changes wait than there are objects. Deletes are always told. Changes of different
// objects come in the order in which the first of each came. The packed objects last, and must not be changed.
//
// The subscription begins when the sequence is ranged over, and ends with the loop. It yields an error only as its last
// pair: the cause of ctx, or the error with which [Reflector.Run] has failed.
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

// subscription is what a subscriber was not told yet. It is changed with the table's lock held: for writing, by whoever
// writes to the table; for reading, by its subscriber, which is one goroutine.
type subscription struct {
	queue   []*pending
	byRef   map[core.ObjectRef]*pending
	synced  bool          // the Bookmark was queued or told
	alerted chan struct{} // holds one token when there is something new
}

// pending is a change that was not told yet. What the object is now is in the table.
type pending struct {
	ref     core.ObjectRef
	old     wire.Packed // what the subscriber knows; the last state if unknown
	unknown bool        // the subscriber was told nothing of the object, which came and went
	initial bool
	synced  bool // it is not about an object: the subscriber was told all that was there
}

// subscribe starts a subscription with all that is there.
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

// offer notes that an object has changed from what it was in the table, nothing when it was not there; gone tells that
// it is there no more.
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

// pop returns the change that came first, nil when there is none.
func (s *subscription) pop() *pending {
	if len(s.queue) == 0 {
		s.queue, s.byRef = nil, nil // a burst leaves no large map behind
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

// alert tells the subscriber that there is something new.
func (s *subscription) alert() {
	select {
	case s.alerted <- struct{}{}:
	default:
	}
}

// next returns the change that a subscriber is to be told of next. Without one it returns false, with an error when
// there never will be one.
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
