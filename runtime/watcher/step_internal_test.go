// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

var (
	// now is the time of the inputs, and failed the back-off after a first failure at that time.
	now    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failed = backoff{delay: firstDelay, last: now}

	errExpired   = status(410, metav1.StatusReasonExpired)
	errGone      = status(410, metav1.StatusReasonGone)
	errForbidden = status(403, metav1.StatusReasonForbidden)
	errInternal  = status(500, metav1.StatusReasonInternalError)
	errBusy      = &core.StatusError{Status: metav1.Status{Code: 429}, RetryAfter: 7 * time.Second}
	errTooNew    = &core.StatusError{Status: metav1.Status{Code: 504, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}},
	}}}
	errUnknown = errors.New("bad bytes")
	errUnsent  = &request.InvalidError{Field: "namespace", Detail: "is empty"}
)

// brokenOff is the output for a connection that breaks.
func brokenOff() output {
	out := trouble(io.ErrUnexpectedEOF)
	out.forget = true
	return out
}

func status(code int32, reason metav1.StatusReason) *core.StatusError {
	return &core.StatusError{Status: metav1.Status{Code: code, Reason: reason}}
}

// trouble is the output after a first failure.
func trouble(err error) output { return output{done: true, trouble: err, delay: firstDelay} }

// cell is a state and an input, and the expected state and output.
type cell struct {
	name string
	from state
	in   input
	to   state
	out  output
}

// since returns the state of a watch that was opened some time ago.
func (s state) since(ago time.Duration) state {
	s.opened = now.Add(-ago)
	return s
}

// hearing returns the state of a watch that has just sent data.
func (s state) hearing() state {
	s.heard = now
	return s
}

// marked returns the state for a server that sends bookmarks regularly.
func (s state) marked() state {
	s.marks = true
	return s
}

// waiting returns the state of a streaming list that has waited for its end.
func (s state) waiting(d time.Duration) state {
	s.waited = d
	return s
}

