// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"fmt"
	"time"
)

// record is the content of a lease. Its times are microseconds since 1970, as precise as in the lease.
type record struct {
	holder      string
	duration    time.Duration
	acquired    int64 // identifies the term of the holder
	renewed     int64
	transitions int32
}

// deleted is the holder of a lease that replaces a deleted one. No replica has this identity.
const deleted = "nobody: the lease was deleted"

// leader returns the identity of the replica that holds the lease, or "".
func (r record) leader() string {
	if r.holder == deleted {
		return ""
	}
	return r.holder
}

// taken returns why the lease is not of the term of a replica any more.
func (r record) taken(identity string) string {
	switch r.holder {
	case deleted:
		return "the lease was deleted"
	case "":
		return "somebody has removed the holder of the lease"
	case identity:
		return "somebody has edited the lease, or another replica has the same identity"
	}
	return fmt.Sprintf("the lease is held by %q", r.holder)
}

// state is a replica's knowledge of a lease.
type state struct {
	identity      string
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration

	exists   bool      // there is a lease
	known    bool      // there was one at some time
	version  string    // the resource version of the lease
	stored   record    // its content
	observed time.Time // when the content was first observed
	fresh    bool      // nothing is known that makes the version out of date

	acquired int64     // the last term that this replica has tried to begin; 0 if it has ended
	attempt  record    // the last write, whether or not it has succeeded
	sent     time.Time // when it was sent
	unknown  bool      // its outcome is unknown

	leading  bool
	reason   string    // why the last term ended before its time; empty if it did not
	renewal  time.Time // when the write was sent on which the term rests
	stopping bool      // the work has ended: release the lease
	resume   time.Time // the next request is sent at this time
}

// begin returns the state for a new term: the work of the last one has ended.
func (s state) begin() state {
	s.leading, s.stopping, s.fresh, s.reason = false, false, false, ""
	s.renewal, s.resume = time.Time{}, time.Time{}
	return s
}

// input is an event: the response to a request, a time, or the end of the work.
type input struct {
	kind    inputKind
	now     time.Time
	sent    time.Time // of failed: when the request was sent
	version string    // of found and stored
	record  record    // of found and stored
	jitter  float64   // random, from 0 to 1
}

type inputKind int

const (
	tick     inputKind = iota // time has passed
	found                     // the lease was read
	missing                   // the lease does not exist
	stored                    // the lease was written
	conflict                  // it was not written, because it has changed
	failed                    // a request failed, and its outcome is unknown
	stop                      // the work of the leader has ended
	abandon                   // a part of the work of the leader continues: the lease must expire
)

// action is the next thing to do.
type action struct {
	kind   actionKind
	record record    // of create and update
	until  time.Time // of wait
}

type actionKind int

const (
	wait   actionKind = iota // until a time
	read                     // the lease
	create                   // the lease
	update                   // the lease, if it still has the known version
	lost                     // the term is over: end
	done                     // the lease is released, or is not held: end
)

// step applies an input and decides the next action. Requests are sent one at a time.
func (s state) step(in input) (state, action) {
	if in.kind == found || in.kind == missing || in.kind == stored || in.kind == conflict {
		s.unknown = false
	}
	switch in.kind {
	case found:
		s = s.observe(in)
	case missing:
		s.exists, s.version, s.stored, s.fresh = false, "", record{transitions: s.stored.transitions}, true
		if s.leading { // somebody has deleted the lease: a replica that has not known it may create it now
			s.leading, s.reason = false, "the lease was deleted"
			return s, action{kind: lost}
		}
	case stored:
		s = s.observe(in)
		s.resume = s.sent.Add(s.retryPeriod)
	case conflict:
		s.fresh, s.resume = false, in.now.Add(s.retryPeriod/20)
	case failed: // at once if it has taken longer than the period, since little of the term may remain
		s.fresh, s.resume = false, in.sent.Add(s.retryPeriod)
	case stop:
		if !s.stopping {
			s.stopping, s.resume = true, in.now
		}
	case abandon:
		s.leading = false
		return s, action{kind: done}
	case tick:
	}
	return s.decide(in.now, in.jitter)
}

// observe takes note of the stored lease.
func (s state) observe(in input) state {
	if !s.exists || in.record != s.stored {
		s.stored, s.observed = in.record, in.now
	}
	if in.version != s.version && (in.record.holder != s.identity || in.record.acquired != s.acquired) {
		s.acquired = 0 // a write of this term that arrives now creates the lease after a deletion
	}
	s.exists, s.known, s.version, s.fresh = true, true, in.version, true
	switch {
	case !s.mine():
		if s.leading {
			s.reason = s.stored.taken(s.identity)
		}
		s.leading = false
	case s.isOver(): // it does not begin again
	case in.record == s.attempt && in.now.Sub(s.sent) < s.renewDeadline:
		s.leading, s.renewal = true, s.sent
	}
	return s
}

