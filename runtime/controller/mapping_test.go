// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/reflector"
)

// failing is a function for Map whose calls fail while a function says so.
func failing(fails func(*page) error) func(context.Context, *page) ([]core.ObjectRef, error) {
	return func(ctx context.Context, p *page) ([]core.ObjectRef, error) {
		if err := fails(p); err != nil {
			return nil, err
		}
		return of(ctx, p)
	}
}

func TestSlowMapDelaysNeitherOtherSourcesNorLiveChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const initial = 2000
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		for i := range initial {
			w.Put(pages, pageOf(fmt.Sprint("prod/", i)))
		}
		var mapped atomic.Int32
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(func(ctx context.Context, p *page) ([]core.ObjectRef, error) {
				<-time.After(300 * time.Millisecond)
				mapped.Add(1)
				return of(ctx, p)
			})).
			Watches(controller.Source[page](w.cache).Map(func(ctx context.Context, p *page) ([]core.ObjectRef, error) {
				if p.Name == "live" {
					return []core.ObjectRef{ref("prod/b")}, nil
				}
				return nil, nil
			}))
		start(t, c, runs.note)
		runs.wantSet(t, "a=1", "b=1")
		w.Put(documents, doc("prod/a", "2"))
		p := pageOf("prod/live")
		p.Of = []string{"a"}
		w.Put(pages, p)
		synctest.Wait()
		runs.wantSet(t, "a=2", "b=1")
		after(300 * time.Millisecond) // the call for the page; those for initial pages have ended at the same time
		runs.want(t, "a=2")
		if n := mapped.Load(); n != 4+1 {
			t.Errorf("%d calls have ended, want those for 4 initial pages and for the live one", n)
		}
		if n := c.Metrics().Mapping; n < initial-20 {
			t.Errorf("Metrics() counts %d objects that wait, want about %d", n, initial)
		}
		after(time.Hour)
		if n := mapped.Load(); n != initial+1 || c.Metrics().Mapping != 0 {
			t.Errorf("%d objects were mapped, want all %d", n, initial+1)
		}
	})
}

// calls counts the calls of a function for Map, which take a minute.
type calls struct {
	mu             sync.Mutex // guards the fields below
	live, initial  int        // current calls, by the priority of the run
	most, mostLows int        // the maximum of both, and of the initial ones
	fails          bool
}

func (c *calls) of(ctx context.Context, p *page) ([]core.ObjectRef, error) {
	run, _ := controller.RunOf(ctx)
	count := &c.live
	if run.Priority == applier.Low {
		count = &c.initial
	}
	c.add(count, 1)
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
	}
	c.add(count, -1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails {
		return nil, errNo
	}
	return of(ctx, p)
}

func (c *calls) add(count *int, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*count += n
	c.most, c.mostLows = max(c.most, c.live+c.initial), max(c.mostLows, c.initial)
}

// want checks the number of current calls.
func (c *calls) want(t *testing.T, live, initial int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != live || c.initial != initial {
		t.Errorf("%d calls for changes and %d for initial objects, want %d and %d", c.live, c.initial, live, initial)
	}
}

func TestAtMostEightCallsOfMapRunAndFourOfThemForInitialObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 20 {
			w.Put(pages, pageOf(fmt.Sprint("prod/initial-", i)))
		}
		var calls calls
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(calls.of))
		start(t, c, idle)
		calls.want(t, 0, 4)
		for i := range 4 { // none of them waits for an initial one
			w.Put(pages, pageOf(fmt.Sprint("prod/live-", i)))
		}
		synctest.Wait()
		calls.want(t, 4, 4)
		for i := range 20 {
			w.Put(pages, pageOf(fmt.Sprint("prod/live-", 4+i)))
		}
		synctest.Wait()
		calls.want(t, 4, 4)
		after(time.Minute)
		calls.want(t, 8, 0) // changes come first, and use all workers
		after(time.Hour)
		calls.want(t, 0, 0)
		if calls.most != 8 || calls.mostLows != 4 {
			t.Errorf("at most %d calls, %d of them for initial objects; want 8 and 4", calls.most, calls.mostLows)
		}
	})
}

