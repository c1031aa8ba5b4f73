// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// This file has the watcher's whole behavior: a pure step from a state and an input to the next state and an output.
// The driver sends the request of the state's phase, turns the response into inputs, and executes the outputs.

// phase is the kind of the current request, or of the next one.
type phase uint8

const (
	streaming phase = iota // a watch that sends the existing objects, then a bookmark, then changes; or else a paged list
	paging                 // a paged list
	watching               // a watch of the changes after state.rv
)

const (
	// A watch that ends earlier and without a new version has failed. It is the minWatchDuration of client-go.
	shortest = time.Second

	// A watch that lived longer was healthy: its end does not count together with earlier failures.
	steady = time.Minute

	// After the first event of a streaming list that is not an existing object, the watcher waits for data for at most
	// this time in total, until the end of the list must arrive. API servers send the end before any such event; the
	// first versions with streaming lists sent it up to seconds later.
	longestEnd = 20 * time.Second

	// A server that sends a bookmark within this time after other data sends them regularly. API servers do, about once
	// per minute; the first one of a watch of Kubernetes 1.36 comes after one to two minutes. See
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#watch-bookmarks.
	longestMark = 3 * time.Minute

	// A bookmark within this time after a watch was opened is not one of those, which are due after about a minute. It may
	// be the one before the end of a short watch, or one that a source has added to show the version of the server.
	earliestMark = 10 * time.Second

	// The time without any data from the server after which an open watch is canceled: for a streaming list, which a busy
	// server may queue for up to a quarter of its one-minute timeout; after the time at which the server should have ended
	// a watch; and for a watch of a server that sends bookmarks regularly.
	streamSilence = 20 * time.Second
	watchSilence  = 10 * time.Second
	markSilence   = 4 * time.Minute

	// After this number of consecutive failures of streaming lists, the next list is paged; of a page, the list starts
	// again; of watches, the objects are listed again, in case the cause is unknown to this package. Of errors that say
	// nothing about the version, such as internal errors of the server, three are enough.
	mostStreams = 3
	mostPages   = 10
	mostWatches = 10
	mostUnclear = 3
)

// state is the watcher's state between two inputs. The zero value is the initial state.
type state struct {
	phase phase
	begun bool // the consumer has received Init, but not InitDone

	rv     string    // the version of the list, or the newest one that a watch has sent since, of any shard
	stored bool      // rv is from the consumer, and no list has begun: that it has expired is normal
	opened time.Time // when the server accepted the current watch; zero before
	moved  bool      // rv has changed since the watch was opened
	heard  time.Time // when the current watch has sent data; zero before
	marks  bool      // the server sends bookmarks regularly

	live   bool          // the streaming list has sent an event that is not an existing object
	waited time.Duration // for data since then

	token   string // of the next page
	whole   bool   // the token of the last list has expired: list without pages, which needs no token
	refused bool   // the server has rejected this list as a streaming list, or ignored that it should be one

	failures int // consecutive
	unclear  int // those of them that failed a watch for a cause that is unknown to this package
	backoff  backoff
}

// inputKind is the kind of an input.
type inputKind uint8

const (
	// data from the server
	gotOpen     inputKind = iota // the server has accepted the watch
	gotObject                    // an item of a page, or an object that was added
	gotModified                  // an object that was modified
	gotDelete                    // an object that was deleted
	gotBookmark                  // a version without an object
	gotStart                     // the bookmark that ends the initial events of a streaming list
	gotPage                      // the end of a page and of its request

	// the end of the request
	gotEnd     // the server ended the watch
	gotSilence // no data for too long; the driver has canceled the request
	gotError   // the request failed
	gotMoved   // it selects the wrong objects, for the reason in err, or because the window has changed
)

// input is a part of the response to the current request.
type input struct {
	kind  inputKind
	rv    string // of the object, the bookmark or the list
	token string // gotPage: of the next page
	err   error  // gotError, gotSilence and gotMoved
	now   time.Time

	foreign bool // the object is of another shard: the consumer does not receive it

	waited time.Duration // how long the driver waited for it, without the time of the consumer
}

// output is the work of the driver after an input.
type output struct {
	init    bool          // emit Init
	emit    EventType     // then emit this for the input's object or version, unless zero
	done    bool          // the request is over: send the next one, according to the new state
	trouble error         // report it
	refused bool          // remember that the server does not support streaming lists
	forget  bool          // forget what is known of the server: another version of it may start
	delay   time.Duration // wait for this time and a random time up to the same length before the next request
	atLeast time.Duration // but at least for this time: the server's Retry-After
	fatal   error         // stop: all further requests would fail
}

// fault is an error that the step detects, not the source.
type fault string

func (f fault) Error() string { return string(f) }

const (
	errNoVersion fault = "the server sent no resource version: a watch can't start after it"
	errNoStart   fault = "the server ended a streaming list before it was complete: falling back to a paged list"
	errNoMark    fault = "the server does not mark the end of a streaming list: falling back to a paged list"
	errShort     fault = "the server ended the watch immediately"
	errMute      fault = "the server sends no bookmarks any more: it may not have reached the version of the watch, such as " +
		"after a restore of etcd; listing the objects again"
)

