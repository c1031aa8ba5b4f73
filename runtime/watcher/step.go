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

// This file has the watcher's whole behaviour: a pure step from a state and an input to the next state and an output.
// The driver sends the request of the state's phase, turns the response into inputs, and executes the outputs.

// phase is the kind of the current request, or of the next one.
type phase uint8

const (
	streaming phase = iota // a watch that sends the existing objects, then a bookmark, then changes
	paging                 // a paged list
	watching               // a watch of the changes after state.rv
)

const (
	// A watch that ends earlier and without a new version has failed. It is the minWatchDuration of client-go.
	shortest = time.Second

	// A watch that lived longer was healthy: its end does not count together with earlier failures.
	steady = time.Minute

	// After this number of consecutive failures of streaming lists, the next list is paged; of a page, the list starts
	// again; of watches, the objects are listed again, in case the cause is unknown to this package. Errors that say
	// nothing about the version, such as an internal error of the server, count as a cause earlier.
	mostStreams = 3
	mostPages   = 10
	mostWatches = 10
	mostUnclear = 3
)

// state is the watcher's state between two inputs. The zero value is the initial state.
type state struct {
	phase phase
	begun bool // the consumer has received Init, but not InitDone

	rv    string // the newest version that the consumer has received; while paging, the version of the list
	moved bool   // rv has changed since the watch was opened

	token string // of the next page
	whole bool   // a continue token has expired: list without pages, which needs no token
	paged bool   // permanently: the server does not support streaming lists

	failures int // consecutive
	backoff  backoff
}

// inputKind is the kind of an input.
type inputKind uint8

const (
	gotObject   inputKind = iota // an item of a page, or an object that was added or modified
	gotDelete                    // an object that was deleted
	gotBookmark                  // a version without an object
	gotStart                     // the bookmark that ends the initial events of a streaming list
	gotPage                      // the end of a page and of its request
	gotEnd                       // the server ended the watch
	gotSilence                   // no data for too long; the driver has cancelled the request
	gotError                     // the request failed
)

// input is a part of the response to the current request.
type input struct {
	kind  inputKind
	rv    string        // of the object, the bookmark or the list
	token string        // gotPage: of the next page
	err   error         // gotError and gotSilence
	now   time.Time     // gotEnd, gotSilence, gotError
	lived time.Duration // gotEnd, gotError: how long the request was open
}

// output is what the driver has to do after an input.
type output struct {
	init    bool          // emit Init
	emit    EventType     // then emit this for the input's object or version, unless zero
	done    bool          // the request is over: send the next one, according to the new state
	trouble error         // report it
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
	errShort     fault = "the server ended the watch immediately"
)

// step returns the state after an input, and the output.
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

// initial handles the inputs of a list until it is complete. Objects may change during a streaming list. Versions are
// not in order, so only the last one counts.
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

// page handles the end of a page.
func (s state) page(in input) (state, output) {
	if s.phase != paging {
		return s, output{done: true}
	}
	out := output{init: !s.begun, done: true}
	s.begun = true
	if s.token == "" {
		s.rv = in.rv // all pages have the state of the first page's version
	}
	if in.token != "" {
		s.token, s.failures = in.token, 0
		return s, out
	}
	if s.rv == "" {
		return s.pageOver(input{kind: gotError, err: errNoVersion, now: in.now})
	}
	out.emit = InitDone
	return state{phase: watching, rv: s.rv, paged: s.paged, backoff: s.backoff}, out
}

// change handles an event of a watch.
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

// streamOver handles the end of an incomplete streaming list. Only a rejection says that the server does not support it.
// After silence or an early end, which an overloaded server or a proxy can cause, only the next list is paged.
func (s state) streamOver(in input) (state, output) {
	s.begun = false
	switch {
	case in.kind == gotError && rejected(in.err):
		s.paged, s.phase = true, paging
		return s, output{done: true}
	case in.kind == gotSilence:
		s.phase = paging
		return s, output{done: true, trouble: in.err}
	case in.kind == gotEnd:
		s.phase = paging
		return s.fail(in.now, errNoStart)
	}
	s, out := s.fail(in.now, in.err)
	if s.failures >= mostStreams {
		s.phase = paging
	}
	return s, out
}

// pageOver handles the failure of a page. The same page is requested again: its token is valid for some minutes. A new
// list begins if the token has expired, or the page fails too often.
func (s state) pageOver(in input) (state, output) {
	expired := s.token != "" && gone(in.err)
	if s.token == "" || expired || s.failures+1 >= mostPages {
		s.begun, s.token = false, ""
	}
	if expired && !s.whole {
		s.whole = true
		return s, output{done: true, trouble: in.err}
	}
	return s.fail(in.now, in.err)
}

// watchOver handles the end of a watch.
func (s state) watchOver(in input) (state, output) {
	moved, floor := s.moved, max(0, shortest-in.lived) // so that a server that ends each watch gets one per second
	s.moved = false
	if in.lived >= steady {
		s.failures = 0
	}
	switch {
	case in.kind == gotEnd && (moved || in.lived >= shortest):
		s.failures = 0
		return s, output{done: true, atLeast: floor}
	case in.kind == gotEnd:
		in.err = errShort
	case in.kind == gotError && moved && broken(in.err):
		return s, output{done: true, trouble: in.err, atLeast: floor}
	}
	s, out := s.fail(in.now, in.err)
	most := mostWatches
	if in.kind == gotError && !resumable(in.err) {
		most = mostUnclear
	}
	if s.failures >= most || in.kind == gotError && useless(in.err) {
		s = s.list()
	}
	return s, out
}

// useless reports whether a watch can't start at its version, or not with its request.
func useless(err error) bool { return gone(err) || tooNew(err) || rejected(err) }

// list returns the state that lists the objects again.
func (s state) list() state {
	if s.paged {
		return state{phase: paging, paged: true, backoff: s.backoff}
	}
	return state{phase: streaming, backoff: s.backoff}
}

// fail counts a failure, and waits before the next request.
func (s state) fail(now time.Time, err error) (state, output) {
	s.failures++
	out := output{done: true, trouble: err}
	s.backoff, out.delay = s.backoff.next(now)
	out.atLeast, _ = core.RetryAfter(err)
	return s, out
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