func check(t *testing.T, cells []cell) {
	t.Helper()
	for _, c := range cells {
		t.Run(c.name, func(t *testing.T) {
			c.in.now = now
			to, out := c.from.step(c.in)
			opts := cmp.Options{cmp.AllowUnexported(state{}, output{}, backoff{}), cmpopts.EquateErrors()}
			if diff := cmp.Diff(c.to, to, opts); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.out, out, opts); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepStreaming(t *testing.T) {
	begun := state{phase: streaming, begun: true, rv: "1"}
	live := state{phase: streaming, begun: true, rv: "1", live: true}
	again := state{phase: streaming, rv: "1", failures: 1, backoff: failed}
	check(t, []cell{
		{"the first object begins the list", state{}, input{kind: gotObject, rv: "7"}, state{begun: true}, output{init: true, emit: InitApply}},
		{"an object", begun, input{kind: gotObject, rv: "7"}, begun, output{emit: InitApply}},
		{"a delete", begun, input{kind: gotDelete, rv: "7"}, live, output{emit: Delete}},
		{"a delete begins the list", state{}, input{kind: gotDelete, rv: "7"}, state{begun: true, live: true}, output{init: true, emit: Delete}},
		{"a bookmark that is not the end", begun, input{kind: gotBookmark, rv: "7"}, state{phase: paging, refused: true, rv: "1"}, output{done: true, trouble: errNoMark}},
		{"the first change", begun, input{kind: gotModified, rv: "7", waited: time.Hour}, live, output{emit: InitApply}},
		{"an object after a change", live.waiting(time.Second), input{kind: gotObject, rv: "7", waited: time.Second}, live.waiting(2 * time.Second), output{emit: InitApply}},
		{"an object too long after a change", live.waiting(longestEnd - 1), input{kind: gotObject, rv: "7", waited: 1}, state{phase: paging, refused: true, rv: "1"}, output{done: true, trouble: errNoMark}},
		{"a change too long after a change", live, input{kind: gotDelete, rv: "7", waited: longestEnd}, state{phase: paging, refused: true, rv: "1"}, output{done: true, trouble: errNoMark}},
		{"the end long after a change", live, input{kind: gotStart, rv: "7", waited: time.Hour}, state{phase: watching, rv: "7"}.hearing(), output{emit: InitDone}},
		{"an object after hours", begun.since(time.Hour), input{kind: gotObject, rv: "7", waited: time.Hour}, begun.since(time.Hour), output{emit: InitApply}},
		{"a failure after a change", live.waiting(1), input{kind: gotError, err: errForbidden}, again, trouble(errForbidden)},
		{"the end of the list", begun, input{kind: gotStart, rv: "7"}, state{phase: watching, rv: "7"}.hearing(), output{emit: InitDone}},
		{"the end of an empty list", state{}, input{kind: gotStart, rv: "7"}, state{phase: watching, rv: "7"}.hearing(), output{init: true, emit: InitDone}},
		{"the end keeps the back-off", state{begun: true, failures: 2, backoff: failed}, input{kind: gotStart, rv: "7"}, state{phase: watching, rv: "7", backoff: failed}.hearing(), output{emit: InitDone}},
		{"the end without a version", begun, input{kind: gotStart}, again, trouble(errNoVersion)},
		{"a page", begun, input{kind: gotPage, rv: "7"}, begun, output{done: true}},
		{"the end of the watch", begun, input{kind: gotEnd}, state{phase: paging, rv: "1", failures: 1, backoff: failed}, trouble(errNoStart)},
		{"silence", begun, input{kind: gotSilence, err: errUnknown}, state{phase: paging, rv: "1"}, output{done: true, trouble: errUnknown}},
		{"refused as invalid", state{}, input{kind: gotError, err: status(422, "")}, state{phase: paging, refused: true}, output{done: true}},
		{"refused as a bad request", state{}, input{kind: gotError, err: status(400, "")}, state{phase: paging, refused: true}, output{done: true}},
		{"refused as an unsupported method", state{}, input{kind: gotError, err: status(405, "")}, state{phase: paging, refused: true}, output{done: true}},
		{"a broken connection", begun.since(time.Hour), input{kind: gotError, err: io.ErrUnexpectedEOF}, again, brokenOff()},
		{"forbidden", begun, input{kind: gotError, err: errForbidden}, again, trouble(errForbidden)},
		{"expired", begun, input{kind: gotError, err: errExpired}, again, trouble(errExpired)},
		{"an internal error", begun, input{kind: gotError, err: errInternal}, again, trouble(errInternal)},
		{"an unknown error", begun, input{kind: gotError, err: errUnknown}, again, trouble(errUnknown)},
		{"busy", begun, input{kind: gotError, err: errBusy}, again, output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second}},
		{"after the third consecutive failure the next list is paged", state{failures: 2}, input{kind: gotError, err: errInternal}, state{phase: paging, failures: 3, backoff: failed}, trouble(errInternal)},
		{"an invalid request", begun, input{kind: gotError, err: errUnsent}, begun, output{done: true, fatal: errUnsent}},
		{"the shard has changed", state{begun: true, live: true, failures: 2, backoff: failed}, input{kind: gotMoved}, state{backoff: failed}, output{done: true}},
	})
}

func TestStepPaging(t *testing.T) {
	first := state{phase: paging}
	begun := state{phase: paging, begun: true}
	second := state{phase: paging, begun: true, rv: "7", token: "t"}
	again := state{phase: paging, failures: 1, backoff: failed}
	samePage := state{phase: paging, begun: true, rv: "7", token: "t", failures: 1, backoff: failed}
	check(t, []cell{
		{"the first object begins the list", first, input{kind: gotObject, rv: "5"}, begun, output{init: true, emit: InitApply}},
		{"an object", begun, input{kind: gotObject, rv: "5"}, begun, output{emit: InitApply}},
		{"a delete", begun, input{kind: gotDelete, rv: "5"}, begun, output{emit: Delete}},
		{"an object of another shard", first, input{kind: gotObject, rv: "5", foreign: true}, first, output{}},
		{"a bookmark", begun, input{kind: gotBookmark, rv: "5"}, begun, output{}},
		{"the end of another kind of list", begun, input{kind: gotStart, rv: "5"}, begun, output{}},
		{"a page with more to come", begun, input{kind: gotPage, rv: "7", token: "t"}, second, output{done: true}},
		{"an empty page with more to come", first, input{kind: gotPage, rv: "7", token: "t"}, second, output{init: true, done: true}},
		{"a later page", second, input{kind: gotPage, rv: "8", token: "u"}, state{phase: paging, begun: true, rv: "7", token: "u"}, output{done: true}},
		{"the last page", second, input{kind: gotPage, rv: "8"}, state{phase: watching, rv: "7"}, output{emit: InitDone, done: true}},
		{"the only page", begun, input{kind: gotPage, rv: "7"}, state{phase: watching, rv: "7"}, output{emit: InitDone, done: true}},
		{"an empty list", first, input{kind: gotPage, rv: "7"}, state{phase: watching, rv: "7"}, output{init: true, emit: InitDone, done: true}},
		{"the last page of a list that was refused as a streaming list", state{phase: paging, refused: true, begun: true}, input{kind: gotPage, rv: "7"}, state{phase: watching, rv: "7"}, output{emit: InitDone, done: true, refused: true}},
		{"a page of such a list fails", state{phase: paging, refused: true}, input{kind: gotError, err: errForbidden}, state{phase: paging, refused: true, failures: 1, backoff: failed}, trouble(errForbidden)},
		{"the end after failures", state{phase: paging, failures: 3, whole: true, begun: true, backoff: failed}, input{kind: gotPage, rv: "7"}, state{phase: watching, rv: "7", backoff: failed}, output{emit: InitDone, done: true}},
		{"the end without a version", begun, input{kind: gotPage}, again, trouble(errNoVersion)},
		{"the end of a watch", begun, input{kind: gotEnd}, again, output{done: true, delay: firstDelay}},
		{"silence", begun, input{kind: gotSilence, err: errUnknown}, again, trouble(errUnknown)},
		{"an expired token", second, input{kind: gotError, err: errExpired}, state{phase: paging, rv: "7", whole: true}, output{done: true, trouble: errExpired}},
		{"a token that is gone", second, input{kind: gotError, err: errGone}, state{phase: paging, rv: "7", whole: true}, output{done: true, trouble: errGone}},
		{
			"an expired token of a list without pages",
			state{phase: paging, begun: true, rv: "7", token: "t", whole: true},
			input{kind: gotError, err: errExpired},
			state{phase: paging, rv: "7", failures: 1, backoff: failed},
			trouble(errExpired),
		},
		{"a list without pages fails", state{phase: paging, begun: true, whole: true}, input{kind: gotError, err: errUnknown}, again, trouble(errUnknown)},
		{"a list without pages is silent", state{phase: paging, begun: true, whole: true}, input{kind: gotSilence, err: errUnknown}, again, trouble(errUnknown)},
		{"expired without a token", begun, input{kind: gotError, err: errExpired}, again, trouble(errExpired)},
		{"a broken connection", second, input{kind: gotError, err: io.ErrUnexpectedEOF}, samePage, brokenOff()},
		{"busy at a later page", second, input{kind: gotError, err: errBusy}, samePage, output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second}},
		{"silence at a later page", second, input{kind: gotSilence, err: errUnknown}, samePage, trouble(errUnknown)},
		{"a page after failures", samePage, input{kind: gotPage, rv: "8", token: "u"}, state{phase: paging, begun: true, rv: "7", token: "u", backoff: failed}, output{done: true}},
		{
			"the tenth consecutive failure of a page",
			state{phase: paging, begun: true, rv: "7", token: "t", failures: 9},
			input{kind: gotError, err: errBusy},
			state{phase: paging, rv: "7", failures: 10, backoff: failed},
			output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second},
		},
		{"forbidden", first, input{kind: gotError, err: errForbidden}, again, trouble(errForbidden)},
		{"busy", first, input{kind: gotError, err: errBusy}, again, output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second}},
		{"an invalid request", first, input{kind: gotError, err: errUnsent}, first, output{done: true, fatal: errUnsent}},
		{"the shard has changed", second, input{kind: gotMoved}, state{}, output{done: true}},
	})
}

