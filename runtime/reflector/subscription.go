// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"hash/maphash"
	"iter"
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

	// Merged is true for a Modified change that consists of several ones: readers of the store may have found a state
	// between Old and New. So something may have to be done even if New does not differ from Old.
	Merged bool

	// Between is the states that the store had between Old and New, oldest first, at most the newest 8. Only the changes
	// of [Store.Subscribe] have them: [Store.Follow] does not merge, and a host does not send them to a module.
	Between []State
}

// changes yields the changes of the table, see [Store.Subscribe], for readers of a form. The subscription begins when
// the objects have the form.
func (t *table) changes(ctx context.Context, form uint64) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := t.awaitForm(ctx, form); err != nil {
			yield(Change{}, err)
			return
		}
		sub := t.subscribe(subscription{keeps: true})
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
//
// The existing objects are queued in batches, each when the one before was delivered. So the first one is delivered
// soon, and changes that follow do not wait until a large table is queued.
type subscription struct {
	queue   []*pending // the existing objects, and the Bookmark
	changed []*pending // the objects that changed later, also those that are in queue, too; they take turns with queue
	turn    bool       // the last turn was for changed
	byRef   map[core.ObjectRef]*pending
	loading bool                        // not all existing objects were queued
	batches int                         // of the existing objects; 0 if they are not known yet
	later   [][]core.ObjectRef          // the batches that were not queued; the last one is next
	early   map[core.ObjectRef]struct{} // objects that were delivered before their batch was queued
	ready   bool                        // the table had all objects when loading began
	synced  bool                        // the Bookmark was queued or delivered
	alerted chan struct{}               // has one token when there are new changes
	keeps   bool                        // changes have the states between
	held    *atomic.Int64               // the memory of the undelivered changes, in bytes; nil if nobody needs it
}

// maxBetween is the maximum number of states that an undelivered change has between its old and its new one.
const maxBetween = 8

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
	merged  bool // it is several changes
	synced  bool // it is the Bookmark: all existing objects were delivered

	between []wire.Packed // the states between
}

// loadBatch is the number of existing objects that are queued in one critical section. Writers wait for it.
const loadBatch = 1000

// subscribe starts a subscription with all existing objects, and with the fields keeps and held of the given one.
func (t *table) subscribe(with subscription) *subscription { return t.subscribeIn(loadBatch, with) }

