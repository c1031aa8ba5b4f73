// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
)

// version is one version of the object in ownModel.
type version struct {
	number uint64
	uid    types.UID // empty if the object does not exist
	by     Key       // zero for a write of somebody else
	atomic bool      // its writer knows the version before
}

// ownModel is a server with one object, a feed of it with a slow subscriber, and runs that write it.
type ownModel struct {
	t       *testing.T
	rng     *rand.Rand
	lost    unobserved
	own     ownSteps
	history []version // the first one is of the missing object
	number  uint64

	observed  int                // index in history of the version that the feed has
	delivered int                // index of the version that the subscriber has
	had       map[types.UID]bool // the objects that the feed has had: a subscription may merge their changes
	vanished  types.UID
	changed   bool // there is something to deliver

	unrecorded []ownWrite
	pending    map[Key][]delivered // the causes of the next run
	recognised int                 // the number of changes
	listed     int                 // the index of the newest version at the end of the last list
	listing    uint64              // the version of the current list, or 0
	seen       uint64              // the version that the feed has observed
	uids       int

	written  map[Key]types.UID          // the object that a key has written last and not deleted
	notified map[Key]map[types.UID]bool // the objects of which a key knows that they have gone
}

// delivered is a change that the subscriber has received, between two versions of the history.
type delivered struct {
	step
	from, to int
	vanished bool // the old state is one that the subscriber had not received
}

func (m *ownModel) head() version { return m.history[len(m.history)-1] }

func (m *ownModel) logf(format string, args ...any) { m.t.Logf(format, args...) }

// write makes a write: by a key, or by somebody else if it is zero.
func (m *ownModel) write(by Key) {
	before, next := m.head(), version{by: by}
	m.number += 1 + m.rng.Uint64N(2) // other objects have versions, too
	next.number = m.number
	switch {
	case before.uid == "":
		m.uids++
		next.uid, next.atomic = types.UID(fmt.Sprint("uid-", m.uids)), true
	case m.rng.IntN(4) > 0:
		next.uid, next.atomic = before.uid, m.rng.IntN(3) > 0
	}
	if by != (Key{}) && before.uid != "" && m.rng.IntN(6) == 0 { // writes nothing, and receives the current version
		known := m.rng.IntN(2) == 0
		m.unrecorded = append(m.unrecorded, ownWrite{
			key: by, uid: before.uid, version: before.number, base: before.number, known: known,
		})
		if !known {
			m.written[by] = before.uid
		}
		return
	}
	m.history = append(m.history, next)
	m.logf("version %d: %v by %q, in one step: %v", next.number, next.uid, by.Ref.Name, next.atomic)
	if by == (Key{}) {
		return
	}
	w := ownWrite{key: by, uid: next.uid, version: next.number, known: next.atomic}
	if next.uid == "" {
		w = ownWrite{key: by, uid: before.uid, deleted: true}
		delete(m.written, by)
	} else {
		if before.uid != "" && w.known {
			w.base = before.number
		}
		m.written[by] = next.uid
	}
	m.unrecorded = append(m.unrecorded, w)
}

// record records the oldest write that is not recorded.
func (m *ownModel) record() {
	if len(m.unrecorded) == 0 {
		return
	}
	w := m.unrecorded[0]
	m.unrecorded = m.unrecorded[1:]
	m.logf("record %+v", w)
	m.own.wrote(w, m.seen)
	if m.lost.wrote(w, m.seen) {
		m.check(w)
	}
}

// check is what a controller does with a write that is to be checked.
func (m *ownModel) check(w ownWrite) {
	if m.history[m.observed].uid != w.uid {
		m.notify(w.key, w.uid)
	}
}

func (m *ownModel) notify(key Key, uid types.UID) {
	m.logf("notify %s of %s", key.Ref.Name, uid)
	if m.notified[key] == nil {
		m.notified[key] = make(map[types.UID]bool)
	}
	m.notified[key][uid] = true
}

// observe makes the feed observe the next version.
func (m *ownModel) observe() {
	if m.observed < len(m.history)-1 {
		m.endList()
		m.observed++
		m.seen = m.history[m.observed].number
		m.offer(m.history[m.observed-1].uid, m.history[m.observed].uid)
	}
}