func TestRetriesOfInitialObjectsDoNotDelayChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		for i := range 100 {
			w.Put(pages, pageOf(fmt.Sprint("prod/initial-", i)))
		}
		calls := calls{fails: true}
		var runs journal
		o := &controller.Options{Logger: w.log.logger()}
		c := controller.New(controller.For[document](w.cache), o).
			Watches(controller.Source[page](w.cache).Map(calls.of))
		start(t, c, runs.note)
		runs.take()
		after(2 * time.Hour)
		if n := len(w.log.with("can't map")); n < 400 {
			t.Errorf("%d calls have failed, want 4 a minute", n)
		}
		calls.want(t, 0, 4)
		calls.mu.Lock()
		calls.fails = false
		calls.mu.Unlock()
		w.Put(pages, pageAbout("a"))
		synctest.Wait()
		calls.want(t, 1, 4)
		after(time.Minute)
		runs.want(t, "a=1")
		after(24 * time.Hour)
		if n := c.Metrics().Mapping; n != 0 || calls.mostLows != 4 {
			t.Errorf("%d pages wait, want 0; %d calls for initial pages at the same time, want 4", n, calls.mostLows)
		}
	})
}

func TestInitialStatesAreMappedAlthoughTheObjectsChangeBefore(t *testing.T) {
	const count = 10 // more than the initial objects that are mapped at the same time
	about := func(i int, document string) *page {
		p := pageOf(fmt.Sprint("prod/", i))
		p.Of = []string{document + strconv.Itoa(i)}
		return p
	}
	for name, test := range map[string]struct {
		change func(w *world, i int)
		want   string // the documents that run
	}{
		"not changed": {func(*world, int) {}, "a"},
		"changed":     {func(w *world, i int) { w.Put(pages, about(i, "b")) }, "ab"},
		"deleted":     {func(w *world, i int) { w.Delete(pages, core.RefOf(about(i, ""))) }, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var want []string
				for i := range count {
					w.Put(documents, doc(fmt.Sprint("prod/a", i), "1"))
					w.Put(documents, doc(fmt.Sprint("prod/b", i), "1"))
					w.Put(pages, about(i, "a"))
					for _, document := range test.want {
						want = append(want, fmt.Sprint(string(document), i, "=1"))
					}
				}
				var runs journal
				var calls calls
				c := controller.New(controller.For[document](w.cache), nil).
					Watches(controller.Source[page](w.cache).Map(calls.of))
				start(t, c, runs.note)
				runs.take()
				for i := range count {
					test.change(w, i)
				}
				after(time.Hour)
				got := runs.take()
				slices.Sort(got)
				slices.Sort(want)
				if got = slices.Compact(got); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// lateFeed is a feed that delivers its first object after a change of another one.
type lateFeed struct {
	*cache.View[page]
	change func(first core.ObjectRef)
}

func (f lateFeed) Subscribe(ctx context.Context) iter.Seq2[reflector.Change, error] {
	return func(yield func(reflector.Change, error) bool) {
		first := true
		for c, err := range f.View.Subscribe(ctx) {
			if first {
				f.change(c.Ref)
				<-time.After(time.Second)
			}
			first = false
			if !yield(c, err) {
				return
			}
		}
	}
}

func TestObjectThatHasChangedBeforeItsDeliveryIsNotMappedWithTheInitialOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		for i := range 100 {
			w.Put(pages, pageOf(fmt.Sprint("prod/", i)))
		}
		feed := lateFeed{viewOf[page](w), func(first core.ObjectRef) {
			p := pageOf("prod/0")
			if first == core.RefOf(p) {
				p = pageOf("prod/1")
			}
			p.Of = []string{"a"}
			w.Put(pages, p)
		}}
		var runs journal
		var calls calls
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.SourceFeed[page](feed).Map(calls.of))
		start(t, c, runs.note)
		after(time.Second)
		runs.take()
		calls.want(t, 1, 4)
		after(time.Minute)
		runs.want(t, "a=1")
	})
}