// step returns the state after an input, and the output.
func (s state) step(in input) (state, output) {
	out := s.take(&in)
	out.forget = in.kind == gotError && broken(in.err)
	return s, out
}

// take is step in place, like the functions that it calls.
func (s *state) take(in *input) output {
	switch over := in.kind == gotEnd || in.kind == gotSilence || in.kind == gotError; {
	case in.kind == gotMoved:
		s.list()
		return output{done: true, trouble: in.err}
	case over && isFatal(in.err):
		return output{done: true, fatal: in.err}
	case over && s.phase == streaming:
		return s.streamOver(in)
	case over && s.phase == paging:
		return s.pageOver(in)
	case over:
		return s.watchOver(in)
	case in.kind == gotOpen:
		s.opened = in.now
		return output{}
	case in.kind == gotPage:
		return s.page(in)
	case s.phase == watching:
		return s.change(in)
	case s.phase == paging && in.kind == gotBookmark:
		return output{}
	}
	return s.initial(in)
}

// initial handles the inputs of a list until it is complete. Versions are not in order, so only the last one counts.
//
// A server may ignore that a watch should begin with a streaming list, and send the existing objects, then changes. The
// content shows this, and never the time that a list takes: a server that supports streaming lists first sends all
// existing objects, each of them as added; and its first bookmark is the one that ends the list.
func (s *state) initial(in *input) output {
	if s.live {
		s.waited += in.waited
	}
	s.live = s.live || s.phase == streaming && (in.kind == gotModified || in.kind == gotDelete)
	if in.kind == gotBookmark || in.kind != gotStart && s.waited >= longestEnd {
		return s.unmarked()
	}
	if in.foreign {
		return output{}
	}
	out := output{init: !s.begun}
	switch in.kind {
	case gotObject, gotModified:
		out.emit = InitApply
	case gotDelete:
		out.emit = Delete
	case gotStart:
		if s.phase != streaming {
			return output{}
		}
		if in.rv == "" {
			return s.streamOver(&input{kind: gotError, err: errNoVersion, now: in.now})
		}
		out.emit = InitDone
		*s = state{phase: watching, rv: in.rv, opened: s.opened, heard: in.now, marks: s.marks, backoff: s.backoff}
		return out
	default:
		return output{}
	}
	s.begun = true
	return out
}

// page handles the end of a page.
func (s *state) page(in *input) output {
	if s.phase != paging {
		return output{done: true}
	}
	out := output{init: !s.begun, done: true}
	s.begun = true
	if s.token == "" {
		s.rv = in.rv // all pages have the state of the first page's version
	}
	if in.token != "" {
		s.token, s.failures = in.token, 0
		return out
	}
	if s.rv == "" {
		return s.pageOver(&input{kind: gotError, err: errNoVersion, now: in.now})
	}
	// Only now is it known that the streaming list was rejected for what it is, rather than for its selectors.
	out.emit, out.refused = InitDone, s.refused
	*s = state{phase: watching, rv: s.rv, marks: s.marks, backoff: s.backoff}
	return out
}

// change handles an event of a watch.
func (s *state) change(in *input) output {
	if in.rv != "" && in.rv != s.rv {
		s.rv, s.moved, s.failures, s.unclear = in.rv, true, 0, 0
	}
	lived := in.now.Sub(s.opened)
	if in.kind == gotBookmark && lived >= earliestMark && (lived <= longestMark || in.now.Sub(s.heard) <= longestMark) {
		s.marks = true
	}
	s.heard = in.now
	if in.foreign {
		return output{}
	}
	switch in.kind {
	case gotObject, gotModified:
		return output{emit: Apply}
	case gotDelete:
		return output{emit: Delete}
	default:
		return output{emit: Bookmark}
	}
}

// unmarked handles a streaming list that continues without its end.
func (s *state) unmarked() output {
	s.close()
	s.refused, s.phase = true, paging
	return output{done: true, trouble: errNoMark}
}

// close discards what concerns only the current request of an incomplete streaming list.
func (s *state) close() {
	s.begun, s.opened, s.live, s.waited = false, time.Time{}, false, 0
}

// streamOver handles the end of an incomplete streaming list. A rejection says that the server does not support it.
// After silence or an early end, which an overloaded server or a proxy can cause, only the next list is paged.
func (s *state) streamOver(in *input) output {
	s.close()
	switch {
	case in.kind == gotError && rejected(in.err):
		s.refused, s.phase = true, paging
		return output{done: true}
	case in.kind == gotSilence:
		s.phase = paging
		return output{done: true, trouble: in.err}
	case in.kind == gotEnd:
		s.phase = paging
		return s.fail(in.now, errNoStart)
	}
	out := s.fail(in.now, in.err)
	if s.failures >= mostStreams {
		s.phase = paging
	}
	return out
}

