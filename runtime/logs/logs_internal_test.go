// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"errors"
	"io"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/client/pod"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestResumedLogHasEachLineOnce checks that no line is lost or repeated if a log is read again from the second before,
// wherever it broke off.
func TestResumedLogHasEachLineOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  []int // when the lines were written, in milliseconds
		tail int   // the number of first lines that were not requested
	}{
		{"ordered lines", []int{10, 20, 500, 990, 1010, 2000, 2001, 5000}, 0},
		{"lines of the same time", []int{10, 10, 10, 20, 20, 1000, 1000}, 0},
		{"lines of two outputs, out of order", []int{10, 30, 20, 1010, 990, 1500, 1200, 1900}, 0},
		{"lines around a full second", []int{990, 1000, 999, 1001}, 0},
		{"the end of a log", []int{10, 20, 30, 40, 50, 60, 1060}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for left := tc.tail; left <= len(tc.log); left++ {
				var p logPosition
				var got []int
				for _, ms := range tc.log[tc.tail:left] {
					p.add(time.UnixMilli(int64(ms)))
					got = append(got, ms)
				}
				start := tc.tail // nothing was read, so the first request is repeated
				if left > tc.tail {
					start = 0
				}
				repeats := p.repeats()
				for _, ms := range tc.log[start:] {
					at := time.UnixMilli(int64(ms)).In(time.FixedZone("node", 3600))
					if !at.Before(p.since()) && !repeats(at) {
						got = append(got, ms)
					}
				}
				if diff := cmp.Diff(tc.log[tc.tail:], got); diff != "" {
					t.Errorf("interrupted after %d lines, the log is (-want +got):\n%s", left, diff)
				}
			}
		})
	}
}

// TestPositionOfAFastLogIsBounded checks that the memory of a log without pauses is bounded, and that no line is
// repeated.
func TestPositionOfAFastLogIsBounded(t *testing.T) {
	var p logPosition
	start := time.Unix(1, 0)
	const lines = 5 * logMemory
	for n := range lines {
		p.add(start.Add(time.Duration(n)))
	}
	if len(p.recent) > logMemory {
		t.Errorf("%d lines are stored, want at most %d", len(p.recent), logMemory)
	}
	repeats := p.repeats()
	for n := range lines {
		if !repeats(start.Add(time.Duration(n))) {
			t.Fatalf("line %d is repeated", n)
		}
	}
	if repeats(start.Add(lines)) {
		t.Error("a new line is lost")
	}
}

// at returns a line that was written after the given number of milliseconds.
func at(name string, ms int) pod.LogLine {
	return pod.LogLine{Pod: core.ObjectRef{Name: name}, Time: time.UnixMilli(int64(ms)), Text: time.Duration(ms * 1e6).String()}
}

// take returns the pods of the merged lines, in order, until no more lines arrive.
func take(m *logMerge, n int) (pods string, err error) {
	for range n {
		line, err := m.next()
		if err != nil {
			return pods, err
		}
		pods += line.Pod.Name
	}
	return pods, nil
}

func TestFiniteLogsAreMergedByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(-1)
		m.setOpen(true)
		for pod, times := range map[string][]int{"a": {1, 4, 5}, "b": {2, 3, 6}, "c": {}} {
			source := m.add()
			go func() {
				defer source.close()
				for _, ms := range times {
					time.Sleep(time.Hour) // the merge waits for the other log
					source.push(at(pod, ms))
				}
			}()
		}
		m.setOpen(false)
		if got, err := take(m, 10); got != "abbaab" || err != io.EOF {
			t.Errorf("order = %s, %v, want abbaab and the end", got, err)
		}
	})
}

func TestFollowedLineWaitsForOlderLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(mergeGrace)
		m.setOpen(true)
		a, b, quiet := m.add(), m.add(), m.add()
		start := time.Now()
		a.push(at("a", 2))
		go func() {
			time.Sleep(mergeGrace / 2)
			b.push(at("b", 1))
		}()
		if got, err := take(m, 2); got != "ba" || err != nil || time.Since(start) != mergeGrace*3/2 {
			t.Errorf("order = %s, %v after %v, want ba, each after its grace", got, err, time.Since(start))
		}
		quiet.close()
		b.close()
		start = time.Now()
		a.push(at("a", 3))
		if got, _ := take(m, 1); got != "a" || time.Since(start) != 0 {
			t.Errorf("the line of the only log = %s after %v, want no delay", got, time.Since(start))
		}
	})
}

