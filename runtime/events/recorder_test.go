// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/events"
)

// run runs the recorder until the test ends or the returned function is called.
func run(t testing.TB, rec *events.Recorder) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rec.Run(ctx) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run() = %v, want the context's cause", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

var rendered = events.Event{Reason: "Rendered", Action: "Render", Note: "3 pages"}

func TestEventIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, &events.Options{Controller: "example.com/documents", Instance: "pod-0"})
		defer run(t, rec)()
		now := time.Now()
		rec.Event(doc("a"), events.Event{
			Type: events.Warning, Reason: "TemplateMissing", Action: "Render", Note: "no template",
			Related: &metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "template"},
			},
		})
		synctest.Wait()
		want := &stored{
			Type: "Warning", Reason: "TemplateMissing", Action: "Render", Note: "no template",
			ReportingController: "example.com/documents", ReportingInstance: "pod-0",
			Regarding: ref{APIVersion: "docs.example.com/v1", Kind: "Document", Namespace: "prod", Name: "a", UID: "u-1"},
			Related:   &ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "template"},
			EventTime: now.UTC().Truncate(time.Microsecond),
		}
		want.Metadata.Name, want.Metadata.Namespace = fmt.Sprintf("a.%016x-", now.UnixNano()), "prod"
		got := s.one(t)
		if prefix := want.Metadata.Name; len(got.Metadata.Name) == len(prefix)+8 {
			got.Metadata.Name = got.Metadata.Name[:len(prefix)] // without the random characters
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("stored event (-want +got):\n%s", diff)
		}
	})
}

// TestRecordersWriteEventsAtTheSameTime checks that events of several recorders have different names, also where time
// stands still. Otherwise, the server would have only one of them.
func TestRecordersWriteEventsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		var want []string
		for _, name := range []string{"one", "two", "three"} {
			rec := s.recorder(t, &events.Options{Controller: name})
			defer run(t, rec)()
			rec.Event(doc("a"), rendered)
			want = append(want, name)
		}
		synctest.Wait()
		var got []string
		for _, ev := range s.all() {
			got = append(got, ev.ReportingController)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the server has events of %v, want %v", got, want)
		}
	})
}

func TestEventHasDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		node := &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		}
		rec.Event(node, events.Event{Reason: "Drained"})
		stop()
		got := s.one(t)
		if got.Metadata.Namespace != "default" || got.Regarding.Namespace != "" {
			t.Errorf("namespaces = %q of %q, want default of none", got.Metadata.Namespace, got.Regarding.Namespace)
		}
		if got.Type != "Normal" || got.Action != "Drained" || got.ReportingController == "" ||
			!strings.HasPrefix(got.ReportingInstance, got.ReportingController) {
			t.Errorf("stored event = %+v", got)
		}
	})
}

func TestLongTextsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		long := strings.Repeat("é", 1000)
		rec := s.recorder(t, &events.Options{Instance: long})
		stop := run(t, rec)
		rec.Event(doc(strings.Repeat("a", 253)), events.Event{Reason: long, Action: long, Note: long})
		stop()
		got := s.one(t) // the server has validated the lengths
		if len(got.Note) < 1020 || !strings.HasSuffix(got.Note, "é…") || len(got.Metadata.Name) != 253 {
			t.Errorf("stored event = %+v", got)
		}
	})
}

func TestRepetitionsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		first := time.Now()
		const every, n = 10 * time.Second, 6 * 60 * 2 // two hours
		for i := range n {
			other := rendered
			other.Note = fmt.Sprintf("%d pages", i)
			d := doc("a")
			d.ResourceVersion = fmt.Sprint(i) // the object changes every time
			rec.Event(d, other)
			time.Sleep(every)
		}
		log := s.log()
		if len(log) < 5 || len(log) > 12 || log[0] != "POST prod" || log[1] != "PATCH prod" {
			t.Errorf("%d requests %v, want about ten", len(log), log)
		}
		if seen := s.one(t).count(); seen < n*3/4 {
			t.Errorf("the server has %d of %d repetitions", seen, n)
		}
		last := time.Now().Add(-every)
		time.Sleep(10 * time.Minute)
		got := s.one(t)
		if got.count() != n || !got.Series.LastObservedTime.Equal(last) || !got.EventTime.Equal(first) {
			t.Errorf("the ended series counts %d at %v, want %d at %v", got.count(), got.Series.LastObservedTime, n, last)
		}
		if got.Note != "0 pages" {
			t.Errorf("note = %q, want the first", got.Note)
		}

		rec.Event(doc("a"), rendered)
		stop()
		if all := s.all(); len(all) != 2 {
			t.Errorf("%d events, want a new one after the series has ended", len(all))
		}
	})
}

func TestDifferentEventsAreNotCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		reborn := doc("a")
		reborn.UID = "u-2"
		warning, reason, action, related := rendered, rendered, rendered, rendered
		warning.Type, reason.Reason, action.Action, related.Related = events.Warning, "Lost", "Lose", doc("z")
		rec.Event(doc("a"), rendered)
		rec.Event(doc("b"), rendered)
		rec.Event(reborn, rendered)
		for _, e := range []events.Event{warning, reason, action, related} {
			rec.Event(doc("a"), e)
		}
		stop()
		if got := len(s.all()); got != 7 {
			t.Errorf("%d events, want 7", got)
		}
	})
}

func TestExpiredEventIsCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		rec.Event(doc("a"), rendered)
		synctest.Wait()
		s.mu.Lock()
		clear(s.events)
		s.mu.Unlock()
		rec.Event(doc("a"), rendered)
		stop()
		if diff := cmp.Diff([]string{"POST prod", "PATCH prod", "POST prod"}, s.log()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got := s.one(t).count(); got != 2 {
			t.Errorf("count = %d, want 2", got)
		}
	})
}

// TestAResponseOfAProxyDoesNotDuplicateAnEvent checks that an event that a proxy does not find is not created again.
func TestAResponseOfAProxyDoesNotDuplicateAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := false
		s := &server{refuse: func(string) int {
			if wrong {
				return 404
			}
			return 0
		}}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		set := func(to bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			wrong = to
		}
		rec.Event(doc("a"), rendered)
		synctest.Wait()
		set(true)
		rec.Event(doc("a"), rendered)
		time.Sleep(30 * time.Second)
		set(false)
		time.Sleep(time.Minute)
		stop()
		if got := s.one(t).count(); got != 2 {
			t.Errorf("count = %d, want 2", got)
		}
	})
}

func TestEventsAreWrittenAfterAnOutage(t *testing.T) {
	for _, code := range []int{503, 404} { // a proxy without its server may respond 404
		testOutage(t, code)
	}
}

func testOutage(t *testing.T, code int) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		s := &server{refuse: func(string) int {
			if down {
				return code
			}
			return 0
		}}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		for i := range 50 {
			rec.Event(doc("a"), rendered)
			rec.Event(doc(fmt.Sprint("b", i%10)), rendered)
		}
		time.Sleep(2 * time.Minute)
		if n := len(s.log()); n < 4 || n > 12 {
			t.Errorf("%d requests in two minutes to a server that is down", n)
		}
		s.mu.Lock()
		down = false
		s.mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		total := 0
		for _, ev := range s.all() {
			total += ev.count()
		}
		if total != 100 || len(s.all()) != 11 || rec.Dropped() != 0 {
			t.Errorf("%d events in %d series, %d dropped; want 100 in 11, 0", total, len(s.all()), rec.Dropped())
		}
	})
}

func TestLostResponseDoesNotDuplicateAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lose: true}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		rec.Event(doc("a"), rendered)
		synctest.Wait()
		s.mu.Lock()
		s.lose = false
		s.mu.Unlock()
		time.Sleep(time.Minute)
		stop()
		if diff := cmp.Diff([]string{"POST prod", "POST prod"}, s.log()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got := s.one(t).count(); got != 1 || rec.Dropped() != 0 {
			t.Errorf("count = %d, dropped = %d", got, rec.Dropped())
		}
	})
}