// offer is what a subscription does with a change.
func (m *ownModel) offer(before, after types.UID) {
	m.changed, m.had[after] = true, true
	if before != "" && before != after && (m.history[m.delivered].uid == "" || m.vanished != "") {
		m.vanished = before
	}
}

// list makes the feed list: it skips the versions in between. The list ends in a later step, with its version.
func (m *ownModel) list() {
	before := m.history[m.observed].uid
	if last := len(m.history) - 1; m.observed < last {
		m.observed = last
		if after := m.head().uid; before != "" || after != "" {
			m.offer(before, after)
		}
	}
	m.listing = m.number
	m.logf("list at %d", m.number)
}

// endList ends a list, if there is one.
func (m *ownModel) endList() {
	if m.listing == 0 {
		return
	}
	m.seen, m.listed = m.listing, len(m.history)-1
	m.own.list(m.listing)
	check := m.lost.merge(m.listing)
	m.listing = 0
	for _, w := range check {
		m.check(w)
	}
}

// deliver delivers the pending change.
func (m *ownModel) deliver(keys []Key) {
	if !m.changed {
		return
	}
	from, to := m.history[m.delivered], m.history[m.observed]
	s := step{old: from.number, oldUID: from.uid, new: to.number, newUID: to.uid}
	if from.uid == "" {
		s.old, s.oldUID = 0, m.vanished
		if m.vanished != "" {
			s.old = 1 // any version of it
		}
	}
	if to.uid == "" {
		s.new = 0
	}
	m.logf("deliver %+v", s)
	for _, key := range keys {
		m.pending[key] = append(m.pending[key], delivered{s, m.delivered, m.observed, m.vanished != ""})
		if s.oldUID != "" && s.oldUID != s.newUID {
			m.notify(key, s.oldUID)
		}
	}
	for _, key := range m.lost.changed(core.ObjectRef{}, s) {
		m.notify(key, m.written[key])
	}
	m.delivered, m.vanished, m.changed = m.observed, "", false
}

// take begins a run of a key: all writes of its runs are recorded.
func (m *ownModel) take(key Key) {
	for slices.ContainsFunc(m.unrecorded, func(w ownWrite) bool { return w.key == key }) {
		m.record()
	}
	for _, d := range m.pending[key] {
		between := m.history[d.from+1 : d.to+1]
		foreign := func(v version) bool { return v.by != key }
		recognisable := m.listed <= d.from && m.listing == 0 && len(m.history)-d.from < maxChain && !d.vanished &&
			!slices.ContainsFunc(m.history[d.from+1:], func(v version) bool {
				return foreign(v) || !v.atomic || v.uid != d.newUID
			})
		own := m.own.take(key, core.ObjectRef{}, d.step)
		m.logf("take %+v for %s: %v", d.step, key.Ref.Name, own)
		switch {
		case own && d.newUID == "" && m.remover(d.oldUID) != key:
			m.t.Errorf("the deletion %+v is taken for one of %s", d.step, key.Ref.Name)
		case own && d.newUID != "" && slices.ContainsFunc(between, foreign) && !m.onlyLastIncarnation(d, key):
			m.t.Errorf("the change %+v is taken for one of %s alone", d.step, key.Ref.Name)
		case !own && recognisable:
			m.t.Errorf("the change %+v is not recognised as one of %s alone", d.step, key.Ref.Name)
		case recognisable:
			m.recognised++
		}
	}
	delete(m.pending, key)
}

// remover returns the key that has deleted an object.
func (m *ownModel) remover(uid types.UID) Key {
	last := 0
	for i, v := range m.history {
		if v.uid == uid {
			last = i
		}
	}
	return m.history[last+1].by
}

// onlyLastIncarnation reports whether a key alone has written the object since it was created, and the subscriber has
// not received an object before.
func (m *ownModel) onlyLastIncarnation(d delivered, key Key) bool {
	between := m.history[d.from+1 : d.to+1]
	first := slices.IndexFunc(between, func(v version) bool { return v.uid == d.newUID })
	return m.history[d.from].uid == "" && !d.vanished &&
		!slices.ContainsFunc(between[first:], func(v version) bool { return v.by != key })
}

