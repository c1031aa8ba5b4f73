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

// This file is the watcher's whole behaviour: a pure step from a state and an input to the next state and what to do.
// The driver opens the request that the state asks for, turns what comes back into inputs, and does what outputs say.

// phase is which request is open, or is opened next.
type phase uint8

const (
	streaming phase = iota // a watch that sends the objects that are there first, then a bookmark, then changes
	paging                 // a list, page by page
	watching               // a watch for the changes after state.rv
)

const (
	// A watch that ends before this without telling anything new has failed: the minWatchDuration of client-go.
	shortest = time.Second

	// After so many failed streaming lists in a row the objects are listed in pages for once, and after so many failed
	// watches in a row they are listed anew, in case that the failures have a reason that is not known here.
	mostStreams = 3
	mostWatches = 10
)

// state is what the watcher knows between two inputs. Its zero value is the start.
type state struct {
	phase phase
	begun bool // the consumer was told Init, and is waiting for InitDone

	rv    string // the newest version that the consumer knows of; in paging, the version of the list
	moved bool   // rv has changed since the watch was opened

	token string // of the next page
	whole bool   // the token of a page has expired: list without pages, so that none is needed
	paged bool   // for good: the server does not do streaming lists

	failures int // in a row
	backoff  backoff
}

// inputKind is what came back from a request.
type inputKind uint8

const (
	gotObject   inputKind = iota // an item of a page, or an object that was added or modified
	gotDelete                    // an object that was deleted
	gotBookmark                  // only a version
	gotStart                     // the bookmark that ends the initial events of a streaming list
	gotPage                      // the end of a page, and of the request
	gotEnd                       // the server ended the watch
	gotSilence                   // nothing came for too long; the driver has ended the request
	gotError                     // the request has failed
)

// input is something that came back from the open request.
type input struct {
	kind  inputKind
	rv    string        // of the object, the bookmark or the list
	token string        // gotPage: of the next page
	err   error         // gotError and gotSilence
	now   time.Time     // gotEnd, gotSilence, gotError
	lived time.Duration // gotEnd, gotError: how long the request was open
}

// output is what the driver does about an input.
type output struct {
	init    bool          // tell the consumer Init
	emit    EventType     // then tell it this about the input's object or version, unless zero
	done    bool          // the request is over: open the one that the new state asks for
	trouble error         // report it
	delay   time.Duration // wait so long, and a random time up to as long again, before the next request
	atLeast time.Duration // but not less than this, because the server asked for it
	fatal   error         // stop: it will never work
}

// fault is a trouble that the step has found, rather than the source.
type fault string

func (f fault) Error() string { return string(f) }

const (
	errNoVersion fault = "the server sent no resource version, so that it can't be watched from there"
	errNoStart   fault = "the server ended a streaming list before its end; going on with paged lists"
	errShort     fault = "the server ended the watch at once"
)

// step returns the state after an input, and what to do about the input.
func (s state) step(in input) (state, output) {
	switch over := in.kind == gotEnd || in.kind == gotSilence || in.kind == gotError; {
	case over && isFatal(in.err):
		return s, output{done: true, fatal: in.err}
	case over && s.phase == streaming:
		return s.streamOver(in)
	case over && s.phase == paging:
		return s.pageOver(in)
	case over:
		return s.watchOver(in)
	case in.kind == gotPage:
		return s.page(in)
	case s.phase == watching:
		return s.change(in)
	}
	return s.initial(in)
}

// initial takes what comes before all that is there has come. In a streaming list it may change meanwhile. Versions
// come in no order, so that none is taken before the last.
func (s state) initial(in input) (state, output) {
	out := output{init: !s.begun}
	switch in.kind {
	case gotObject:
		out.emit = InitApply
	case gotDelete:
		out.emit = Delete
	case gotStart:
		if s.phase != streaming {
			return s, output{}
		}
		if in.rv == "" {
			return s.streamOver(input{kind: gotError, err: errNoVersion, now: in.now})
		}
		out.emit = InitDone
		return state{phase: watching, rv: in.rv, paged: s.paged, backoff: s.backoff}, out
	default:
		return s, output{}
	}
	s.begun = true
	return s, out
}

