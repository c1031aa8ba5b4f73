// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/controller"
)

func TestEveryObjectIsReconciledOnceThenWithEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var runs journal
		start(t, controller.New(controller.For[document](w.cache), nil), runs.note)
		runs.wantSet(t, "a=1", "b=1")
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=2")
		w.Put(documents, doc("prod/c", "1"))
		synctest.Wait()
		runs.want(t, "c=1")
		w.Delete(documents, ref("prod/c"))
		after(time.Hour)
		runs.want(t)
	})
}

func TestRunsOfOneObjectDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "0"))
		var runs journal
		var running, overlaps atomic.Int32
		start(t, controller.New(controller.For[document](w.cache), nil),
			func(_ context.Context, d *document) (controller.Action, error) {
				if running.Add(1) > 1 {
					overlaps.Add(1)
				}
				defer running.Add(-1)
				runs.add(d.Text)
				<-time.After(time.Second)
				return controller.AwaitChange(), nil
			})
		for i := range 5 { // all during the first run
			w.Put(documents, doc("prod/a", fmt.Sprint(i+1)))
			synctest.Wait()
		}
		after(time.Minute)
		runs.want(t, "0", "5")
		if n := overlaps.Load(); n > 0 {
			t.Errorf("%d runs began during another", n)
		}
	})
}

func TestChangeStartsOneRunWhenBothStatesConcernTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		p := pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true))
		p.Of = []string{"a", "a"}
		w.Put(pages, p)
		var runs journal
		source := controller.Source[page](w.cache)
		start(t, controller.New(controller.For[document](w.cache), nil).Owns(source), runs.note)
		runs.take()
		for range 100 {
			p.Labels = map[string]string{"version": p.ResourceVersion}
			w.Put(pages, p)
			synctest.Wait()
			runs.want(t, "a=1")
		}
	})
}

func TestInitialListHasLowerPriorityThanLiveChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 5 {
			w.Put(documents, doc(fmt.Sprintf("prod/old%d", i), "1"))
		}
		var runs journal
		start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}),
			func(_ context.Context, d *document) (controller.Action, error) {
				runs.add(d.Name[:3])
				<-time.After(100 * time.Millisecond)
				return controller.AwaitChange(), nil
			})
		w.Put(documents, doc("prod/new", "1"))
		after(time.Minute)
		runs.want(t, "old", "new", "old", "old", "old", "old")
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 9 {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
		}
		var running atomic.Int32
		start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 3}),
			func(context.Context, *document) (controller.Action, error) {
				running.Add(1)
				defer running.Add(-1)
				<-time.After(time.Second)
				return controller.AwaitChange(), nil
			})
		for _, want := range []int32{3, 3, 3, 0} {
			if n := running.Load(); n != want {
				t.Errorf("%d runs at the same time, want %d", n, want)
			}
			after(time.Second)
		}
	})
}

func TestSlowReconcileDoesNotDelayTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		p := controller.For[document](w.cache)
		view := viewOf[document](w)
		start(t, controller.New(p, &controller.Options{Concurrency: 1}),
			func(ctx context.Context, _ *document) (controller.Action, error) {
				<-ctx.Done()
				return controller.AwaitChange(), nil
			})
		for i := range 1000 {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
		}
		synctest.Wait()
		if n := view.Store().Len(); n != 1001 {
			t.Errorf("the store has %d objects, want all 1001", n)
		}
	})
}

func TestEachOfManyObjectsIsReconciledOnceAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 10_000
		w := newWorld(t)
		for i := range objects {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
		}
		var runs [objects]atomic.Int32
		var sum atomic.Int32
		start(t, controller.New(controller.For[document](w.cache), nil),
			func(_ context.Context, d *document) (controller.Action, error) {
				var i int
				if _, err := fmt.Sscan(d.Name, &i); err != nil {
					return controller.Action{}, err
				}
				runs[i].Add(1)
				sum.Add(1)
				return controller.AwaitChange(), nil
			})
		for i := range runs {
			if n := runs[i].Load(); n != 1 {
				t.Errorf("object %d ran %d times, want once", i, n)
			}
		}
		if sum.Load() != objects {
			t.Errorf("%d runs, want %d", sum.Load(), objects)
		}
	})
}

func TestDebounceMakesABurstOfChangesOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "0"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Debounce: time.Second, MaxDebounce: 5 * time.Second, Logger: w.log.logger(),
		}).Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, runs.note)
		after(time.Second)
		runs.want(t, "a=0")
		for i := range 4 {
			w.Put(documents, doc("prod/a", fmt.Sprint(i+1)))
			after(900 * time.Millisecond)
		}
		runs.want(t)
		w.Put(pages, pageAbout("a")) // its mapping is not debounced, but the run is
		after(900 * time.Millisecond)
		runs.want(t)
		w.Put(documents, doc("prod/a", "6")) // 4.5 s after the first
		after(500 * time.Millisecond)
		runs.want(t, "a=6")
		after(time.Hour)
		runs.want(t)
	})
}
