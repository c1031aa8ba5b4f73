// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
)

// TestMetricsCountRuns checks the numbers of runs with all results, also after another Run.
func TestMetricsCountRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Name: "docs", Concurrency: 4, Logger: w.log.logger(), RunTimeout: time.Minute,
		})
		failed := map[string]bool{}
		once := func(name string, err error) error {
			if failed[name] {
				return nil
			}
			failed[name] = true
			return err
		}
		reconcile := func(ctx context.Context, d *document) (controller.Action, error) {
			switch d.Text {
			case "slow":
				<-time.After(2 * time.Second)
			case "fail":
				return controller.Action{}, once(d.Name, errors.New("failed"))
			case "terminal":
				return controller.Action{}, core.Terminal(errors.New("failed"))
			case "panic":
				if once(d.Name, errStop) != nil {
					panic("at the disco")
				}
			case "timeout":
				if once(d.Name, errStop) != nil {
					<-ctx.Done()
					return controller.Action{}, ctx.Err()
				}
			case "now":
				if once(d.Name, errStop) != nil {
					return controller.RequeueAfter(0), nil
				}
			case "later":
				if once(d.Name, errStop) != nil {
					return controller.RequeueAfter(time.Hour), nil
				}
			case "busy":
				<-time.After(30 * time.Second)
			}
			return controller.AwaitChange(), nil
		}
		stop := start(t, c, reconcile)
		for i, text := range []string{"", "slow", "fail", "terminal", "panic", "now", "later"} {
			w.Put(documents, doc("prod/"+string(rune('a'+i)), text))
			after(5 * time.Second)
		}
		w.Put(documents, doc("prod/timeout", "timeout"))
		after(2 * time.Minute)
		w.Put(documents, doc("prod/busy", "busy"))
		after(10 * time.Second)
		m := c.Metrics()
		if m.Name != "docs" || m.Workers != 4 || m.Unfinished != 10*time.Second || m.Applier.Running != 1 {
			t.Errorf("Metrics() = %+v, want one run that is 10 s old", m)
		}
		// The runs after a failure, a panic, a timeout, and RequeueAfter(0) succeed.
		want := controller.Metrics{Succeeded: 2 + 4, Failed: 4, Terminal: 1, Panics: 1, Timeouts: 1, RequeuedNow: 1, RequeuedLater: 1}
		checkRuns(t, m, want)
		if len(m.Took.Buckets) == 0 || m.Took.Sum != 2*time.Second+time.Minute {
			t.Errorf("the runs took %+v, want the sum of the slow ones", m.Took)
		}
		for _, b := range m.Took.Buckets {
			slower := uint64(0)
			if b.UpperBound < time.Minute {
				slower++
			}
			if b.UpperBound < 2*time.Second {
				slower++
			}
			if b.Count != m.Took.Count-slower {
				t.Errorf("%d runs took at most %v, want %d", b.Count, b.UpperBound, m.Took.Count-slower)
			}
		}
		c.Resize(2)
		after(time.Minute)
		stop()
		if m := c.Metrics(); m.Workers != 2 || m.Unfinished != 0 {
			t.Errorf("Metrics() = %+v after Resize and the end of Run", m)
		}
		want.Succeeded++
		checkRuns(t, c.Metrics(), want)
	})
}

// TestTotalsOfAQueueIncludeEarlierRuns checks that the counters do not decrease at the end of a Run or at the next one.
func TestTotalsOfAQueueIncludeEarlierRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
		failed := false
		reconcile := func(context.Context, *document) (controller.Action, error) {
			if failed = !failed; failed {
				return controller.Action{}, errors.New("failed")
			}
			return controller.AwaitChange(), nil
		}
		w.Put(documents, doc("prod/a", ""))
		for n := range uint64(3) {
			stop := start(t, c, reconcile)
			after(5 * time.Second)
			for _, when := range []string{"during", "after"} {
				// Each Run adds the object and retries it once.
				if m := c.Metrics().Applier; m.Adds != 2*(n+1) || m.Retries != n+1 {
					t.Errorf("%s Run %d: %d adds and %d retries", when, n+1, m.Adds, m.Retries)
				}
				stop()
			}
		}
	})
}

func checkRuns(t *testing.T, m, want controller.Metrics) {
	t.Helper()
	got := controller.Metrics{
		Succeeded: m.Succeeded, Failed: m.Failed, Terminal: m.Terminal, Panics: m.Panics, Timeouts: m.Timeouts,
		RequeuedNow: m.RequeuedNow, RequeuedLater: m.RequeuedLater,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Metrics() (-want +got):\n%s", diff)
	}
	if n := want.Succeeded + want.Failed + want.RequeuedNow + want.RequeuedLater; m.Took.Count != n || m.Waited.Count != n {
		t.Errorf("the histograms have %d and %d runs, want %d", m.Took.Count, m.Waited.Count, n)
	}
}

// TestMetricsOfConcurrentRuns checks that no run is lost while workers join and leave and others read.
func TestMetricsOfConcurrentRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := controller.New(controller.For[document](w.cache), nil)
		var runs atomic.Uint64
		start(t, c, func(context.Context, *document) (controller.Action, error) {
			runs.Add(1)
			return controller.AwaitChange(), nil
		})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				last := uint64(0)
				for j := range 50 {
					w.Put(documents, doc(fmt.Sprintf("prod/%d-%d", i, j%5), fmt.Sprint(j)))
					c.Resize(1 + j%6)
					if n := c.Metrics().Took.Count; n < last {
						t.Errorf("the number of runs has become %d after %d", n, last)
					} else {
						last = n
					}
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if m := c.Metrics(); m.Succeeded != runs.Load() || m.Took.Count != runs.Load() {
			t.Errorf("%d runs are counted, want %d", m.Succeeded, runs.Load())
		}
	})
}