// page takes the end of a page.
func (s state) page(in input) (state, output) {
	if s.phase != paging {
		return s, output{done: true}
	}
	out := output{init: !s.begun, done: true}
	s.begun = true
	if s.token == "" {
		s.rv = in.rv // all pages show the state at the version of the first
	}
	if in.token != "" {
		s.token = in.token
		return s, out
	}
	if s.rv == "" {
		return s.pageOver(input{kind: gotError, err: errNoVersion, now: in.now})
	}
	out.emit = InitDone
	return state{phase: watching, rv: s.rv, paged: s.paged, backoff: s.backoff}, out
}

// change takes an event of a watch.
func (s state) change(in input) (state, output) {
	if in.rv != "" && in.rv != s.rv {
		s.rv, s.moved, s.failures = in.rv, true, 0
	}
	switch in.kind {
	case gotObject:
		return s, output{emit: Apply}
	case gotDelete:
		return s, output{emit: Delete}
	default:
		return s, output{emit: Bookmark}
	}
}

// streamOver takes the end of a streaming list before its last object.
func (s state) streamOver(in input) (state, output) {
	s.begun = false
	switch {
	case in.kind == gotError && rejected(in.err):
		s.paged, s.phase = true, paging
		return s, output{done: true}
	case in.kind == gotSilence:
		s.paged, s.phase = true, paging
		return s, output{done: true, trouble: in.err}
	case in.kind == gotEnd:
		s.paged, s.phase = true, paging
		return s.fail(in.now, errNoStart)
	}
	s, out := s.fail(in.now, in.err)
	if s.failures >= mostStreams {
		s.phase = paging
	}
	return s, out
}

// pageOver takes the failure of a list.
func (s state) pageOver(in input) (state, output) {
	expired := s.token != "" && gone(in.err)
	s.begun, s.token = false, ""
	if expired && !s.whole {
		s.whole = true
		return s, output{done: true, trouble: in.err}
	}
	return s.fail(in.now, in.err)
}

// watchOver takes the end of a watch.
func (s state) watchOver(in input) (state, output) {
	worked := s.moved || in.lived >= shortest
	s.moved = false
	switch {
	case in.kind == gotEnd && worked:
		s.failures = 0
		return s, output{done: true}
	case in.kind == gotEnd:
		in.err = errShort
	case in.kind == gotSilence:
	case worked && broken(in.err):
		return s, output{done: true, trouble: in.err}
	}
	s, out := s.fail(in.now, in.err)
	if s.failures >= mostWatches || in.kind == gotError && !resumable(in.err) {
		s = s.list()
	}
	return s, out
}

// list returns the state that lists anew.
func (s state) list() state {
	if s.paged {
		return state{phase: paging, paged: true, backoff: s.backoff}
	}
	return state{phase: streaming, backoff: s.backoff}
}

// fail counts a failure and waits before the next request.
func (s state) fail(now time.Time, err error) (state, output) {
	s.failures++
	out := output{done: true, trouble: err}
	s.backoff, out.delay = s.backoff.next(now)
	out.atLeast, _ = core.RetryAfter(err)
	return s, out
}

// isFatal reports whether no request will ever work: the client refuses to send it.
func isFatal(err error) bool {
	if _, ok := errors.AsType[*request.InvalidError](err); ok {
		return true
	}
	_, ok := errors.AsType[*core.UnknownKindError](err)
	return ok
}

// rejected reports whether the server refuses to do a streaming list, as those without the feature do.
func rejected(err error) bool {
	return errors.Is(err, core.ErrInvalid) || errors.Is(err, core.ErrBadRequest) || errors.Is(err, core.ErrMethodNotAllowed)
}

// gone reports whether a version or a continue token is too old.
func gone(err error) bool {
	return errors.Is(err, core.ErrExpired) || errors.Is(err, core.ErrGone)
}

// resumable reports whether an error says nothing against watching again from the same version.
func resumable(err error) bool {
	if tooNew(err) {
		return false
	}
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

// tooNew reports whether the server has not come to the version yet; it may never, when it was restored from a backup.
func tooNew(err error) bool {
	_, ok := core.CauseOf(err, metav1.CauseTypeResourceVersionTooLarge)
	return ok
}

// broken reports whether the connection failed, not the request.
func broken(err error) bool {
	_, answered := errors.AsType[*core.StatusError](err)
	return !answered && core.IsRetryable(err)
}