// TestBacklogDoesNotWaitForAQuietLog checks that a log whose reader is ahead of the consumer is delayed by a quiet log
// only once.
func TestBacklogDoesNotWaitForAQuietLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(mergeGrace)
		busy, quiet := m.add(), m.add()
		const lines = 100 * mergeLines
		go func() {
			for i := range lines {
				busy.push(at("a", i))
			}
			busy.close()
		}()
		start := time.Now()
		if got, err := take(m, lines); len(got) != lines || err != nil {
			t.Errorf("%d lines and %v, want %d", len(got), err, lines)
		}
		if took := time.Since(start); took > 2*mergeGrace {
			t.Errorf("%d lines took %v, want no more than the wait for the first and for the last", lines, took)
		}
		quiet.close()
	})
}

// TestBacklogWaitsForALogThatWasOpenedNow checks that the existing lines of logs are in order although the node sends
// one of them later.
func TestBacklogWaitsForALogThatWasOpenedNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(mergeGrace)
		early, late := m.add(), m.add()
		const lines = 4 * mergeLines
		push := func(s *logSource, first int) {
			for i := range lines {
				s.push(at("", first+2*i))
			}
			s.close()
		}
		go push(early, 1)
		go func() {
			time.Sleep(mergeGrace / 2)
			push(late, 0)
		}()
		disordered := 0
		for i := range 2 * lines {
			if line, err := m.next(); err != nil || !line.Time.Equal(time.UnixMilli(int64(i))) {
				disordered++
			}
		}
		if disordered > 0 {
			t.Errorf("%d of %d lines are not in order", disordered, 2*lines)
		}
	})
}

func TestReaderOfALogWaitsForTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(mergeGrace)
		source := m.add()
		pushed, more := 0, true
		done := make(chan struct{})
		go func() {
			defer close(done)
			for more = source.push(at("a", 1)); more; more = source.push(at("a", 1)) {
				pushed++
			}
		}()
		synctest.Wait()
		if pushed != mergeLines {
			t.Errorf("%d lines are buffered, want %d", pushed, mergeLines)
		}
		cause := errors.New("enough")
		m.stop(cause)
		<-done
		if _, err := m.next(); !errors.Is(err, cause) {
			t.Errorf("next() = %v, want %v", err, cause)
		}
	})
}

func TestErrorFollowsTheBufferedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(-1)
		a, _ := m.add(), m.add()
		a.push(at("a", 1))
		cause := errors.New("forbidden")
		m.fail(cause)
		if got, err := take(m, 2); got != "a" || !errors.Is(err, cause) {
			t.Errorf("lines = %s, %v, want a and %v", got, err, cause)
		}
	})
}

func TestErrorIsReportedWhileAnotherLogIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(mergeGrace)
		busy, _ := m.add(), m.add()
		go func() {
			for busy.push(at("a", 1)) {
			}
		}()
		synctest.Wait()
		cause := errors.New("forbidden")
		m.fail(cause)
		if got, err := take(m, 2*mergeLines); len(got) != mergeLines || !errors.Is(err, cause) {
			t.Errorf("%d lines and %v, want the %d that have arrived and %v", len(got), err, mergeLines, cause)
		}
	})
}

// TestMemoryForDeletedPodsIsBounded checks that only pods without a reader are forgotten, the oldest first. Logs may be
// followed for a long time.
func TestMemoryForDeletedPodsIsBounded(t *testing.T) {
	pod := func(n int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(n), UID: types.UID(strconv.Itoa(n))}}
	}
	c := logCollector{found: map[core.ObjectRef]*podLogs{}}
	for n := range maxLeft + 3 {
		p := c.enter(pod(n))
		p.latest["main"] = newRun(pod(n), "main", "id", request.LogOptions{})
		if n == 0 {
			p.latest["main"].state = reading
		}
	}
	for n := range maxLeft + 2 {
		c.leave(pod(n))
	}
	for n, want := range map[int]bool{0: true, 1: false, 2: false, 3: true, maxLeft + 2: true} {
		if got := c.found[core.RefOf(pod(n))] != nil; got != want {
			t.Errorf("pod %d is in memory: %v, want %v", n, got, want)
		}
	}
	c.enter(pod(3)) // it returns
	if len(c.found) != maxLeft+1 || len(c.left) != maxLeft-1 {
		t.Errorf("%d pods in memory, of which %d have left; want %d and %d", len(c.found), len(c.left), maxLeft+1, maxLeft-1)
	}
}

func TestLinesWaitForTheLogsThatAreStillToBeFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newLogMerge(-1)
		m.setOpen(true)
		go func() {
			b := m.add()
			b.push(at("b", 2))
			b.close()
			time.Sleep(time.Minute)
			a := m.add()
			a.push(at("a", 1))
			a.close()
			m.setOpen(false)
		}()
		if got, err := take(m, 2); got != "ab" || err != nil {
			t.Errorf("order = %s, %v, want ab", got, err)
		}
	})
}
