// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/abi"
)

// patching returns a guest that sends a patch with a body in each run.
func patching(body string) testGuest {
	head := marshal(abi.Request{Method: http.MethodPatch, URL: "/api/v1/namespaces/a/configmaps/x"})
	return testGuest{
		describes: describing(podController("")), response: `{"requeueAfterMillis":1}`,
		calls: append(abi.AppendFrame(nil, head), body...),
	}
}

// borders returns the offsets at which the frames of a recording end, and those at which its runs end.
func borders(t *testing.T, recording []byte) (frames, runs []int) {
	t.Helper()
	r := bytes.NewReader(recording)
	tape, _, err := openTape(r)
	if err != nil {
		t.Fatal(err)
	}
	offset := func() int { return len(recording) - r.Len() - tape.r.Buffered() }
	for frames = []int{offset()}; ; frames = append(frames, offset()) {
		kind, _, err := tape.read()
		if err == io.EOF {
			return frames, runs[1:] // the first result is the description
		}
		if err != nil {
			t.Fatal(err)
		}
		if kind == frameResult {
			runs = append(runs, offset())
		}
	}
}

// TestRecordingsMayEndAtAnyByte cuts off a recording, as a crash of the host does.
func TestRecordingsMayEndAtAnyByte(t *testing.T) {
	text := strings.Repeat("x", 5000)
	guest := patching(text).encode()
	var sent atomic.Int64
	server := newPodServer(t, 1, "").withPatches(t, func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		_, _ = fmt.Fprint(w, text)
	})
	var recording bytes.Buffer
	h, _ := runTestHost(t, server, Options{Workers: 1})
	setGuest(t, h, Module{Name: "a", Binary: guest, Record: func() (io.Writer, error) { return &recording, nil }})
	await(t, "three runs", func() bool { return sent.Load() > 2 })
	h.Remove(t.Context(), "a")
	frames, runs := borders(t, recording.Bytes())
	whole := recording.Bytes()[:runs[1]]

	want := []abi.Rule{rule("", "configmaps", "patch"), rule("", "pods", "list", "watch")}
	near := func(end int) bool { // the end of a frame
		return slices.ContainsFunc(frames, func(border int) bool { return border-1 <= end && end <= border+1 })
	}
	for end := frames[0]; end <= len(whole); end++ {
		if !near(end) && end%100 != 0 {
			continue
		}
		rules, err := Rules(bytes.NewReader(whole[:end]))
		if err != nil {
			t.Fatalf("Rules of the first %d bytes of %d: %v", end, len(whole), err)
		}
		if diff := cmp.Diff(want, rules); end >= runs[0] && diff != "" {
			t.Fatalf("Rules of the first %d bytes of %d (-want +got)\n%s", end, len(whole), diff)
		}
	}

	o := &RecordingOptions{CompilationDir: t.TempDir()}
	for end := runs[0]; end <= len(whole); end++ {
		if !near(end) && end%4000 != 0 {
			continue
		}
		if _, err := Replay(t.Context(), guest, bytes.NewReader(whole[:end]), o); err != nil {
			t.Errorf("Replay of the first %d bytes of %d: %v", end, len(whole), err)
		}
		complete := 0 // runs, each of which sends a write and returns a result
		for _, run := range runs {
			if run <= end {
				complete++
			}
		}
		found, err := Compare(t.Context(), guest, bytes.NewReader(whole[:end]), o)
		if err != nil {
			t.Fatalf("Compare with the first %d bytes of %d: %v", end, len(whole), err)
		}
		if len(found.Differences) > 0 || found.Same != 2*complete {
			t.Errorf("Compare with the first %d bytes of %d has %d same writes and results and %d differences, want %d and none",
				end, len(whole), found.Same, len(found.Differences), 2*complete)
		}
	}
}

// TestRecordingOfAModuleWithOtherLimitsIsAccepted has more watches than the default limit.
func TestRecordingOfAModuleWithOtherLimitsIsAccepted(t *testing.T) {
	var controllers []string
	for n := range 130 {
		controllers = append(controllers, fmt.Sprintf(`{"name":"c%d","for":%s}`, n, podWatch("")))
	}
	guest := testGuest{describes: describing(controllers...), response: `{}`}.encode()
	h, _ := runTestHost(t, newPodServer(t, 1, "").URL, Options{Workers: 1})
	var recording bytes.Buffer
	first := true
	setGuest(t, h, Module{
		Name: "a", Binary: guest, Limits: Limits{Watches: len(controllers)},
		Record: func() (io.Writer, error) {
			if !first {
				return io.Discard, nil
			}
			first = false
			return &recording, nil
		},
	})
	await(t, "a call", func() bool { return statusOf(h, "a").Stats.Calls > 3 })
	h.Remove(t.Context(), "a")
	if _, err := Replay(t.Context(), guest, bytes.NewReader(recording.Bytes()), nil); err != nil {
		t.Errorf("Replay = %v", err)
	}
	found, err := Compare(t.Context(), guest, bytes.NewReader(recording.Bytes()), nil)
	if err != nil || len(found.Differences) > 0 {
		t.Errorf("Compare with its own recording = %+v, %v", found, err)
	}
}

// TestReplayFindsAnotherResult has a recording with a result that the guest does not return.
func TestReplayFindsAnotherResult(t *testing.T) {
	guest := testGuest{describes: describing(podController(""))}.encode()
	var recording bytes.Buffer
	tape := newTape(&recording, room(), cover{Digest: digestOf(guest), Memory: 1 << 28})
	tape.output(frameExport, marshal(&export{Name: abi.Describe}))
	tape.output(frameResult, []byte("other"))
	if err := tape.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(t.Context(), guest, &recording, nil); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("Replay of a changed recording = %v, want that it differs", err)
	}
}