// TestLostResponseDoesNotLoseRepetitions checks that the count reaches the server if the event was created by a request
// without a response, as when Run ends during the request.
func TestLostResponseDoesNotLoseRepetitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lose: true}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		rec.Event(doc("a"), rendered)
		synctest.Wait()
		s.mu.Lock()
		s.lose = false
		s.mu.Unlock()
		for range 4 {
			rec.Event(doc("a"), rendered)
		}
		stop()
		if diff := cmp.Diff([]string{"POST prod", "POST prod", "PATCH prod"}, s.log()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got := s.one(t).count(); got != 5 || rec.Dropped() != 0 {
			t.Errorf("count = %d, dropped = %d; want 5, 0", got, rec.Dropped())
		}
	})
}

// TestFailingNamespaceDoesNotDelayEventsOfOthers checks that an admission webhook that fails for one namespace delays
// only the events of its objects.
func TestFailingNamespaceDoesNotDelayEventsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing atomic.Int32
		s := &server{}
		s.handling = func(r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refuse = nil
			if strings.Contains(r.URL.Path, "/namespaces/bad/") {
				failing.Add(1)
				s.refuse = func(string) int { return 500 }
			}
		}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		for i := range 20 {
			obj := doc(fmt.Sprint("bad", i))
			obj.Namespace = "bad"
			rec.Event(obj, rendered)
		}
		rec.Event(doc("a"), rendered)
		time.Sleep(time.Second / 2)
		if got := len(s.all()); got != 1 {
			t.Errorf("%d events of other namespaces after half a second, want 1", got)
		}
		time.Sleep(time.Minute) // Run waits until it tries the failing namespace again
		rec.Event(doc("b"), rendered)
		synctest.Wait()
		if got := len(s.all()); got != 2 {
			t.Errorf("%d events of other namespaces during the wait, want 2", got)
		}
		if n := failing.Load(); n < 4 || n > 10 {
			t.Errorf("%d requests in a minute for a namespace that fails", n)
		}
		stop()
	})
}

func TestMissingRunIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &server{}
		rec := s.recorder(t, &events.Options{QueueSize: 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		const missing, dropped = "events are not written while Recorder.Run is not running", `msg="events dropped" count=`
		logged := func(what string) int {
			synctest.Wait() // for the goroutine that logs
			return strings.Count(log.String(), what)
		}
		rec.Event(doc("a"), rendered)
		for range 35 {
			time.Sleep(time.Second)
			rec.Event(doc("a"), rendered)
		}
		if logged(missing) != 1 || logged(dropped) != 0 || logged(":10.000") != 1 { // bubbles begin at a full minute
			t.Errorf("log of waiting events = %s, want one warning after 10 s that Run is not running", log.String())
		}
		log.Reset()
		for i := range 300 {
			rec.Event(doc(fmt.Sprint("a", i)), rendered)
			time.Sleep(time.Second)
		}
		if logged(missing) != 5 || logged(dropped) != 5 {
			t.Errorf("log of dropped events = %s, want a warning each minute", log.String())
		}
		log.Reset()
		run(t, rec)()
		if logged(missing) != 0 || logged(dropped) != 1 {
			t.Errorf("log of Run = %s, want only the events dropped since the last warning", log.String())
		}
	})
}

// TestRejectedEventsAreRetriedRarelyAndDropped also checks that they are logged by default.
func TestRejectedEventsAreRetriedRarelyAndDropped(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		s := &server{refuse: func(string) int { return 403 }}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		for range 100 {
			rec.Event(doc("a"), rendered)
			time.Sleep(time.Second)
		}
		stop()
		if n := len(s.log()); n > 5 {
			t.Errorf("%d requests for events that are rejected", n)
		}
		if rec.Dropped() != 100 {
			t.Errorf("Dropped() = %d, want 100", rec.Dropped())
		}
		if !strings.Contains(log.String(), "forbidden") {
			t.Errorf("the log does not have the reason: %s", log.String())
		}
	})
}

func TestStopFlushesWithinTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		for range 10 {
			rec.Event(doc("a"), rendered)
			synctest.Wait()
		}
		if got := s.one(t).count(); got != 2 {
			t.Errorf("count during Run = %d, want 2", got)
		}
		stop()
		if got := s.one(t).count(); got != 10 {
			t.Errorf("count after Run = %d, want 10", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &server{handling: func(r *http.Request) { <-r.Context().Done() }} // it hangs
		rec := s.recorder(t, &events.Options{StopTimeout: 3 * time.Second})
		stop := run(t, rec)
		rec.Event(doc("a"), rendered)
		rec.Event(doc("b"), rendered)
		start := time.Now()
		synctest.Wait()
		stop()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Run ended after %v, want 3s", took)
		}
		if rec.Dropped() != 2 {
			t.Errorf("Dropped() = %d, want 2", rec.Dropped())
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, &events.Options{QueueSize: 10})
		for i := range 100 { // Run is not running
			rec.Event(doc(fmt.Sprint("a", i)), rendered)
			rec.Event(doc("a0"), rendered)
		}
		if rec.Dropped() != 90 {
			t.Errorf("Dropped() = %d, want 90", rec.Dropped())
		}
		stop := run(t, rec)
		synctest.Wait()
		for i := range 100 { // more series than are kept open
			rec.Event(doc(fmt.Sprint("b", i)), rendered)
			synctest.Wait()
		}
		stop()
		if got := len(s.all()); got != 110 || rec.Dropped() != 90 {
			t.Errorf("%d events, %d dropped; want 110, 90", got, rec.Dropped())
		}
	})
}

func TestObjectsWithoutTypeMetaAreReferencedByTheirType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		stop := run(t, rec)
		rec.Event(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}}, events.Event{
			Reason:  "R",
			Related: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "settings"}},
		})
		stop()
		got := s.one(t)
		want := ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "prod", Name: "web"}
		related := &ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "settings"}
		if diff := cmp.Diff(want, got.Regarding) + cmp.Diff(related, got.Related); diff != "" || rec.Dropped() > 0 {
			t.Errorf("dropped %d, (-want +got):\n%s", rec.Dropped(), diff)
		}
	})
}

func TestInvalidRelatedObjectIsOmitted(t *testing.T) {
	tests := []struct {
		name    string
		related core.Object
		want    string
	}{
		{"of an unknown type", &gadget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "*events_test.gadget a is unknown"},
		{"of any kind", &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "*v1.PartialObjectMetadata a is unknown"},
		{"without a name", doc(""), "*events_test.document has no name"},
		{"a nil pointer", (*document)(nil), "nil *events_test.document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := &server{}
				rec := s.recorder(t, &events.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				stop := run(t, rec)
				rec.Event(doc("a"), events.Event{Reason: "R", Related: tt.related})
				stop()
				if got := s.one(t); got.Related != nil || got.Reason != "R" || rec.Dropped() > 0 {
					t.Errorf("event %+v, dropped %d, want the event without its related object", got, rec.Dropped())
				}
				if lines := strings.Count(log.String(), "level=WARN"); lines != 1 || !strings.Contains(log.String(), tt.want) {
					t.Errorf("log %q, want a warning with %q", log.String(), tt.want)
				}
			})
		})
	}
}

func TestInvalidEventsAreDropped(t *testing.T) {
	tests := []struct {
		name string
		obj  core.Object
		e    events.Event
		want string
	}{
		{name: "no reason", obj: doc("a"), want: "reason is empty"},
		{name: "an unknown type", obj: doc("a"), e: events.Event{Reason: "R", Type: "Error"}, want: "want Normal or Warning"},
		{name: "no object", e: events.Event{Reason: "R"}, want: "object is nil"},
		{name: "an object without a name", obj: doc(""), e: events.Event{Reason: "R"}, want: "no name"},
		{name: "an unknown kind", obj: &gadget{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, e: events.Event{Reason: "R"}, want: "is unknown"},
		{name: "a nil pointer", obj: (*document)(nil), e: events.Event{Reason: "R"}, want: "nil *events_test.document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				s := &server{}
				rec := s.recorder(t, &events.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				stop := run(t, rec)
				rec.Event(tt.obj, tt.e)
				stop()
				if len(s.log()) > 0 || rec.Dropped() != 1 || !strings.Contains(log.String(), tt.want) {
					t.Errorf("requests %v, dropped %d, log %q; want 0, 1, %q", s.log(), rec.Dropped(), log.String(), tt.want)
				}
			})
		})
	}
}