func TestInitialObjectsOfAClusterThatLeavesDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		for i := range 20 {
			spoke.Put(pages, pageOf(fmt.Sprint("prod/", i)))
		}
		var calls calls
		c := controller.New(controller.For[document](hub.cache), &controller.Options{Logger: spoke.log.logger()}).
			Watches(controller.Source[page](hub.cache).Map(calls.of))
		start(t, c, idle)
		for i := range 8 {
			hub.Put(pages, pageOf(fmt.Sprint("prod/", i)))
		}
		synctest.Wait()
		leave := engage(t, c, spoke) // its initial objects wait for the calls for the pages of hub
		calls.want(t, 8, 0)
		leave()
		if n := c.Metrics().Mapping; n != 0 {
			t.Errorf("%d objects of the cluster that has left wait", n)
		}
		leave = engage(t, c, spoke)
		after(time.Minute)
		calls.want(t, 0, 4)
		after(time.Hour)
		if n := c.Metrics().Mapping; n != 0 {
			t.Errorf("%d objects wait", n)
		}
		leave()
	})
}

func TestFailedMapIsLoggedAndRetriedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		var down atomic.Bool
		o := &controller.Options{Logger: w.log.logger(), Retry: &applier.Backoff{InitialBackoff: time.Minute}}
		c := controller.New(controller.For[document](w.cache), o).
			Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
				if down.Load() {
					return errNo
				}
				return nil
			})))
		start(t, c, runs.note)
		runs.take()
		down.Store(true)
		w.Put(pages, pageAbout("a"))
		synctest.Wait()
		if lines := w.log.with("can't map a changed object"); len(lines) != 1 ||
			!strings.Contains(lines[0], `object=prod/p err=no cause="added pages.docs.example.com prod/p" retryIn=1m0s`) {
			t.Errorf("the log does not report the failure:\n%s", w.log)
		}
		down.Store(false)
		after(time.Minute - 1)
		runs.want(t)
		after(1)
		runs.want(t, "a=1")
	})
}

func TestStatesAreNotLostWhileTheirMappingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			w.Put(documents, doc("prod/"+name, "1"))
		}
		w.Put(pages, pageAbout("a"))
		var runs journal
		var down atomic.Bool
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(failing(func(p *page) error {
				if down.Load() && p.Of[0] != "c" {
					return errNo
				}
				return nil
			})))
		start(t, c, runs.note)
		runs.take()
		down.Store(true)
		for _, name := range []string{"b", "c", "d"} {
			w.Put(pages, pageAbout(name))
			synctest.Wait()
		}
		w.Delete(pages, ref("prod/p"))
		after(time.Minute)
		// The changes to and from c are mapped immediately, those of the others fail.
		runs.want(t, "c=1", "c=1")
		down.Store(false)
		after(time.Hour)
		runs.wantSet(t, "a=1", "b=1", "d=1")
	})
}

// TestStatesBetweenWaitingChangesAreMapped checks that an object that a run may have found in a changed object runs
// again when the changed object leaves it, also if the function of Map has not been called for that state.
func TestStatesBetweenWaitingChangesAreMapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 14 {
			w.Put(documents, doc(fmt.Sprintf("prod/%02d", i), "1"))
		}
		w.Put(pages, pageAbout("00"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
				<-time.After(time.Minute)
				return nil
			})))
		start(t, c, runs.note)
		after(time.Hour)
		runs.take()
		var want []string
		for i := range 13 { // the first change is mapped while the others wait
			w.Put(pages, pageAbout(fmt.Sprintf("%02d", i+1)))
			synctest.Wait()
			if i < 2 || i >= 5 { // the oldest ones, and the newest eight before the last one
				want = append(want, fmt.Sprintf("%02d=1", i))
			}
		}
		after(time.Hour)
		all := runs.take()
		slices.Sort(all)
		if all = slices.Compact(all); !slices.Equal(all, append(want, "13=1")) {
			t.Errorf("the runs are %v, want %v", all, append(want, "13=1"))
		}
	})
}

// mapsSlowly runs a controller of the documents a, b and c, whose function of Map takes a minute for the page p. The
// page is about a, and has been mapped.
func mapsSlowly(t *testing.T) (w *world, runs *journal) {
	t.Helper()
	w, runs = newWorld(t), new(journal)
	for _, name := range []string{"a", "b", "c"} {
		w.Put(documents, doc("prod/"+name, "1"))
	}
	w.Put(pages, pageAbout("a"))
	c := controller.New(controller.For[document](w.cache), nil).
		Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
			<-time.After(time.Minute)
			return nil
		})))
	start(t, c, runs.note)
	after(time.Hour)
	runs.take()
	return w, runs
}

