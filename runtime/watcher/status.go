// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"time"
)

// Phase is the current activity of a sequence of events.
type Phase uint8

// The phases.
const (
	Listing    Phase = iota + 1 // it requests or receives the existing objects
	Opening                     // it has requested a watch, which the server has not accepted yet
	Watching                    // a watch is open: changes arrive as they happen
	BackingOff                  // it waits before its next request
)

// String returns the phase's name.
func (p Phase) String() string {
	switch p {
	case Listing:
		return "Listing"
	case Opening:
		return "Opening"
	case Watching:
		return "Watching"
	case BackingOff:
		return "BackingOff"
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// Status is the state of a sequence of events: what it is doing and since when, which version the consumer has, when
// the last data arrived, and the error of the last request. The error is cleared as soon as the server accepts a watch
// or sends a page, not with the next event. [Options.OnStatus] receives the status.
//
// A server that supports bookmarks sends data about once per minute, so an older LastData of an open watch means that
// the server, or the connection, is slow or dead.
type Status struct {
	Phase Phase
	Since time.Time // when the phase began

	// ResourceVersion is the version of the state that the consumer has: that of Options at first. Without that
	// option, it is empty until the first list is complete. During a later list, it is the version before that list.
	ResourceVersion string

	// AllShards is whether the last request was for the objects of all shards, because the server does not select by
	// shard: those of other shards were dropped. Without Options.Window, and for a shard without objects, it is false.
	AllShards bool

	Lists    int       // the number of complete lists
	LastData time.Time // when the server last accepted a watch or sent an object, a bookmark or a page; zero before

	// Err is the error of the last request. It is nil as soon as the server has accepted a watch, or sent a page, after
	// it. An object that is skipped is not an error of a request.
	Err      error
	Failures int // consecutive failed requests; a watch that opens and fails again does not reset them
}

// statusInterval is the time after which a status that differs only in LastData, or in ResourceVersion, is reported.
const statusInterval = 10 * time.Second

// request updates the status when the next request of a phase is sent. It reports whether the status has another phase.
func (st *Status) request(p phase, now time.Time) (changed bool) {
	if p == watching {
		return st.enter(Opening, now)
	}
	return st.enter(Listing, now)
}

// step updates the status after a step to a state. It reports whether more has changed than the version and the time of
// the last data.
func (st *Status) step(s *state, in *input, out *output) (changed bool) {
	if in.kind <= gotPage {
		st.LastData = in.now
	}
	if (in.kind == gotOpen || in.kind == gotPage) && st.Err != nil {
		st.Err, changed = nil, true
	}
	if out.trouble != nil {
		st.Err, changed = out.trouble, true
	}
	if out.emit == InitDone {
		st.Lists++
		changed = true
	}
	failures := s.failures
	if out.delay > 0 {
		failures = max(failures, st.Failures+1) // a failed watch may be followed by a list, which counts its own failures
	}
	if st.Failures != failures {
		st.Failures, changed = failures, true
	}
	if s.phase == watching {
		st.ResourceVersion = s.rv
	}
	switch {
	case out.done && (out.delay > 0 || out.atLeast > 0):
		return st.enter(BackingOff, in.now) || changed
	case !out.done && s.phase == watching:
		return st.enter(Watching, in.now) || changed
	}
	return changed
}

// enter begins a phase, and reports whether it is another one.
func (st *Status) enter(p Phase, now time.Time) (changed bool) {
	if st.Phase == p {
		return false
	}
	st.Phase, st.Since = p, now
	return true
}