// subscribeIn is subscribe with about batch objects in each batch.
func (t *table) subscribeIn(batch int, with subscription) *subscription {
	s := &subscription{alerted: make(chan struct{}, 1), loading: true, held: with.held, keeps: with.keeps}
	t.mu.Lock()
	s.ready = t.ready
	t.subscriptions[s] = struct{}{} // it receives changes from now on
	t.mu.Unlock()
	refs := t.refs()
	batches := make([][]core.ObjectRef, len(refs)/batch+1)
	for _, ref := range refs {
		i := t.batchOf(ref, len(batches))
		if batches[i] == nil {
			batches[i] = make([]core.ObjectRef, 0, len(refs)/len(batches)*9/8) // enough for most of them
		}
		batches[i] = append(batches[i], ref)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.batches, s.later = len(batches), batches
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

// batchOf returns the batch of an object, of a number of batches.
func (t *table) batchOf(ref core.ObjectRef, batches int) int {
	hash := maphash.String(t.seed, ref.Namespace)*31 + maphash.String(t.seed, ref.Name)
	return int(hash % uint64(batches))
}

// load queues the next batch: those of its objects that still exist, also if they have changed since loading began.
// After the last one, it ends the existing objects.
func (t *table) load(s *subscription) {
	last := len(s.later) - 1
	batch := s.later[last]
	s.later[last] = nil
	s.later = s.later[:last]
	if s.byRef == nil {
		s.byRef = make(map[core.ObjectRef]*pending, len(batch))
	}
	s.queue = make([]*pending, 0, len(batch)+1)
	for _, ref := range batch {
		if _, ok := s.early[ref]; ok || t.objects[ref.Namespace][ref.Name] == nil {
			delete(s.early, ref)
			continue
		}
		p := s.byRef[ref]
		if p == nil {
			p = &pending{ref: ref}
			s.byRef[ref] = p
			s.hold(pendingBytes)
		}
		p.initial = true
		s.queue = append(s.queue, p) // before the Bookmark, also if it has changed
	}
	if last > 0 {
		return
	}
	s.loading, s.early = false, nil
	if t.ready {
		s.markSynced()
	}
}

// isReceived reports whether the current state of an object was delivered. The object must have no undelivered change.
func (t *table) isReceived(s *subscription, ref core.ObjectRef) bool {
	if !s.loading || s.batches > 0 && t.batchOf(ref, s.batches) >= len(s.later) {
		return true
	}
	_, ok := s.early[ref]
	return ok
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
func (t *table) offer(s *subscription, ref core.ObjectRef, old wire.Packed, c change) {
	p, between := s.byRef[ref], old // between is a state that the subscriber will not receive as the old or the new one
	if p == nil {
		p, between = &pending{ref: ref, old: old, initial: !s.isLive(), changed: s.isLive(), merged: c.merged}, wire.Packed{}
		if !t.isReceived(s, ref) {
			p.initial = p.initial || old.Len() > 0
			if p.unknown = c.gone; !c.gone {
				p.old, between = between, old
			}
		}
		if s.byRef == nil {
			s.byRef = make(map[core.ObjectRef]*pending)
		}
		s.byRef[ref] = p
		s.hold(pendingBytes + p.old.Len())
		s.push(p)
	} else {
		p.merged = true
		if p.initial && s.isLive() && !p.changed {
			p.changed = true
			s.push(p)
		}
		if c.gone && (p.old.Len() == 0 || p.unknown) {
			s.hold(old.Len() - p.old.Len())
			p.old, p.unknown, between = old, true, p.old
		}
	}
	s.keep(p, between)
}

// keep adds a state to those between the old and the new one, if it exists.
func (s *subscription) keep(p *pending, state wire.Packed) {
	if !s.keeps || state.Len() == 0 {
		return
	}
	if len(p.between) == maxBetween {
		p.between = p.between[:copy(p.between, p.between[1:])]
	}
	p.between = append(p.between, state)
}

// markSynced queues the Bookmark, unless load will do it.
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
func (t *table) pop(s *subscription) *pending {
	for {
		for s.loading && s.batches > 0 && len(s.queue) == 0 {
			t.load(s)
		}
		if len(s.changed)+len(s.queue) == 0 {
			s.queue, s.changed, s.byRef = nil, nil, nil // so that a burst does not leave a large map behind
			return nil
		}
		from := &s.queue
		if s.turn = !s.turn; len(s.changed) > 0 && (s.turn || len(s.queue) == 0) {
			from = &s.changed
		}
		p := (*from)[0]
		(*from)[0] = nil
		*from = (*from)[1:]
		if p.synced {
			return p
		}
		if s.byRef[p.ref] != p {
			continue // it was delivered from the other list
		}
		if !t.isReceived(s, p.ref) {
			if s.early == nil {
				s.early = make(map[core.ObjectRef]struct{})
			}
			s.early[p.ref] = struct{}{}
		}
		delete(s.byRef, p.ref)
		s.hold(-pendingBytes - p.old.Len())
		return p
	}
}

// alert notifies the subscriber of new changes.
func (s *subscription) alert() {
	select {
	case s.alerted <- struct{}{}:
	default:
	}
}

// next returns the next change for a subscriber. Without one, it returns false, with an error if there will never
// be one.
func (t *table) next(s *subscription) (Change, bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	p := t.pop(s)
	switch {
	case p == nil:
		return Change{}, false, t.failed
	case p.synced:
		return Change{Type: core.Bookmark}, true, nil
	}
	c := Change{Type: core.Deleted, Ref: detached(p.ref), Old: t.past(p.old)}
	if e := t.objects[p.ref.Namespace][p.ref.Name]; e != nil {
		c.New = t.state(e.object)
		c.Type, c.Merged = core.Modified, p.merged
		if p.old.Len() == 0 || p.unknown && t.isOf(e, c.Old) {
			if p.unknown {
				s.keep(p, p.old)
			}
			c.Type, c.Initial, c.Merged, c.Old = core.Added, p.initial, false, State{}
		}
	}
	for _, state := range p.between {
		c.Between = append(c.Between, t.past(state))
	}
	return c, true, nil
}

// isOf reports whether a state is one of the object of an entry, and not of another object with the same name.
func (t *table) isOf(e *entry, s State) bool {
	head, err := s.Head()
	return err == nil && maphash.String(t.seed, string(head.UID)) == e.uid
}

// detached returns a reference for the readers of a table, who may keep it, such as in a queue. The name in the table
// shares its memory with the object, see [table.pack].
func detached(ref core.ObjectRef) core.ObjectRef {
	ref.Name = strings.Clone(ref.Name)
	return ref
}
