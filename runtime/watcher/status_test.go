// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package watcher_test

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// observed records statuses without their times.
type observed struct {
	mu    sync.Mutex // guards the fields below
	last  watcher.Status
	lines []string
}

func (s *observed) add(st watcher.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = st
	err := ""
	if st.Err != nil {
		err = ": " + st.Err.Error()
	}
	s.lines = append(s.lines, fmt.Sprintf("%v@%s lists=%d failures=%d%s", st.Phase, st.ResourceVersion, st.Lists, st.Failures, err))
}

// take returns the last status and the statuses since the last call.
func (s *observed) take() (watcher.Status, []string) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return s.last, lines
}

// want checks the statuses since the last call, and returns the last one.
func (s *observed) want(t *testing.T, lines ...string) watcher.Status {
	t.Helper()
	last, got := s.take()
	if !slices.Equal(got, lines) {
		t.Errorf("statuses:\n got %q\nwant %q", got, lines)
	}
	return last
}

func TestStatusFollowsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t, "a")
		var status observed
		record(t, server, watcher.Options{OnStatus: status.add})
		status.want(t, "Listing@ lists=0 failures=0", "Watching@2 lists=1 failures=0")

		time.Sleep(time.Second)
		server.Cut(nil)
		status.want(t, "Opening@2 lists=1 failures=0", "Watching@2 lists=1 failures=0")

		time.Sleep(time.Second)
		server.Cut(io.ErrUnexpectedEOF)
		st := status.want(t, "BackingOff@2 lists=1 failures=1: unexpected EOF")
		if age := time.Since(st.Since); age != 0 {
			t.Errorf("backing off for %v", age)
		}
		time.Sleep(2 * time.Second)
		status.want(t, "Opening@2 lists=1 failures=1: unexpected EOF", "Watching@2 lists=1 failures=1")
	})
}

// Neither an event nor a bookmark arrives after the recovery.
func TestErrorIsClearedWhenTheWatchIsOpenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		var status observed
		record(t, server, watcher.Options{OnStatus: status.add})
		server.Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error {
			return fakesource.Status(403, metav1.StatusReasonForbidden)
		}})
		time.Sleep(time.Second)
		server.Cut(nil)
		time.Sleep(time.Minute)
		if st, _ := status.take(); st.Err == nil || st.Failures < 2 || st.Phase != watcher.BackingOff || time.Since(st.LastData) < time.Minute {
			t.Errorf("status of a watch that is forbidden: %+v", st)
		}
		server.Behave(fakesource.Behaviour{})
		time.Sleep(time.Minute)
		if st, _ := status.take(); st.Err != nil || st.Phase != watcher.Watching || st.LastData != st.Since {
			t.Errorf("status after the recovery: %+v", st)
		}
	})
}

func TestStatusIsNotReportedForEachEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		var status observed
		record(t, server, watcher.Options{OnStatus: status.add})
		status.take()
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			server.Put(configMap("a"))
		}
		last, lines := status.take()
		if n := len(lines); n < 5 || n > 7 {
			t.Errorf("%d statuses in a minute, want one every 10 seconds", n)
		}
		if age := time.Since(last.LastData); age >= 10*time.Second {
			t.Errorf("the last data is reported as %v old", age)
		}
	})
}
