// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// state is a member's knowledge of its group, for one term.
type state struct {
	self          member
	group         string        // the UID of the object with the table
	leaseDuration time.Duration // for leases that have disappeared
	poll          time.Duration // the time between lists, on average
	patience      time.Duration // in which a member that stops gives everything away

	listed  bool   // table and version are known
	fresh   bool   // nothing is known that makes the version out of date
	version string // the resource version of the object with the table
	table   table

	peers   map[string]peer // the leases of other members, by UID; immutable
	dead    []string        // members whose terms have ended, and can't continue
	strange bool            // a member of another object with a table may be active

	granted slots  // the slots in which work may begin while the term lasts
	given   slots  // the slots that a write gives to others whose outcome is unknown
	base    string // the version that this write replaces

	stopping bool      // the work has ended: give away everything
	deadline time.Time // of that; later if work in a slot has not ended
	resume   time.Time // the next list is sent at this time
}

// peer is the lease of another member.
type peer struct {
	lease lease
	since time.Time // when it was first observed like this, or missing
	gone  bool      // it does not exist
}

// lease is the lease of a member, as it was listed.
type lease struct {
	name, uid, version string
	duration           time.Duration
	group              string // the UID of the object with the table that the member has joined
}

// input is an event: the response to a request, a time, or the end of the work.
type input struct {
	kind   inputKind
	now    time.Time
	jitter float64 // random, from 0 to 1
	busy   slots   // in which work has not ended, at most those of now

	group   string  // of listed: the UID of the object with the table, or empty
	version string  // of listed and written
	table   table   // of listed and written
	leases  []lease // of listed
	uid     string  // of deleted
}

type inputKind int

const (
	tick     inputKind = iota // time has passed, or work has ended
	listed                    // the table and the leases were read, at one resource version
	written                   // the table was written
	deleted                   // the lease of another member was deleted
	conflict                  // a request had no effect, because something has changed
	failed                    // a request failed, and its outcome is unknown
	stop                      // all work has ended
)

// action is the next thing to do.
type action struct {
	kind  actionKind
	table table     // of write
	lease lease     // of remove
	loss  loss      // of lost
	until time.Time // of wait
}

type actionKind int

const (
	wait   actionKind = iota // until a time, or until work has ended in a slot that is not granted
	list                     // the table and the leases
	write                    // the table, if it still has the known version
	remove                   // a lease, if it still has its UID and version
	lost                     // the term is over
	done                     // nothing is owned: end
	late                     // the slots could not be given away in time: end
)

// loss is why a term is lost although its lease is renewed.
type loss int

const (
	notLost loss = iota
	tableDeleted
	tableReplaced
	tableRestored
	leaseDeleted
)

// describe returns the reason of a loss, with the names of the leases.
func (l loss) describe(table, own string) string {
	switch l {
	case tableDeleted:
		return fmt.Sprintf("somebody has deleted the lease %s, or removed its label", table)
	case tableReplaced:
		return fmt.Sprintf("somebody has replaced the lease %s", table)
	case tableRestored:
		return fmt.Sprintf("somebody has restored or edited the lease %s", table)
	case leaseDeleted:
		return fmt.Sprintf("somebody has deleted the lease %s of this replica, or removed its label", own)
	case notLost:
	}
	return ""
}

// step applies an input and decides the next action. Requests are sent one at a time.
func (s state) step(in input) (state, action) {
	switch in.kind {
	case listed:
		if l := s.lossOf(in); l != notLost {
			return s.end(), action{kind: lost, loss: l}
		}
		s = s.observe(in)
		s.resume = in.now.Add(time.Duration((0.8 + 0.4*in.jitter) * float64(s.poll)))
	case written:
		s.table, s.version, s.given = in.table, in.version, slots{}
	case deleted:
		s.dead = append(slices.Clip(s.dead), in.uid)
		s.peers = maps.Clone(s.peers)
		delete(s.peers, in.uid)
	case conflict:
		s.fresh, s.resume = false, in.now.Add(s.poll/10)
	case failed:
		s.fresh, s.resume = false, in.now.Add(s.poll)
	case stop:
		if !s.stopping {
			s.stopping, s.deadline = true, in.now.Add(s.patience)
		}
	case tick:
	}
	return s.decide(in)
}

// end returns the state after the end of the term.
func (s state) end() state {
	s.granted, s.listed, s.fresh = slots{}, false, false
	return s
}

// lossOf returns how somebody has deleted, replaced or restored the object with the table or the own lease, so that
// other members may own the slots of this one soon, or notLost. While its lease exists, only this member takes slots
// away from itself.
func (s state) lossOf(in input) loss {
	own := s.table.of(s.self.uid).without(s.given)
	switch {
	case in.group == "":
		return tableDeleted
	case in.group != s.group:
		return tableReplaced
	case !slices.ContainsFunc(in.leases, func(l lease) bool { return l.uid == s.self.uid }):
		return leaseDeleted
	case s.listed && (in.table.generation < s.table.generation || own.without(in.table.of(s.self.uid)) != slots{}):
		return tableRestored
	}
	return notLost
}

