// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/excerpt"
)

const (
	// maxReason is the maximum length of a reason in a position, in bytes. The conditions have the whole text.
	maxReason = 80

	// shards is the number of parts of a positions, each of which has its own lock.
	shards = 16
)

// positions are the positions of the objects that one Run of a controller reconciles. It is a [controller.Totals].
type positions struct {
	seed   maphash.Seed
	gone   func(controller.Key)     // called when an object does not exist
	ended  func()                   // called when the Run has ended
	resume func(owners []any) []any // adds the machine to the owners of the controller
	retire func(owners []any) []any // replaces it by its numbers
	parts  [shards]shard
}

// shard is a part of the positions.
type shard struct {
	mu    sync.Mutex // guards the fields below
	all   map[controller.Key]*entry
	waits map[controller.Key][]reflect.Type // of the values that start a pass, see Send; most objects have none
	over  bool                              // the Run has ended
}

// entry is the position of an object. It is small, since a program may have many.
type entry struct {
	since    int64 // in nanoseconds since 1970
	reason   string
	children []tally // or nil
	visits   int32
	state    int16 // its index, or -1
	how      how
	flags    flags
	unstored bool // the pass could not be stored
}

// tally is the number of child machines in a state.
type tally struct{ group, state, number uint16 }

// flags are properties of a position.
type flags uint8

const (
	suspended flags = 1 << iota
	deleting
	idle
	failed
)

func newPositions(gone func(controller.Key), ended func()) *positions {
	return &positions{seed: maphash.MakeSeed(), gone: gone, ended: ended}
}

func (p *positions) part(key controller.Key) *shard {
	return &p.parts[maphash.String(p.seed, key.Ref.Name)%shards]
}

// put stores the position of an object, and the types of the values that it waits for. A nil *positions stores nothing.
func (p *positions) put(key controller.Key, e entry, waits ...reflect.Type) {
	if p == nil {
		return
	}
	s := p.part(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	old, ok := s.all[key]
	// The strings of a decoded object may be parts of a larger one.
	if ref := key.Ref; !ok || len(waits) > 0 {
		key.Ref = core.ObjectRef{Namespace: unique.Make(ref.Namespace).Value(), Name: strings.Clone(ref.Name)}
	}
	if !ok {
		old = new(entry)
		if s.all == nil {
			s.all = make(map[controller.Key]*entry)
		}
		s.all[key] = old
	}
	if len(waits) == 0 {
		delete(s.waits, key)
	} else {
		if s.waits == nil {
			s.waits = make(map[controller.Key][]reflect.Type)
		}
		s.waits[key] = waits
	}
	reason := old.reason
	if short := excerpt.Of(e.reason, maxReason); short != reason {
		reason = strings.Clone(short)
	}
	if ok && e.unstored && old.state == e.state { // it was entered before this pass
		e.since = old.since
	}
	*old = e
	old.reason = reason
}

// Gone removes the position of an object.
func (p *positions) Gone(key controller.Key) {
	if p == nil {
		return
	}
	p.gone(key)
	s := p.part(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
	delete(s.waits, key)
}

// waits reports whether the state of an object waits for values of a type, and whether the position is known.
func (p *positions) waits(key controller.Key, typ reflect.Type) (waits, known bool) {
	s := p.part(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known = s.all[key]
	return slices.Contains(s.waits[key], typ), known
}

// Left removes the positions of the objects of a cluster.
func (p *positions) Left(cluster string) {
	for i := range p.parts {
		s := &p.parts[i]
		s.mu.Lock()
		for key := range s.all {
			if key.Cluster == cluster {
				delete(s.all, key)
				delete(s.waits, key)
			}
		}
		s.mu.Unlock()
	}
}

// Ended removes all positions.
func (p *positions) Ended() {
	for i := range p.parts {
		s := &p.parts[i]
		s.mu.Lock()
		s.all, s.waits, s.over = nil, nil, true
		s.mu.Unlock()
	}
	p.ended()
}

// Resume adds the machine to the owners of the controller.
func (p *positions) Resume(owners []any) []any { return p.resume(owners) }

// Retire replaces the machine by its numbers.
func (p *positions) Retire(owners []any) []any { return p.retire(owners) }

// each calls f for each position, with a lock.
func (p *positions) each(f func(controller.Key, *entry)) {
	for i := range p.parts {
		s := &p.parts[i]
		s.mu.Lock()
		for key, e := range s.all {
			f(key, e)
		}
		s.mu.Unlock()
	}
}

// copyOf returns a copy of a part, so that no lock is held while the caller uses it.
func (p *positions) copyOf(part int, into []keyed) []keyed {
	s := &p.parts[part]
	s.mu.Lock()
	defer s.mu.Unlock()
	into = slices.Grow(into[:0], len(s.all))
	for key, e := range s.all {
		into = append(into, keyed{key, *e})
	}
	return into
}

type keyed struct {
	key controller.Key
	entry
}

// tables are the positions of all active Runs that use a machine.
type tables struct {
	gone   func(controller.Key)     // called when an object does not exist
	resume func(owners []any) []any // see positions
	retire func(owners []any) []any

	mu  sync.Mutex // guards all
	all []*positions
}

// begin returns the positions of a new Run.
func (t *tables) begin() controller.Tracker {
	var p *positions
	p = newPositions(t.gone, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all = slices.DeleteFunc(t.all, func(o *positions) bool { return o == p })
	})
	p.resume, p.retire = t.resume, t.retire
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, p)
	return p
}

// wait reports whether the state of an object waits for values of a type, or is not known.
func (t *tables) wait(key controller.Key, typ reflect.Type) bool {
	somewhere := false
	for _, p := range t.list() {
		waits, known := p.waits(key, typ)
		if waits {
			return true
		}
		somewhere = somewhere || known
	}
	return !somewhere
}

func (t *tables) list() []*positions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

// entry returns the position of a pass that has ended.
func (w *walk[K]) entry() entry {
	e := entry{
		since: w.position.Since.UnixNano(), state: int16(w.at), visits: max(1, w.position.Visits[w.position.State]),
		how: w.end.how, reason: w.end.reason,
	}
	if w.end.err != nil {
		e.reason = w.end.err.Error()
	}
	if w.deletes {
		e.flags |= deleting
	}
	if w.end.idle {
		e.flags |= idle
	}
	if w.end.failed {
		e.flags |= failed
	}
	for name, child := range w.position.Children {
		e.children = w.machine.countChild(e.children, name, child.State)
	}
	return e
}

// unstored returns the position of a pass whose status could not be written.
func (w *walk[K]) unstored(err error) entry {
	e := w.entry()
	e.how, e.unstored, e.reason = fails, true, err.Error()
	e.flags &^= failed | idle
	return e
}

// countChild counts a child machine.
func (m *Machine[K]) countChild(all []tally, name, state string) []tally {
	group, _, _ := strings.Cut(name, ".")
	for i, g := range m.groups {
		at := g.find(m.renamed(state))
		if g.group != group || at < 0 {
			continue
		}
		for j := range all {
			if all[j].group == uint16(i) && all[j].state == uint16(at) {
				all[j].number++
				return all
			}
		}
		return append(all, tally{uint16(i), uint16(at), 1})
	}
	return all
}

// waits reports whether the object waits or is retried: it is not suspended, and has neither ended nor become idle.
func (e *entry) waits() bool { return e.how != ends && e.how != unset && e.flags&(suspended|idle) == 0 }

// stuck reports whether the object has been in its state for too long.
func (e *entry) stuck(after time.Duration, now time.Time) bool {
	return after > 0 && e.waits() && now.Sub(time.Unix(0, e.since)) >= after
}
