// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestStatusOfEachPhase(t *testing.T) {
	then := now.Add(-time.Hour)
	listing := Status{Phase: Listing, Since: then}
	opening := Status{Phase: Opening, Since: then, ResourceVersion: "7", Lists: 1, LastData: then, Err: errUnknown, Failures: 2}
	open := Status{Phase: Watching, Since: then, ResourceVersion: "7", Lists: 1, LastData: then}
	listed := state{phase: watching, rv: "7"}
	for _, tt := range []struct {
		name    string
		from    Status
		state   state // after the step
		in      input
		out     output
		want    func(*Status)
		changed bool
	}{
		{"a streaming list is accepted", listing, state{}, input{kind: gotOpen}, output{}, func(st *Status) { st.LastData = now }, false},
		{"an object of a list", listing, state{begun: true}, input{kind: gotObject, rv: "9"}, output{emit: InitApply}, func(st *Status) { st.LastData = now }, false},
		{"a streaming list is complete", listing, listed, input{kind: gotStart, rv: "7"}, output{emit: InitDone}, func(st *Status) {
			*st = Status{Phase: Watching, Since: now, ResourceVersion: "7", Lists: 1, LastData: now}
		}, true},
		{"a page", Status{Phase: Listing, Since: then, Err: errUnknown, Failures: 1}, state{phase: paging}, input{kind: gotPage}, output{done: true}, func(st *Status) {
			*st = Status{Phase: Listing, Since: then, LastData: now}
		}, true},
		{"the last page", listing, listed, input{kind: gotPage, rv: "7"}, output{emit: InitDone, done: true}, func(st *Status) {
			*st = Status{Phase: Listing, Since: then, ResourceVersion: "7", Lists: 1, LastData: now}
		}, true},
		{"a watch is accepted after failures", opening, state{phase: watching, rv: "7", failures: 2}, input{kind: gotOpen}, output{}, func(st *Status) {
			*st = Status{Phase: Watching, Since: now, ResourceVersion: "7", Lists: 1, LastData: now, Failures: 2}
		}, true},
		{"a change", open, state{phase: watching, rv: "8"}, input{kind: gotObject, rv: "8"}, output{emit: Apply}, func(st *Status) {
			st.LastData, st.ResourceVersion = now, "8"
		}, false},
		{"a normal end", open, listed, input{kind: gotEnd}, output{done: true}, func(*Status) {}, false},
		{"a failure", open, state{phase: watching, rv: "7", failures: 1}, input{kind: gotError, err: errUnknown}, output{done: true, trouble: errUnknown, delay: firstDelay}, func(st *Status) {
			st.Phase, st.Since, st.Err, st.Failures = BackingOff, now, errUnknown, 1
		}, true},
		{"a list after failures", opening, state{}, input{kind: gotError, err: errUnknown}, output{done: true, trouble: errUnknown, delay: firstDelay}, func(st *Status) {
			st.Phase, st.Since, st.Failures = BackingOff, now, 3
		}, true},
		{"a failed list keeps the version", open, state{failures: 1}, input{kind: gotError, err: errExpired}, output{done: true, trouble: errExpired, delay: firstDelay}, func(st *Status) {
			st.Phase, st.Since, st.Err, st.Failures = BackingOff, now, errExpired, 1
		}, true},
		{"a short watch that delivered", open, listed, input{kind: gotEnd}, output{done: true, atLeast: 1}, func(st *Status) {
			st.Phase, st.Since = BackingOff, now
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.from
			tt.want(&want)
			tt.in.now = now
			got := tt.from
			changed := got.step(&tt.state, &tt.in, &tt.out)
			if diff := cmp.Diff(want, got, cmpopts.EquateErrors()); diff != "" || changed != tt.changed {
				t.Errorf("changed = %v, status (-want +got):\n%s", changed, diff)
			}
		})
	}
	for _, tt := range []struct {
		state   state
		want    Phase
		changed bool
	}{{state{}, Listing, true}, {state{phase: paging}, Listing, true}, {listed, Opening, false}} {
		got := opening
		changed := got.request(tt.state.phase, now)
		if got.Phase != tt.want || changed != tt.changed || !errors.Is(got.Err, errUnknown) {
			t.Errorf("request(%+v) = %+v, %v; want %v", tt.state, got, changed, tt.want)
		}
	}
}