// pageOver handles the failure of a page. The same page is requested again: its token is valid for some minutes. A new
// list begins if the token has expired, or the page fails too often. The next list after an expired token is one
// without pages, and the one after that has pages again: a server may not be able to send all objects at once.
func (s *state) pageOver(in *input) output {
	expired := s.token != "" && gone(in.err)
	if s.token != "" && !expired && s.failures+1 < mostPages {
		return s.fail(in.now, in.err)
	}
	s.begun, s.token, s.whole = false, "", expired && !s.whole
	if s.whole {
		return output{done: true, trouble: in.err}
	}
	return s.fail(in.now, in.err)
}

// watchOver handles the end of a watch. The time before the server accepted the watch does not count as its life: the
// request may have waited in a queue.
func (s *state) watchOver(in *input) output {
	var lived time.Duration
	if !s.opened.IsZero() {
		lived = in.now.Sub(s.opened)
	}
	moved, floor := s.moved, max(0, shortest-lived) // so that a server that ends each watch gets one per second
	mute := s.marks && s.heard.IsZero() && lived > longestMark
	if mute { // maybe the bookmarks were never regular: a single one must not cause a list every few minutes
		s.marks = false
	}
	s.moved, s.opened, s.heard = false, time.Time{}, time.Time{}
	if lived >= steady {
		s.failures, s.unclear = 0, 0
	}
	switch {
	case mute && in.kind != gotError:
		s.list()
		return output{done: true, trouble: errMute}
	case in.kind == gotEnd && (moved || lived >= shortest):
		s.failures, s.unclear = 0, 0
		return output{done: true, atLeast: floor}
	case in.kind == gotEnd:
		in.err = errShort
	case in.kind == gotError && moved && broken(in.err):
		return output{done: true, trouble: in.err, atLeast: floor}
	}
	expired := in.kind == gotError && gone(in.err)
	switch {
	case expired && s.stored:
		*s = state{}
		return output{done: true, trouble: in.err}
	case expired && s.failures > 0: // the server works again; if the version is that of a list, no failure precedes
		s.list()
		return output{done: true, trouble: in.err}
	}
	out := s.fail(in.now, in.err)
	if in.kind == gotError && !resumable(in.err) {
		s.unclear++
	}
	switch {
	case mute || s.failures >= mostWatches || s.unclear >= mostUnclear || in.kind == gotError && useless(in.err):
		s.list()
	}
	return out
}

// silence returns how long an open watch with a timeout may send no data.
func (s *state) silence(timeout time.Duration) time.Duration {
	end := max(timeout, timeout+watchSilence) // the sum may overflow
	switch {
	case s.phase == streaming:
		return streamSilence
	case s.marks:
		return min(end, markSilence)
	}
	return end
}

// useless reports whether a watch can't start at its version, or not with its request.
func useless(err error) bool { return gone(err) || tooNew(err) || rejected(err) }

// resumed returns the state that watches the changes after a version that the consumer already has.
func resumed(rv string) state { return state{phase: watching, rv: rv, stored: true} }

// list lists the objects again.
func (s *state) list() { *s = state{phase: streaming, marks: s.marks, backoff: s.backoff} }

// unstreamed returns the state that requests a page instead of a streaming list.
func (s state) unstreamed() state {
	if s.phase == streaming {
		s.phase = paging
	}
	return s
}

// fail counts a failure, and waits before the next request.
func (s *state) fail(now time.Time, err error) output {
	s.failures++
	out := output{done: true, trouble: err}
	s.backoff, out.delay = s.backoff.next(now)
	out.atLeast, _ = core.RetryAfter(err)
	return out
}

// isFatal reports whether all requests would fail, because the client rejects them as invalid.
func isFatal(err error) bool {
	if _, ok := errors.AsType[*request.InvalidError](err); ok {
		return true
	}
	_, ok := errors.AsType[*core.UnknownKindError](err)
	return ok
}

// rejected reports whether the server rejects a streaming list, as servers without the feature do.
func rejected(err error) bool {
	return errors.Is(err, core.ErrInvalid) || errors.Is(err, core.ErrBadRequest) ||
		errors.Is(err, core.ErrMethodNotAllowed)
}

// gone reports whether a version or a continue token has expired.
func gone(err error) bool {
	return errors.Is(err, core.ErrExpired) || errors.Is(err, core.ErrGone)
}

// resumable reports whether a watch can resume from the same version after an error, because its cause is known.
func resumable(err error) bool {
	if broken(err) {
		return true
	}
	for _, target := range []error{
		core.ErrUnauthorized, core.ErrForbidden, core.ErrNotFound,
		core.ErrTooManyRequests, core.ErrUnavailable, core.ErrTimeout, core.ErrServerTimeout,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// tooNew reports whether the server has not reached the version yet. After a restore from a backup, it may never reach
// it.
func tooNew(err error) bool {
	_, ok := core.CauseOf(err, metav1.CauseTypeResourceVersionTooLarge)
	return ok
}

// broken reports whether the connection failed, rather than the request.
func broken(err error) bool {
	_, answered := errors.AsType[*core.StatusError](err)
	return !answered && core.IsRetryable(err)
}