// TestNewestStateIsMappedFirst checks that what a changed object concerns does not wait for the calls of Map with its
// older states.
func TestNewestStateIsMappedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, runs := mapsSlowly(t)
		for _, name := range []string{"b", "c"} { // the second one waits for the calls for the first one
			w.Put(pages, pageAbout(name))
			synctest.Wait()
		}
		after(time.Second)
		for _, name := range []string{"b", "a", "c", "b"} {
			after(time.Minute)
			runs.want(t, name+"=1")
		}
	})
}

func TestLastStateOfADeletedObjectIsMapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, runs := mapsSlowly(t)
		for _, name := range []string{"b", "c"} { // the second one waits for the call for the first one
			w.Put(pages, pageAbout(name))
			synctest.Wait()
		}
		w.Delete(pages, ref("prod/p"))
		after(time.Hour)
		runs.wantSet(t, "a=1", "b=1", "b=1", "c=1")
	})
}

func TestLastStatesOfAllDeletionsAreMapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 12 {
			w.Put(documents, doc(fmt.Sprintf("prod/%02d", i), "1"))
		}
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
				<-time.After(time.Minute)
				return nil
			})))
		start(t, c, runs.note)
		runs.take()
		var want []string
		for i := range 12 { // the first state is mapped while the others wait
			w.Put(pages, pageAbout(fmt.Sprintf("%02d", i)))
			synctest.Wait()
			w.Delete(pages, ref("prod/p"))
			synctest.Wait()
			if i == 0 || i >= 3 { // the last one, and the newest eight before it
				want = append(want, fmt.Sprintf("%02d=1", i))
			}
		}
		after(time.Hour)
		all := runs.take()
		slices.Sort(all)
		if all = slices.Compact(all); !slices.Equal(all, want) {
			t.Errorf("the runs are %v, want %v", all, want)
		}
	})
}

func TestOnlyTheNewestEightFailedStatesOfAnObjectAreMappedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var runs journal
		var up atomic.Bool
		o := &controller.Options{Logger: w.log.logger()}
		c := controller.New(controller.For[document](w.cache), o).
			Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
				if !up.Load() {
					return errNo
				}
				return nil
			})))
		start(t, c, runs.note)
		var want []string
		for i := range 10 {
			w.Put(documents, doc(fmt.Sprint("prod/", i), "1"))
			w.Put(pages, pageAbout(strconv.Itoa(i)))
			synctest.Wait()
			if i >= 2 {
				want = append(want, fmt.Sprint(i, "=1"))
			}
		}
		runs.take()
		if n := len(w.log.with("forgottenStates=1")); n != 2 {
			t.Errorf("%d log records report a state that is not mapped again, want 2:\n%s", n, w.log)
		}
		up.Store(true)
		after(time.Hour)
		runs.wantSet(t, want...)
	})
}

func TestTerminalErrorOfMapIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(pages, pageAbout("a"))
		calls := 0
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
				calls++
				return nil, core.Terminal(errNo)
			}))
		start(t, c, idle)
		after(time.Hour)
		if lines := w.log.with("can't map a changed object"); calls != 1 || len(lines) != 1 {
			t.Errorf("%d calls and %d log records, want 1 each", calls, len(lines))
		}
	})
}

func TestMapThatEndsItsGoroutineIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		calls := 0
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(failing(func(*page) error {
				if calls++; calls < 20 {
					runtime.Goexit()
				}
				return nil
			})))
		start(t, c, runs.note)
		runs.take()
		w.Put(pages, pageAbout("a"))
		after(2 * time.Hour)
		runs.want(t, "a=1")
		if lines := w.log.with("runtime.Goexit was called"); len(lines) != 19 {
			t.Errorf("the log has %d records, want 19", len(lines))
		}
	})
}

func TestMapThatIgnoresItsContextDoesNotHangTheEndOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(pages, pageAbout("a"))
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.Source[page](w.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
				<-release
				return nil, nil
			}))
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, idle) }()
		synctest.Wait()
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) || !strings.Contains(err.Error(), "1 call of a function of Map "+
			"has not returned 10s after the end of its context: pages.docs.example.com prod/p") {
			t.Errorf("Run() = %v, want an error that names the object", err)
		}
		close(release)
	})
}

