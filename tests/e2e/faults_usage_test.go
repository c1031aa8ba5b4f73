// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// settle waits until everything has the state of the server. A watch may wait for a minute after repeated failures.
func (s *subject) settle(t *testing.T) {
	t.Helper()
	settle(t, s.check)
}

// settle waits until a check succeeds, without a load and without faults.
func settle(t *testing.T, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		if rest(ctx, 500*time.Millisecond) != nil {
			t.Fatalf("three minutes after the last fault: %v", err)
		}
	}
}

// end checks that the subjects use about as much as before the faults, and stops them.
func (s *testbed) end(t *testing.T, subjects ...*subject) {
	t.Helper()
	began := subjects[len(subjects)-1].began
	settle(t, func(context.Context) error {
		// The bounds allow for connections that are being closed.
		u := currentUsage(t)
		if u.goroutines > 2*began.goroutines || u.heap > 2*began.heap+heapSlack() {
			return fmt.Errorf("they use %v; before the faults: %v", u, began)
		}
		return nil
	})
	s.stop(t, subjects...)
}

// stop stops the subjects, and checks that nothing of them runs after that.
func (s *testbed) stop(t *testing.T, subjects ...*subject) {
	t.Helper()
	for _, sub := range subjects {
		for _, stop := range sub.stops {
			if err := stop(); !errors.Is(err, errStopped) {
				t.Errorf("Run = %v, want the cause of its context", err)
			}
		}
	}
	settle(t, func(context.Context) error {
		for _, c := range s.clients {
			c.CloseIdleConnections() // a connection becomes idle some time after its last request was canceled
		}
		if n := goroutines(t); n > s.idle {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // a buffer returns no errors
			return fmt.Errorf("%d goroutines are left, want %d:\n%s", n, s.idle, &stacks)
		}
		return nil
	})
}

// heapSlack returns the number of bytes by which the memory of the process may grow. Unless TestSoak runs alone, only
// its goroutines are checked in fact: the bound is what other tests need that run at the same time, such as those that
// compile WebAssembly modules.
func heapSlack() uint64 {
	if os.Getenv(soakEnv) != "" {
		return 2 << 20
	}
	return 256 << 20
}

// usage is the goroutines of a test and the live memory of the process without the record of its output.
type usage struct {
	goroutines int
	heap       uint64
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines and %d KiB", u.goroutines, u.heap>>10)
}

// currentUsage collects garbage and returns the usage.
func currentUsage(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{goroutines: goroutines(t), heap: m.HeapAlloc - uint64(recorder.Memory())} //nolint:gosec // it is positive
}

// inProfile matches one stack of a goroutine profile: the number of its goroutines, their labels and their functions.
var inProfile = regexp.MustCompile(`(?m)^(\d+) @.*\n# labels: (.*)\n((?:#.*\n)*)`)

// goroutines returns the number of goroutines that the current test has started, directly or indirectly. Tests that run
// at the same time do not count.
func goroutines(t *testing.T) int {
	t.Helper()
	return goroutinesWith(t.Name(), "")
}

// goroutinesWith returns the number of goroutines whose label is the name of a test or of a part of it, and whose stack
// contains a string.
func goroutinesWith(label, inStack string) (n int) {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1) // a buffer returns no errors
	for _, stack := range inProfile.FindAllStringSubmatch(profile.String(), -1) {
		if strings.Contains(stack[2], strconv.Quote(label)) && strings.Contains(stack[3], inStack) {
			count, _ := strconv.Atoi(stack[1])
			n += count
		}
	}
	return n
}

// grown compares the mean of the last quarter of the samples with that of the second quarter. It returns an error if it
// is higher by more than a fifth and the slack.
func grown(samples []usage, slack usage) error {
	quarter := len(samples) / 4
	if quarter == 0 {
		return fmt.Errorf("there are only %d samples", len(samples))
	}
	before, after := mean(samples[quarter:2*quarter]), mean(samples[len(samples)-quarter:])
	if after.goroutines > before.goroutines*6/5+slack.goroutines || after.heap > before.heap*6/5+slack.heap {
		return fmt.Errorf("%v in the last quarter, %v in the second one", after, before)
	}
	return nil
}

func mean(samples []usage) (m usage) {
	for _, u := range samples {
		m.goroutines += u.goroutines
		m.heap += u.heap
	}
	m.goroutines /= len(samples)
	m.heap /= uint64(len(samples))
	return m
}