func TestStepWatching(t *testing.T) {
	opened := state{phase: watching, rv: "7"}
	moved := state{phase: watching, rv: "8", moved: true}
	again := state{phase: watching, rv: "7", failures: 1, backoff: failed}
	unclear := state{phase: watching, rv: "7", failures: 1, unclear: 1, backoff: failed}
	listed := state{phase: streaming, backoff: failed}
	const long, short = time.Second, time.Second - 1
	check(t, []cell{
		{"an object", opened, input{kind: gotObject, rv: "8"}, moved.hearing(), output{emit: Apply}},
		{"a change", opened, input{kind: gotModified, rv: "8"}, moved.hearing(), output{emit: Apply}},
		{"a delete", opened, input{kind: gotDelete, rv: "8"}, moved.hearing(), output{emit: Delete}},
		{"a bookmark", opened, input{kind: gotBookmark, rv: "8"}, moved.hearing(), output{emit: Bookmark}},
		{"a bookmark of the same version", opened, input{kind: gotBookmark, rv: "7"}, opened.hearing(), output{emit: Bookmark}},
		{"a late end of a list", opened, input{kind: gotStart, rv: "8"}, moved.hearing(), output{emit: Bookmark}},
		{"a change of another shard", opened, input{kind: gotModified, rv: "8", foreign: true}, moved.hearing(), output{}},
		{"a delete of another shard resets the failures", state{phase: watching, rv: "7", failures: 9, unclear: 2}, input{kind: gotDelete, rv: "8", foreign: true}, moved.hearing(), output{}},
		{"an object without a version", opened, input{kind: gotObject}, opened.hearing(), output{emit: Apply}},
		{"a new version resets the failures", state{phase: watching, rv: "7", failures: 9, backoff: failed}, input{kind: gotObject, rv: "8"}, state{phase: watching, rv: "8", moved: true, backoff: failed}.hearing(), output{emit: Apply}},
		{"a page", opened, input{kind: gotPage, rv: "8"}, opened, output{done: true}},
		{"the end", opened.since(long), input{kind: gotEnd}, opened, output{done: true}},
		{"a normal end resets the failures", again.since(long), input{kind: gotEnd}, state{phase: watching, rv: "7", backoff: failed}, output{done: true}},
		{"the end of a short watch with a new version", moved.since(time.Millisecond), input{kind: gotEnd}, state{phase: watching, rv: "8"}, output{done: true, atLeast: 999 * time.Millisecond}},
		{"the end of a watch with a new version", moved.since(long), input{kind: gotEnd}, state{phase: watching, rv: "8"}, output{done: true}},
		{"the end of a short watch", opened.since(short), input{kind: gotEnd}, again, trouble(errShort)},
		{"silence", opened, input{kind: gotSilence, err: errUnknown}, again, trouble(errUnknown)},
		{"a connection that breaks without a new version", opened.since(long), input{kind: gotError, err: io.ErrUnexpectedEOF}, again, brokenOff()},
		{"a connection that breaks after a new version", moved, input{kind: gotError, err: io.ErrUnexpectedEOF}, state{phase: watching, rv: "8"}, output{done: true, trouble: io.ErrUnexpectedEOF, forget: true, atLeast: time.Second}},
		{"a connection that breaks after a minute", state{phase: watching, rv: "7", failures: 9}.since(steady), input{kind: gotError, err: io.ErrUnexpectedEOF}, again, brokenOff()},
		{"a connection that breaks immediately", opened.since(short), input{kind: gotError, err: io.ErrUnexpectedEOF}, again, brokenOff()},
		{"busy", opened.since(long), input{kind: gotError, err: errBusy}, again, output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second}},
		{"unauthorized", opened, input{kind: gotError, err: status(401, "")}, again, trouble(core.ErrUnauthorized)},
		{"forbidden", opened, input{kind: gotError, err: errForbidden}, again, trouble(errForbidden)},
		{"not found", opened, input{kind: gotError, err: status(404, "")}, again, trouble(core.ErrNotFound)},
		{"unavailable", opened, input{kind: gotError, err: status(503, "")}, again, trouble(core.ErrUnavailable)},
		{"a timeout", opened, input{kind: gotError, err: status(504, "")}, again, trouble(core.ErrTimeout)},
		{"expired", moved.since(long), input{kind: gotError, err: errExpired}, listed, trouble(errExpired)},
		{"expired during an outage", state{phase: watching, rv: "7", failures: 2, marks: true, backoff: failed}, input{kind: gotError, err: errExpired}, state{marks: true, backoff: failed}, output{done: true, trouble: errExpired}},
		{"a stored version that has expired", resumed("7"), input{kind: gotError, err: errExpired}, state{}, output{done: true, trouble: errExpired}},
		{"a stored version of a busy server", resumed("7"), input{kind: gotError, err: errForbidden}, state{phase: watching, rv: "7", stored: true, failures: 1, backoff: failed}, trouble(errForbidden)},
		{"a stored version that is too new", resumed("7"), input{kind: gotError, err: errTooNew}, listed, trouble(errTooNew)},
		{"gone", opened, input{kind: gotError, err: errGone}, listed, trouble(errGone)},
		{"a version that is too new", opened, input{kind: gotError, err: errTooNew}, listed, trouble(errTooNew)},
		{"a bad request", opened, input{kind: gotError, err: status(400, "")}, listed, trouble(core.ErrBadRequest)},
		{"an internal error", opened, input{kind: gotError, err: errInternal}, unclear, trouble(errInternal)},
		{"an unknown error", opened.since(long), input{kind: gotError, err: errUnknown}, unclear, trouble(errUnknown)},
		{"an internal error after other failures", state{phase: watching, rv: "7", failures: 2}, input{kind: gotError, err: errInternal}, state{phase: watching, rv: "7", failures: 3, unclear: 1, backoff: failed}, trouble(errInternal)},
		{"a new version resets the unclear failures", state{phase: watching, rv: "7", failures: 2, unclear: 2}, input{kind: gotObject, rv: "8"}, state{phase: watching, rv: "8", moved: true}.hearing(), output{emit: Apply}},
		{"the third consecutive internal error", state{phase: watching, rv: "7", failures: 2, unclear: 2}, input{kind: gotError, err: errInternal}, listed, trouble(errInternal)},
		{"the tenth consecutive failure", state{phase: watching, rv: "7", failures: 9}, input{kind: gotError, err: errForbidden}, listed, trouble(errForbidden)},
		{"the tenth consecutive silence", state{phase: watching, rv: "7", failures: 9}, input{kind: gotSilence, err: errUnknown}, listed, trouble(errUnknown)},
		{"a bookmark soon after the watch was opened", opened.since(longestMark), input{kind: gotBookmark, rv: "8"}, moved.since(longestMark).hearing().marked(), output{emit: Bookmark}},
		{"the earliest bookmark that may be regular", opened.since(earliestMark), input{kind: gotBookmark, rv: "8"}, moved.since(earliestMark).hearing().marked(), output{emit: Bookmark}},
		{"a bookmark immediately after the watch was opened", opened.since(0), input{kind: gotBookmark, rv: "7"}, opened.since(0).hearing(), output{emit: Bookmark}},
		{"a bookmark at the end of a short watch", opened.since(earliestMark - 1).hearing(), input{kind: gotBookmark, rv: "8"}, moved.since(earliestMark - 1).hearing(), output{emit: Bookmark}},
		{"a bookmark soon after an object", opened.since(time.Hour).hearing(), input{kind: gotBookmark, rv: "7"}, opened.since(time.Hour).hearing().marked(), output{emit: Bookmark}},
		{"a late bookmark", opened.since(longestMark + 1), input{kind: gotBookmark, rv: "8"}, moved.since(longestMark + 1).hearing(), output{emit: Bookmark}},
		{"silence instead of bookmarks", opened.marked().since(markSilence), input{kind: gotSilence, err: errUnknown}, state{}, output{done: true, trouble: errMute}},
		{"the end of a watch without bookmarks", opened.marked().since(markSilence), input{kind: gotEnd}, state{}, output{done: true, trouble: errMute}},
		{"the early end of a watch without bookmarks", opened.marked().since(longestMark), input{kind: gotEnd}, opened.marked(), output{done: true}},
		{"an error of a watch without bookmarks", opened.marked().since(markSilence), input{kind: gotError, err: errBusy}, listed, output{done: true, trouble: errBusy, delay: firstDelay, atLeast: 7 * time.Second}},
		{"silence after a bookmark", opened.marked().since(time.Hour).hearing(), input{kind: gotSilence, err: errUnknown}, again.marked(), trouble(errUnknown)},
		{"an invalid request", opened, input{kind: gotError, err: errUnsent}, opened, output{done: true, fatal: errUnsent}},
		{"the shard has changed", moved.since(long), input{kind: gotMoved}, state{}, output{done: true}},
		{"the server does not select by shard", moved.since(long), input{kind: gotMoved, err: errUnknown}, state{}, output{done: true, trouble: errUnknown}},
	})
}

