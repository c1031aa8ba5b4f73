// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

func TestStopStartsNoRunsAndWaitsForCurrentRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 4 {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
		}
		var begun, finished journal
		stop := start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 2}),
			func(ctx context.Context, d *document) (controller.Action, error) {
				begun.add(d.Name)
				select {
				case <-time.After(20 * time.Second):
					finished.add(d.Name)
				case <-ctx.Done():
				}
				return controller.RequeueAfter(0), nil
			})
		began := time.Now()
		stop()
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("it took %v, want as long as the runs", took)
		}
		a, b := begun.take(), finished.take()
		if len(a) != 2 || len(b) != 2 {
			t.Errorf("%q began and %q finished, want the two that were running", a, b)
		}
	})
}

func TestContextOfARunEndsAfterStopTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var cause error
		c := controller.New(controller.For[document](w.cache), &controller.Options{StopTimeout: time.Minute})
		stop := start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return controller.AwaitChange(), cause
		})
		began := time.Now()
		stop()
		if took := time.Since(began); took != time.Minute || cause != errStop {
			t.Errorf("the context of the run ended after %v with %v, want the cause after a minute", took, cause)
		}
	})
}

// While the last runs finish, the objects that they read are still updated.
func TestCacheIsUpdatedWhileRunsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		store := viewOf[document](w).Store()
		stop := start(t, controller.New(controller.For[document](w.cache), nil),
			func(_ context.Context, d *document) (controller.Action, error) {
				<-time.After(10 * time.Second)
				if now, err := store.Get(ref("prod/a")); err != nil || now.Text != "2" {
					t.Errorf("Get() = %v, %v, want the newest state", now, err)
				}
				return controller.AwaitChange(), nil
			})
		time.AfterFunc(5*time.Second, func() { w.Put(documents, doc("prod/a", "2")) })
		stop()
	})
}

// bubble returns the stacks of the goroutines in the test's bubble, without those of the Go runtime.
func bubble() string {
	buf := make([]byte, 1<<20)
	var stacks strings.Builder
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") {
			stacks.WriteString(stack + "\n\n")
		}
	}
	return stacks.String()
}

func TestRunEndsItsGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		c := controller.New(controller.For[document](w.cache), nil).
			Owns(controller.Source[page](w.cache)).
			Watches(controller.Source[shelf](w.cache).Map(func(context.Context, *shelf) (none []core.ObjectRef, _ error) {
				return none, nil
			}))
		var runs journal
		before := bubble()
		stop := start(t, c, runs.note)
		w.SlowEnd(time.Minute)
		began := time.Now()
		stop()
		if took := time.Since(began); took != time.Minute {
			t.Errorf("Run returned after %v, want when its watches have ended", took)
		}
		synctest.Wait() // goroutines that have signalled their end may still exist
		if stacks := bubble(); strings.Count(stacks, "\n\n") > strings.Count(before, "\n\n") {
			t.Errorf("goroutines when Run has returned:\n%s\nand before it was called:\n%s", stacks, before)
		}
		if n := w.Kind(documents).Open() + w.Kind(pages).Open() + w.Kind(shelves).Open(); n != 0 {
			t.Errorf("%d watches are still open", n)
		}
	})
}

func TestSecondRunReconcilesTheNewestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil)
		start(t, c, runs.note)()
		runs.wantSet(t, "a=1", "b=1")
		w.Delete(documents, ref("prod/b"))
		w.Put(documents, doc("prod/a", "2"))
		start(t, c, runs.note)
		// Never the state in the cache from the first run. The run for the change may follow the run for the object.
		if got := slices.Compact(runs.take()); !slices.Equal(got, []string{"a=2"}) {
			t.Errorf("got %q, want the newest state of a alone", got)
		}
		w.Put(documents, doc("prod/a", "3"))
		synctest.Wait()
		runs.want(t, "a=3")
	})
}

func TestConcurrentRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil)
		start(t, c, runs.note)
		if err := c.Run(t.Context(), runs.note); err == nil || !strings.Contains(err.Error(), "while it was running") {
			t.Errorf("the second Run() = %v, want an error", err)
		}
		w.Put(documents, doc("prod/a", "1"))
		synctest.Wait()
		runs.want(t, "a=1")
	})
}

func TestControllersOfOneCacheShareItsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs, others journal
		stop := start(t, controller.New(controller.For[document](w.cache), nil).
			Owns(controller.Source[page](w.cache)).
			Watches(controller.Source[page](w.cache).Map(of)).
			Watches(controller.Source[document](w.cache).Map(func(context.Context, *document) (none []core.ObjectRef, _ error) { return none, nil })), runs.note)
		start(t, controller.New(controller.For[page](w.cache), nil).Owns(controller.Source[document](w.cache)),
			func(_ context.Context, p *page) (controller.Action, error) {
				others.add(p.Name)
				return controller.AwaitChange(), nil
			})
		for _, res := range []core.Resource{documents, pages} {
			if asked := w.Kind(res).Requests(); !slices.Equal(asked, []string{"stream"}) {
				t.Errorf("the server received %q for %s, want one streaming list that becomes the watch", asked, res)
			}
		}
		stop()
		w.Put(pages, pageAbout("a"))
		synctest.Wait()
		runs.want(t, "a=1")
		others.want(t, "p") // although the controller that started the watches has ended
		if asked := w.Kind(pages).Requests(); len(asked) > 0 {
			t.Errorf("the server received more requests: %q", asked)
		}
	})
}

// ignoring returns a reconcile that runs until release is closed, whatever its context.
func ignoring(release <-chan struct{}) controller.Reconcile[document] {
	return func(context.Context, *document) (controller.Action, error) {
		<-release
		return controller.AwaitChange(), nil
	}
}

func TestStopGivesUpOnRunsThatIgnoreTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger(), StopTimeout: time.Minute})
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, ignoring(release)) }()
		synctest.Wait()
		began := time.Now()
		stop(errStop)
		err := <-ended
		if took := time.Since(began); took != 70*time.Second {
			t.Errorf("Run returned after %v, want 10 s after the end of the runs' context", took)
		}
		if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "2 runs have not returned 10s after") ||
			!strings.Contains(err.Error(), "prod/a") || !strings.Contains(err.Error(), "prod/b") {
			t.Errorf("Run() = %v, want the cause and the objects of the runs", err)
		}
		if lines := w.log.with("run is stuck"); len(lines) != 2 || !strings.Contains(lines[0], ".ignoring.1(") {
			t.Errorf("the log does not have the stacks of both runs:\n%s", w.log)
		}
		if n := w.Kind(documents).Open(); n != 0 {
			t.Errorf("%d watches are still open", n)
		}
		if err := c.Run(t.Context(), ignoring(release)); err == nil || !strings.Contains(err.Error(), "have not returned yet") {
			t.Errorf("Run() = %v while runs of the last one have not returned, want an error", err)
		}
		close(release)
		synctest.Wait()
		var runs journal
		start(t, c, runs.note)
		runs.wantSet(t, "a=1", "b=1")
	})
}

func TestStopNamesTheObjectWhoseOnResultDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		release := make(chan struct{})
		defer close(release)
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger: w.log.logger(), OnResult: func(controller.Result) { <-release },
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errStop) })
		err := c.Run(ctx, func(context.Context, *document) (controller.Action, error) {
			return controller.AwaitChange(), nil
		})
		if err == nil || !strings.Contains(err.Error(), "prod/a") {
			t.Errorf("Run() = %v, want the object", err)
		}
	})
}

func TestContextOfARunEndsAfterRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var results journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger:     w.log.logger(),
			RunTimeout: time.Minute,
			Retry:      &applier.Backoff{InitialBackoff: time.Hour},
			OnResult:   func(r controller.Result) { results.add(fmt.Sprint(r.Took, " ", r.Err)) },
		})
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			<-ctx.Done()
			return controller.Action{}, fmt.Errorf("read: %w", ctx.Err())
		})
		after(time.Minute)
		results.want(t, "1m0s the run of prod/a has taken longer than Options.RunTimeout, which is 1m0s: "+
			"read: context deadline exceeded")
		after(30 * time.Minute)
		if lines := w.log.with("run is stuck"); len(lines) > 0 {
			t.Errorf("a run that has returned is logged as stuck: %s", lines)
		}
	})
}

func TestStuckRunIsReportedOnceWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger(), RunTimeout: time.Minute})
		start(t, c, ignoring(release))
		after(69 * time.Second)
		health := c.Runs()
		if len(health) != 1 || health[0].Key.Ref != ref("prod/a") || health[0].Age != 69*time.Second || health[0].Err != nil {
			t.Errorf("Runs() = %+v, want a run that is not stuck yet", health)
		}
		if s := c.Metrics(); s.OldestRun != 69*time.Second || s.OldestKey.Ref != ref("prod/a") {
			t.Errorf("Metrics() = %+v, want the oldest run", s)
		}
		after(time.Hour)
		if health := c.Runs(); len(health) != 1 || health[0].Err == nil {
			t.Errorf("Runs() = %+v, want a run that is stuck", health)
		}
		lines := w.log.with("run is stuck")
		if len(lines) != 1 || !strings.Contains(lines[0], "object=prod/a age=1m10s") || !strings.Contains(lines[0], ".ignoring.1(") {
			t.Errorf("the log does not have the run with its stack once:\n%s", w.log)
		}
		close(release)
		synctest.Wait()
		if s := c.Metrics(); s.OldestRun != 0 || len(c.Runs()) != 0 {
			t.Errorf("Metrics() = %+v, want no run", s)
		}
	})
}

func TestRunIsNotStuckBeforeTheLongestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger: w.log.logger(), RunTimeout: math.MaxInt64, // and 10 s more would be negative
		})
		release := make(chan struct{})
		start(t, c, ignoring(release))
		after(time.Hour)
		if health := c.Runs(); len(health) != 1 || health[0].Err != nil {
			t.Errorf("Runs() = %+v, want a run that is not stuck", health)
		}
		if lines := w.log.with("run is stuck"); len(lines) > 0 {
			t.Errorf("the run is logged as stuck: %s", lines)
		}
		close(release)
	})
}

// TestRunThatReturnsInTheLastMomentIsNotCounted checks the error of a run that may or may not have returned in time.
func TestRunThatReturnsInTheLastMomentIsNotCounted(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
			ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
			limit, ended := time.Now().Add(time.Minute), make(chan error, 1)
			go func() {
				ended <- c.Run(ctx, func(context.Context, *document) (controller.Action, error) {
					<-time.After(time.Until(limit))
					return controller.AwaitChange(), nil
				})
			}()
			after(time.Until(limit) - 40*time.Second)
			cancel(errStop)
			if err := <-ended; err != errStop && !strings.Contains(err.Error(), "1 run has not returned") {
				t.Errorf("Run() = %v, want the cause, or an error with one run", err)
			}
		})
	}
}

func TestLongRunIsLoggedOnceWithoutATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"prod/a", "prod/b", "prod/quick"} {
			w.Put(documents, doc(name, "1"))
		}
		w.Put(pages, pageOf("prod/p"))
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
				<-release
				return nil, nil
			}))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			if d.Name == "quick" {
				select {
				case <-time.After(9 * time.Minute):
				case <-ctx.Done():
				}
				return controller.RequeueAfter(time.Second), nil
			}
			<-release
			return controller.AwaitChange(), ctx.Err()
		})
		after(9 * time.Minute)
		if lines := w.log.with("not returned"); len(lines) > 0 {
			t.Errorf("runs are reported before their time:\n%s", lines)
		}
		after(24 * time.Hour)
		lines := w.log.with("not returned")
		for _, want := range []string{
			`msg="run has not returned"`, "object=prod/a", "object=prod/b", `msg="call of Map has not returned"`, "object=prod/p",
			"Options.RunTimeout is not set", "TestLongRunIsLoggedOnceWithoutATimeout.",
		} {
			if !strings.Contains(strings.Join(lines, ""), want) {
				t.Errorf("the log does not have %s", want)
			}
		}
		if len(lines) != 3 {
			t.Errorf("%d runs are reported, want each once:\n%s", len(lines), lines)
		}
		close(release)
	})
}