func TestRunRejectsInvalidOptionsAndConcurrentCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := (&server{}).recorder(t, &events.Options{Controller: "my controller"})
		if err := rec.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"my controller"`) {
			t.Errorf("Run() = %v, want an error about the name", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		rec := (&server{}).recorder(t, nil)
		defer run(t, rec)()
		synctest.Wait()
		if err := rec.Run(t.Context()); err == nil {
			t.Error("a concurrent Run() = nil, want an error")
		}
	})
}

// TestRequestsHaveARate checks that a burst of different events of many objects reaches the server at the rate of the
// options, also when Run ends.
func TestRequestsHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, &events.Options{RequestsPerSecond: 2})
		stop := run(t, rec)
		for i := range 50 {
			rec.Event(doc(fmt.Sprint("a", i)), rendered)
		}
		synctest.Wait()
		if got := len(s.log()); got != 10 {
			t.Errorf("%d requests at once, want the burst of 10", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := len(s.log()); got != 30 {
			t.Errorf("%d requests after 10 s, want 30", got)
		}
		stop() // flushes for 5 seconds
		// The next request and the end of the flush have the same time.
		if got, lost := len(s.log()), int(rec.Dropped()); got < 39 || got > 40 || got+lost != 50 {
			t.Errorf("%d requests and %d dropped events after Run, want 39 or 40, and 50 together", got, lost)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		rec := s.recorder(t, nil)
		defer run(t, rec)()
		for i := range 1000 {
			rec.Event(doc(fmt.Sprint("a", i)), rendered)
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := len(s.log()); got != 300 {
			t.Errorf("%d requests in 10 s by default, want 300", got)
		}
		time.Sleep(35 * time.Second)
	})
}

// TestEventsOfOneObjectHaveALimit checks that a reason that always differs does not fill the server, and that the log
// says why events are missing.
func TestEventsOfOneObjectHaveALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &server{}
		rec := s.recorder(t, &events.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		stop := run(t, rec)
		for i := range 600 { // ten minutes
			rec.Event(doc("a"), events.Event{Reason: fmt.Sprintf("Attempt%d", i)})
			time.Sleep(time.Second)
		}
		stop()
		if got := len(s.log()); got < 26 || got > 27 {
			t.Errorf("%d requests for events of one object in ten minutes, want 25 and one each 5 minutes", got)
		}
		if want := "events dropped: an object has too many different ones"; !strings.Contains(log.String(), want) ||
			!strings.Contains(log.String(), "namespace=prod name=a") || strings.Contains(log.String(), `msg="events dropped" `) {
			t.Errorf("log = %s, want only warnings with %q and the object", log.String(), want)
		}
	})
}

// TestBusyRecorderReports checks that dropped events are logged while the queue is never empty.
func TestBusyRecorderReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &server{}
		rec := s.recorder(t, &events.Options{QueueSize: 10, RequestsPerSecond: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		stop := run(t, rec)
		for i := range 3000 { // five minutes, ten times faster than the rate
			rec.Event(doc(fmt.Sprint("a", i)), rendered)
			time.Sleep(100 * time.Millisecond)
		}
		logged := strings.Count(log.String(), `msg="events dropped" count=`)
		stop()
		if logged < 8 || logged > 12 {
			t.Errorf("%d warnings in five minutes, want about 10: %s", logged, log.String())
		}
	})
}

func TestRunRejectsANilClientAndAnInvalidRate(t *testing.T) {
	rec := events.NewRecorder(nil, nil)
	rec.Event(doc("a"), rendered)
	if err := rec.Run(t.Context()); err == nil || err.Error() != "event recorder: the client is nil: pass one of client.New" {
		t.Errorf("Run() = %v, want an error about the client", err)
	}
	for _, rate := range []float64{-1, math.NaN(), math.Inf(1)} {
		rec := (&server{}).recorder(t, &events.Options{RequestsPerSecond: rate})
		if err := rec.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Options.RequestsPerSecond is ") {
			t.Errorf("Run() with a rate of %v = %v", rate, err)
		}
	}
	for want, o := range map[string]*events.Options{
		"Options.QueueSize: -1 is negative":     {QueueSize: -1},
		"Options.StopTimeout: -1ns is negative": {StopTimeout: -1},
	} {
		rec := (&server{}).recorder(t, o)
		rec.Event(doc("a"), rendered)
		if err := rec.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run() = %v, want %s", err, want)
		}
	}
}