// TestStepHoldsItsInvariants checks that the next state can always continue: a watch has a version, Init precedes the
// objects of a list, and a request without progress is not repeated without a delay.
func TestStepHoldsItsInvariants(t *testing.T) {
	var states []state
	for _, s := range []state{
		{},
		{begun: true},
		{phase: paging},
		{phase: paging, begun: true},
		{phase: paging, begun: true, rv: "7", token: "t"},
		{phase: watching, rv: "7"},
		{phase: watching, rv: "7", moved: true},
	} {
		for _, failures := range []int{0, 2, 9, 1000} {
			s.failures = failures
			states = append(states, s)
		}
	}
	errs := []error{errExpired, errGone, errForbidden, errInternal, errBusy, errTooNew, errUnknown, io.ErrUnexpectedEOF}
	for _, s := range states {
		for kind := gotObject; kind <= gotError; kind++ {
			for _, err := range errs {
				for _, in := range []input{{rv: ""}, {rv: "8"}, {rv: "8", token: "u"}, {rv: "8", foreign: true}} {
					in.kind, in.now = kind, now
					if kind == gotError || kind == gotSilence {
						in.err = err
					}
					to, out := s.step(in)
					name := fmt.Sprintf("%+v + %+v = %+v, %+v", s, in, to, out)
					if to.phase == watching && to.rv == "" {
						t.Error("a watch without a version:", name)
					}
					listing := out.emit == InitApply || out.emit == InitDone
					if listing && !s.begun && !out.init || out.init && s.begun {
						t.Error("Init is missing or repeated:", name)
					}
					over := kind == gotEnd || kind == gotSilence || kind == gotError
					if over && !out.done {
						t.Error("the request is over, but continues:", name)
					}
					progress := s.moved || s.phase != to.phase || s.whole != to.whole
					if over && out.delay == 0 && !progress {
						t.Error("a failed request is repeated immediately:", name)
					}
				}
			}
		}
	}
}

func TestLongestTimeoutIsNotSilence(t *testing.T) {
	for _, s := range []state{{phase: streaming}, {phase: watching}, {phase: watching, marks: true}} {
		if got := s.silence(math.MaxInt64); got <= 0 {
			t.Errorf("phase %d may be silent for %v", s.phase, got)
		}
	}
}