// observe takes note of a list.
func (s state) observe(in input) state {
	if in.version != s.base {
		s.given = slots{} // the write has succeeded, or never will
	}
	s.listed, s.fresh, s.version, s.table = true, true, in.version, in.table
	peers := make(map[string]peer)
	s.strange = false
	for _, l := range in.leases {
		if l.uid == s.self.uid {
			continue
		}
		p, known := s.peers[l.uid]
		if !known || p.lease != l {
			p = peer{l, in.now, false}
		}
		peers[l.uid] = p
		s.strange = s.strange || l.group != s.group
	}
	for _, m := range in.table.members {
		if _, exists := peers[m.uid]; exists || m.uid == s.self.uid {
			continue
		}
		p, known := s.peers[m.uid]
		if !known || !p.gone {
			p = peer{lease{uid: m.uid, duration: max(p.lease.duration, s.leaseDuration)}, in.now, true}
		}
		peers[m.uid] = p
	}
	s.peers = peers
	s.dead = slices.DeleteFunc(slices.Clone(s.dead), func(uid string) bool { return in.table.index(uid) < 0 })
	return s
}

// decide updates the granted slots, and returns the next action.
func (s state) decide(in input) (state, action) {
	switch {
	case !s.stopping:
	case in.busy != slots{}:
		s.deadline = in.now.Add(s.patience)
	case !in.now.Before(s.deadline):
		return s.end(), action{kind: late}
	}
	if !s.listed {
		return s.read(in.now)
	}
	for _, uid := range slices.Sorted(maps.Keys(s.peers)) {
		if p := s.peers[uid]; p.gone && in.now.Sub(p.since) >= p.lease.duration {
			s.dead = append(slices.Clip(s.dead), uid)
			s.peers = maps.Clone(s.peers)
			delete(s.peers, uid)
		}
	}
	next, moving := s.plan()
	before := s.granted
	own := s.table.of(s.self.uid)
	s.granted = own.without(moving).without(s.given)
	ready := moving.without(before).without(in.busy)
	next = s.move(next, ready)
	switch {
	case s.stopping && own == (slots{}) && s.table.index(s.self.uid) < 0:
		return s, action{kind: done}
	case !s.fresh:
		return s.read(in.now)
	case !next.same(s.table):
		next.generation = s.table.generation + 1
		s.base, s.given = s.version, s.given.with(ready)
		s.granted = s.granted.without(s.given)
		return s, action{kind: write, table: next}
	case moving.without(in.busy) != (slots{}):
		return s, action{kind: wait, until: in.now} // work can't begin in them from now on
	}
	for _, uid := range slices.Sorted(maps.Keys(s.peers)) {
		if p := s.peers[uid]; !p.gone && !s.stopping && in.now.Sub(p.since) >= p.lease.duration {
			return s, action{kind: remove, lease: p.lease}
		}
	}
	return s.read(in.now)
}

// read returns the action that lists, when it is time to.
func (s state) read(now time.Time) (state, action) {
	if now.Before(s.resume) {
		return s, action{kind: wait, until: s.resume}
	}
	return s, action{kind: list}
}

// plan returns the table with the changes that every member may make: it removes dead members, gives free slots to
// members, and adds this one. It also returns the slots that this member has to give to others.
func (s state) plan() (next table, moving slots) {
	next = s.table
	for _, uid := range s.dead {
		next = next.leave(uid)
	}
	if !s.stopping && next.index(s.self.uid) < 0 {
		next = next.join(s.self)
	}
	if s.strange {
		return next, s.moving(next)
	}
	target := s.rest(next)
	for i, owner := range next.owners {
		if owner == 0 {
			next.owners[i] = target[i]
		}
	}
	return next, s.moving(next)
}

// rest returns the owners that the slots of a table should have. A member that stops should own none.
func (s state) rest(t table) owners {
	at := t.index(s.self.uid)
	if !s.stopping || at < 0 {
		return t.balanced()
	}
	all := t.leave(s.self.uid).balanced()
	for i, owner := range all {
		if int(owner) > at {
			all[i]++
		}
	}
	return all
}

// moving returns the slots of this member that should have another owner, or none.
func (s state) moving(t table) (moving slots) {
	at := t.index(s.self.uid)
	for i, owner := range s.rest(t) {
		if at >= 0 && int(t.owners[i]) == at+1 && int(owner) != at+1 {
			moving.add(i)
		}
	}
	return moving.without(moving.without(s.table.of(s.self.uid)))
}

// move gives slots in which this member does nothing to the members that should own them. A member that has given
// everything leaves.
func (s state) move(t table, ready slots) table {
	target := s.rest(t)
	for i := range t.owners {
		if ready.has(i) {
			t.owners[i] = target[i]
		}
	}
	if s.stopping && t.of(s.self.uid) == (slots{}) {
		t = t.leave(s.self.uid)
	}
	return t
}