// mine reports whether the lease is held by this replica's current or last term.
func (s state) mine() bool {
	return s.exists && s.acquired != 0 && s.stored.holder == s.identity && s.stored.acquired == s.acquired
}

// over reports whether the term has ended. The wall clock counts, too, since others do not stop while it is suspended.
func (s state) over(now time.Time) bool {
	return now.Sub(s.renewal) >= s.renewDeadline || now.Round(0).Sub(s.renewal.Round(0)) >= s.renewDeadline
}

// isOver reports whether the replica has led in this term, and does not any more.
func (s state) isOver() bool { return !s.leading && !s.renewal.IsZero() }

// released reports whether nobody has held the lease, or its last holder has released it. If somebody has removed the
// holder instead, that replica may still lead; the two times of the lease differ then.
func (s state) released() bool { return s.stored.holder == "" && s.stored.acquired == s.stored.renewed }

// free returns when the replica may take the lease.
func (s state) free() time.Time {
	if !s.exists || s.released() || s.mine() {
		return time.Time{}
	}
	duration := s.stored.duration
	if duration <= 0 || s.stored.holder == "" { // somebody may have removed one of them while the holder leads
		duration = s.leaseDuration
	}
	return s.observed.Add(duration)
}

// end returns when the term ends.
func (s state) end() time.Time { return s.renewal.Add(s.renewDeadline) }

// holds reports whether no other replica can lead.
func (s state) holds(now time.Time) bool { return s.leading && !s.over(now) }

// leads reports whether the replica is the leader. While it releases the lease, it is not: another replica may have
// read the release before the response arrives.
func (s state) leads(now time.Time) bool { return s.holds(now) && !s.stopping }

// expire ends a term whose time is over. A clock that is set back afterwards does not continue it.
func (s state) expire(now time.Time) state {
	s.leading = s.holds(now)
	return s
}

// decide returns the next action.
func (s state) decide(now time.Time, jitter float64) (state, action) {
	s = s.expire(now)
	if s.isOver() {
		if s.stopping {
			return s, action{kind: done}
		}
		return s, action{kind: lost}
	}
	switch {
	case s.stopping && !s.leading && (!s.unknown || now.Sub(s.sent) >= s.renewDeadline):
		return s, action{kind: done}
	case now.Before(s.resume):
		until := s.resume
		if s.leading && s.end().Before(until) {
			until = s.end()
		}
		return s, action{kind: wait, until: until}
	case !s.fresh:
		return s, action{kind: read}
	case s.stopping:
		return s.write(now, record{duration: time.Second, acquired: now.UnixMicro(), transitions: s.stored.transitions})
	case s.leading:
		return s.write(now, record{s.identity, s.leaseDuration, s.acquired, 0, s.stored.transitions})
	case !s.exists && s.known:
		// Somebody has deleted the lease, and the leader may not know it yet. Nobody takes this one before it expires. The
		// times differ, so that it is not a released one if somebody removes the holder.
		return s.write(now, record{deleted, s.leaseDuration, now.UnixMicro() - 1, 0, s.stored.transitions})
	case !now.Before(s.free()):
		// The fraction of a second is random: it distinguishes replicas that have the same identity by mistake.
		s.acquired = now.Truncate(time.Second).UnixMicro() + int64(jitter*1e6)
		next := record{s.identity, s.leaseDuration, s.acquired, 0, s.stored.transitions}
		if s.exists && s.stored.holder != s.identity {
			next.transitions++
		}
		return s.write(now, next)
	default:
		// The lease is held by another replica: look again soon, since it may be released, and when it expires.
		s.fresh = false
		s.resume = now.Add(time.Duration((0.4 + 0.2*jitter) * float64(s.retryPeriod)))
		if free := s.free(); free.Before(s.resume) {
			s.resume = free
		}
		return s, action{kind: wait, until: s.resume}
	}
}

// write returns the action that stores a record.
func (s state) write(now time.Time, r record) (state, action) {
	r.renewed = now.UnixMicro()
	s.attempt, s.sent, s.unknown = r, now, true
	if s.exists {
		return s, action{kind: update, record: r}
	}
	return s, action{kind: create, record: r}
}
