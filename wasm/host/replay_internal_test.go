// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-go/sdk/core/abi"
)

// TestReplayHasTheTimeLimitOfTheRecording has a module with a longer limit than the default.
func TestReplayHasTheTimeLimitOfTheRecording(t *testing.T) {
	i := newTestInstance(t, Limits{CallTimeout: time.Hour})
	var recording bytes.Buffer
	i.guest.module.Record = func() (io.Writer, error) { return &recording, nil }
	written, err := i.guest.newTape()
	if err = errors.Join(err, written.close()); err != nil {
		t.Fatal(err)
	}
	_, c, err := openTape(&recording)
	if err != nil {
		t.Fatal(err)
	}
	binary := testGuest{describes: describing(podController(""))}.encode()
	g, end, err := isolated(t.Context(), binary, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if limit := g.module.Limits.CallTimeout; limit != time.Hour {
		t.Errorf("the limit of a call is %v, want %v", limit, time.Hour)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestRecordedFailureOfTheInitialisationIsReplayed(t *testing.T) {
	const unreachable, end = 0x00, 0x0b
	guest := testGuest{describes: describing(podController("")), initialize: []byte{0, unreachable, end}}
	var recording bytes.Buffer
	h, _ := runTestHost(t, "http://127.0.0.1:1", Options{MaxFailures: 1})
	setGuest(t, h, Module{
		Name: "a", Binary: guest.encode(), Record: func() (io.Writer, error) { return &recording, nil },
	})
	await(t, "the quarantine", func() bool { return statusOf(h, "a").Phase == Quarantined })
	if calls, err := Replay(t.Context(), guest.encode(), &recording, nil); err != nil || calls != 0 {
		t.Errorf("Replay = %d, %v, want no call and the recorded failure", calls, err)
	}
}

// TestDeadlineInATrialIsThatOfTheRecording has an operation whose deadline has passed, but not in the trial.
func TestDeadlineInATrialIsThatOfTheRecording(t *testing.T) {
	i := newTestInstance(t, Limits{})
	i.open, i.guest.description.Profile = true, abi.ProfileActor
	i.guest.closed = true // no turns
	i.guest.trial = newTrial(&script{}, i.guest)
	id, err := i.submit(abi.OpDelay, marshal(abi.Delay{Millis: time.Hour.Milliseconds()}), 1)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(50 * time.Millisecond)
	if n := i.operations[id].waiting(); n != 0 {
		t.Errorf("%d items wait after a millisecond of the host, want none", n)
	}
}

// TestErrorsOfReplaysHaveNoRecordedData has a guest that sends another request than the recorded one.
func TestErrorsOfReplaysHaveNoRecordedData(t *testing.T) {
	var recording bytes.Buffer
	var left atomic.Int64
	left.Store(maxTapes)
	written := newTape(&recording, &left, cover{})
	written.output(frameCall, []byte(`1 {"token":"secret-a"}`))
	if err := written.close(); err != nil {
		t.Fatal(err)
	}
	replayed, _, err := openTape(&recording)
	if err != nil {
		t.Fatal(err)
	}
	err = replayed.emit(frameCall, []byte(`1 {"token":"secret-b","x":1}`))
	want := "frame 2 is 'c' of the operation 1 with 22 bytes, but the guest does 'c' of the operation 1 with 28 bytes, " +
		"different from byte 19"
	if !errors.Is(err, errDiverged) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("emit = %v, want %s", err, want)
	}
}