// slowMap returns a controller of documents with a function of Map that takes at most a minute.
func slowMap(w *world, f func(context.Context) error) *controller.Controller[document] {
	o := &controller.Options{
		Logger: w.log.logger(), RunTimeout: time.Minute, Retry: &applier.Backoff{InitialBackoff: time.Hour},
	}
	return controller.New(controller.For[document](w.cache), o).
		Watches(controller.Source[page](w.cache).Map(func(ctx context.Context, _ *page) ([]core.ObjectRef, error) {
			return nil, f(ctx)
		}))
}

func TestContextOfMapEndsAfterRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(pages, pageAbout("a"))
		c := slowMap(w, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		start(t, c, idle)
		after(time.Minute)
		want := `err="the call of Map for pages.docs.example.com prod/p has taken longer than Options.RunTimeout, ` +
			`which is 1m0s: context deadline exceeded" cause="initial pages.docs.example.com prod/p" retryIn=1h0m0s`
		if lines := w.log.with("can't map a changed object"); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("the log does not report the end of the call's context:\n%s", w.log)
		}
		after(30 * time.Minute)
		if lines := w.log.with("stuck"); len(lines) > 0 || len(c.Runs()) > 0 {
			t.Errorf("a call that has returned is reported as stuck: %s, %+v", lines, c.Runs())
		}
	})
}

func TestStuckCallOfMapIsReportedOnceWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(pages, pageAbout("a"))
		release := make(chan struct{})
		c := slowMap(w, func(context.Context) error {
			<-release
			return nil
		})
		start(t, c, idle)
		after(69 * time.Second)
		runs := c.Runs()
		if len(runs) != 1 || runs[0].Source.Kind != "Page" || runs[0].Key.Ref != ref("prod/p") ||
			runs[0].Age != 69*time.Second || runs[0].Cause.Type != controller.CauseInitial || runs[0].Err != nil {
			t.Errorf("Runs() = %+v, want a call that is not stuck yet", runs)
		}
		after(time.Hour)
		runs = c.Runs()
		if len(runs) != 1 || runs[0].Err == nil || !strings.Contains(runs[0].Err.Error(), "the call of Map") {
			t.Errorf("Runs() = %+v, want a call that is stuck", runs)
		}
		if m := c.Metrics(); m.Unfinished != 0 || m.OldestRun != 0 {
			t.Errorf("the call counts as a run of a reconcile: %+v", m)
		}
		lines := w.log.with("call of Map is stuck")
		if len(lines) != 1 || !strings.Contains(lines[0], "kind=Page object=prod/p age=1m10s") ||
			!strings.Contains(lines[0], "mapping_test.go") {
			t.Errorf("the log does not have the call with its stack once:\n%s", w.log)
		}
		close(release)
		synctest.Wait()
		if len(c.Runs()) != 0 {
			t.Errorf("Runs() = %+v, want none", c.Runs())
		}
	})
}

func TestMappingOfAClusterThatLeavesIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		spoke.Put(pages, pageAbout("a"))
		o := &controller.Options{Logger: spoke.log.logger()}
		c := controller.New(controller.For[document](hub.cache), o).
			Watches(controller.Source[page](hub.cache).Map(failing(func(*page) error { return errNo })))
		start(t, c, idle)
		leave := engage(t, c, spoke)
		if n := c.Metrics().Mapping; n != 1 {
			t.Errorf("%d objects wait, want 1", n)
		}
		leave()
		if n := c.Metrics().Mapping; n != 0 {
			t.Errorf("%d objects of the cluster that has left wait", n)
		}
	})
}

func TestMapFindsTheClusterOfTheChangedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		for _, w := range []*world{hub, spoke} {
			w.Put(documents, doc("prod/b", "1"))
		}
		// Each cluster has an index of its own, which finds the documents of a text.
		var indexes sync.Map
		for _, w := range []*world{hub, spoke} {
			indexes.Store(w.cache.Cluster(), reflector.IndexBy(viewOf[document](w).Store(), func(d *document) []string {
				return []string{d.Text}
			}))
		}
		var runs, calls journal
		o := runs.keys(&controller.Options{Logger: spoke.log.logger()})
		c := controller.New(controller.For[document](hub.cache), o).
			Watches(controller.Source[page](hub.cache).Map(func(ctx context.Context, p *page) ([]core.ObjectRef, error) {
				var refs []core.ObjectRef
				run, ok := controller.RunOf(ctx)
				calls.add(fmt.Sprint(run.Key, " ", run.Causes[0], " ", ok))
				controller.Logger(ctx).Info("mapped")
				index, _ := indexes.Load(run.Key.Cluster)
				for d, err := range index.(*reflector.Index[document, string]).All(p.Of[0]) {
					if err != nil {
						return nil, err
					}
					refs = append(refs, core.RefOf(d))
				}
				return refs, nil
			}))
		start(t, c, idle)
		defer engage(t, c, spoke)()
		spoke.Put(documents, doc("prod/b", "2"))
		synctest.Wait()
		runs.take()
		for _, text := range []string{"1", "2"} {
			spoke.Put(pages, pageAbout(text))
			synctest.Wait()
		}
		runs.wantSet(t, "spoke:prod/a", "spoke:prod/a", "spoke:prod/b")
		calls.want(t, "spoke:prod/p added pages.docs.example.com spoke:prod/p true",
			"spoke:prod/p modified pages.docs.example.com spoke:prod/p true",
			"spoke:prod/p modified pages.docs.example.com spoke:prod/p true") // both states
		if lines := spoke.log.with("msg=mapped controller=document cluster=spoke kind=Page object=prod/p"); len(lines) != 3 {
			t.Errorf("the log does not name the changed object and its cluster:\n%s", spoke.log)
		}
	})
}

func TestMapFindsObjectsInAnIndexOfTheReconciledKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		permit := forbidden(w.Kind(documents))
		w.Put(documents, doc("prod/a", "1"))
		w.Put(pages, pageAbout("1"))
		view := viewOf[document](w)
		index := reflector.IndexBy(view.Store(), func(d *document) []string { return []string{d.Text} })
		var runs journal
		c := controller.New(controller.ForView(view), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(func(_ context.Context, p *page) (refs []core.ObjectRef, _ error) {
				for d, err := range index.All(p.Of[0]) {
					if err != nil {
						return nil, err
					}
					refs = append(refs, core.RefOf(d))
				}
				return refs, nil
			}))
		start(t, c, runs.note)
		after(time.Second)
		w.Put(pages, pageAbout("2")) // before the index is ready
		after(time.Second)
		permit()
		after(time.Minute)
		if got := runs.take(); !slices.Contains(got, "a=1") {
			t.Errorf("the runs are %q, want one of a", got)
		}
		if lines := w.log.with("can't map"); len(lines) > 0 {
			t.Errorf("the index is read before it is ready:\n%s", w.log)
		}
		w.Put(documents, doc("prod/b", "2"))
		synctest.Wait()
		runs.want(t, "b=2")
		w.Put(pages, pageAbout("2", "3"))
		synctest.Wait()
		runs.want(t, "b=2")
	})
}

func TestContextOfMapEndsWhenTheClusterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var ends journal
		c := controller.New(controller.For[document](hub.cache), &controller.Options{Logger: spoke.log.logger()}).
			Watches(controller.Source[page](hub.cache).Map(func(ctx context.Context, _ *page) ([]core.ObjectRef, error) {
				<-ctx.Done() // such as a request to the cluster
				ends.add(context.Cause(ctx).Error())
				return nil, context.Cause(ctx)
			}))
		start(t, c, idle)
		spoke.Put(pages, pageAbout("a"))
		leave := engage(t, c, spoke)
		leave()
		synctest.Wait()
		ends.want(t, errLeave.Error())
		if n, lines := c.Metrics().Mapping, spoke.log.with("can't map"); n != 0 || len(lines) != 0 {
			t.Errorf("%d objects of the cluster that has left wait, and the log is\n%s", n, spoke.log)
		}
	})
}

func TestMappingThatFailsAfterTheClusterHasLeftIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var calls journal
		c := controller.New(controller.For[document](hub.cache), &controller.Options{Logger: spoke.log.logger()}).
			Watches(controller.Source[page](hub.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
				calls.add("call")
				<-time.After(time.Minute) // it ignores its context
				panic(errNo)
			}))
		start(t, c, idle)
		spoke.Put(pages, pageAbout("a"))
		engage(t, c, spoke)()
		after(time.Hour)
		calls.want(t, "call")
		if n := c.Metrics().Mapping; n != 0 {
			t.Errorf("%d objects of the cluster that has left wait", n)
		}
	})
}