// TestChangeWithAWriteOfSomebodyElseIsNeverTakenForAnOwnOne also checks that no written object that the feed has never
// had disappears without a notification, and that own changes are recognised.
func TestChangeWithAWriteOfSomebodyElseIsNeverTakenForAnOwnOne(t *testing.T) {
	keys := []Key{{Ref: core.ObjectRef{Name: "a"}}, {Ref: core.ObjectRef{Name: "b"}}}
	recognised := 0
	for seed := range uint64(3000) {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := &ownModel{
				t: t, rng: rand.New(rand.NewPCG(seed, 1)), number: 10, pending: make(map[Key][]delivered),
				history: []version{{number: 10}}, notified: make(map[Key]map[types.UID]bool), written: make(map[Key]types.UID),
				had: make(map[types.UID]bool),
			}
			for range 60 {
				switch m.rng.IntN(14) {
				case 0, 1:
					if seed%3 > 0 || m.rng.IntN(10) == 0 {
						m.write(Key{})
					}
				case 2, 3:
					m.write(keys[0])
				case 4:
					if seed%3 > 0 || m.rng.IntN(10) == 0 {
						m.write(keys[1])
					}
				case 5, 6:
					m.record()
				case 7, 8:
					m.observe()
				case 9, 10:
					m.deliver(keys)
				case 11:
					m.take(keys[0])
				case 12:
					m.take(keys[1])
				case 13:
					m.endList()
					if m.rng.IntN(3) == 0 {
						m.list()
					}
				}
			}
			for len(m.unrecorded) > 0 {
				m.record()
			}
			m.endList()
			m.list()
			m.deliver(keys)
			m.endList()
			for key, uid := range m.written {
				if uid != m.head().uid && !m.had[uid] && !m.notified[key][uid] {
					t.Errorf("%s is not notified that %s has gone", key.Ref.Name, uid)
				}
			}
			if n := len(m.own.byRef) + len(m.lost.byRef); n > 0 {
				t.Errorf("%d objects are remembered after a list", n)
			}
			recognised += m.recognised
		})
		if !ok {
			return
		}
	}
	if recognised < 100 {
		t.Errorf("%d changes were recognised, too few for a test", recognised)
	}
}

// creation returns the creation of an object by a run.
func creation(i uint64) ownWrite {
	return ownWrite{
		ref: core.ObjectRef{Name: fmt.Sprint(i)}, uid: types.UID(fmt.Sprint(i)), known: true, version: i + 1,
	}
}

// TestMemoryForOwnWritesIsBounded records writes whose changes cause no run, so that nothing else removes them.
func TestMemoryForOwnWritesIsBounded(t *testing.T) {
	var o ownSteps
	for i := range uint64(20 * minPruned) {
		w := ownWrite{ref: core.ObjectRef{Name: fmt.Sprint(i)}, uid: types.UID(fmt.Sprint(i)), version: i + 1, deleted: i%2 == 0}
		o.wrote(w, i+1)
		if n := len(o.byRef); n > minPruned {
			t.Fatalf("%d objects are remembered", n)
		}
	}
	var behind ownSteps // of a feed that observes nothing
	for i := range uint64(maxUnobserved + 10) {
		behind.wrote(creation(i), 0)
	}
	if n := len(behind.byRef); n != maxUnobserved {
		t.Errorf("%d objects are remembered for a feed that observes nothing, want at most %d", n, maxUnobserved)
	}
	last := creation(maxUnobserved + 9)
	if !behind.take(last.key, last.ref, step{new: last.version, newUID: last.uid}) {
		t.Error("the last write is not recognized, want that an earlier one is forgotten")
	}
	var u unobserved
	for i := range uint64(20 * minPruned) {
		u.wrote(ownWrite{ref: core.ObjectRef{Name: fmt.Sprint(i)}, version: i + 1}, 0)
	}
	if n := len(u.merge(1 << 60)); n != 20*minPruned {
		t.Errorf("%d of the writes that the feed has not observed are remembered, want all", n)
	}
	for i := range uint64(maxUnobserved + 10) {
		u.wrote(ownWrite{ref: core.ObjectRef{Name: fmt.Sprint(i)}, version: i + 1<<61}, 0)
	}
	if n := len(u.byRef); n != maxUnobserved {
		t.Errorf("%d writes are remembered, want at most %d", n, maxUnobserved)
	}
}
