// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

// inspectOptions are options with regular delays.
func inspectOptions() *controller.Options {
	return &controller.Options{
		Concurrency: 2, Retry: &applier.Backoff{InitialBackoff: time.Minute, MaxBackoff: time.Hour},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// TestInspectShowsTheNextRunOfRetryWithin checks that the next run of a failing object is the earlier of its retry and
// the time of RetryWithin.
func TestInspectShowsTheNextRunOfRetryWithin(t *testing.T) {
	for name, tt := range map[string]struct {
		err          error
		within, next time.Duration
	}{
		"a terminal error":        {core.Terminal(errNo), time.Hour, time.Hour},
		"earlier than the retry":  {errNo, time.Second, time.Second},
		"later than the retry":    {errNo, time.Hour, time.Minute},
		"a terminal one, no time": {core.Terminal(errNo), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				c := controller.New(controller.For[document](w.cache), inspectOptions())
				reconcile := func(context.Context, *document) (controller.Action, error) {
					return controller.Action{}, controller.RetryWithin(tt.err, tt.within)
				}
				start(t, c, reconcile)
				in := c.Inspect(1)
				if len(in.Failing) != 1 {
					t.Fatalf("the failing objects are %+v", in.Failing)
				}
				var next time.Duration
				if at := in.Failing[0].Next; !at.IsZero() {
					next = at.Sub(in.Failing[0].Last)
				}
				if next != tt.next {
					t.Errorf("the next run is %v after the last one, want %v", next, tt.next)
				}
			})
		})
	}
}

// TestInspectShowsRunsAndFailures checks the current runs, the failing objects and the queue, and that objects are
// forgotten when they succeed, are deleted, or when Run ends.
func TestInspectShowsRunsAndFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		key := func(name string) controller.Key { return controller.Key{Ref: ref("prod/" + name)} }
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), inspectOptions())
		reconcile := func(_ context.Context, d *document) (controller.Action, error) {
			switch d.Text {
			case "slow":
				<-release
			case "failing":
				return controller.AwaitChange(), errors.New(strings.Repeat("no disk ", 100))
			case "terminal":
				return controller.AwaitChange(), core.Terminal(errors.New("wrong size"))
			case "again":
				return controller.RequeueAfter(0), nil
			}
			return controller.AwaitChange(), nil
		}
		if in := c.Inspect(10); len(in.Failing)+len(in.Queue) > 0 {
			t.Errorf("Inspect() = %+v before Run", in)
		}
		stop := start(t, c, reconcile)
		began := time.Now()
		for i, text := range []string{"good", "failing", "terminal", "again"} {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), text))
			after(time.Second)
		}
		long := strings.Repeat("no disk ", 100)[:497] + "…"
		at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		want := []controller.FailingKey{
			{Key: key("3"), Failures: 1, Last: at(3), Next: at(63)},
			{Key: key("2"), Err: "wrong size", Failures: 1, Last: at(2)},
			{Key: key("1"), Err: long, Failures: 1, Last: at(1), Next: at(61)},
		}
		in := c.Inspect(10)
		if diff := cmp.Diff(want, in.Failing); diff != "" || in.FailingKeys != 3 {
			t.Errorf("%d failing objects (-want +got):\n%s", in.FailingKeys, diff)
		}
		if in := c.Inspect(1); len(in.Failing) != 1 || in.FailingKeys != 3 {
			t.Errorf("Inspect(1) has %d of %d failing objects", len(in.Failing), in.FailingKeys)
		}
		after(time.Minute)
		if in := c.Inspect(10); len(in.Failing) != 3 || in.Failing[1].Failures != 2 {
			t.Errorf("the failing objects are %+v after a retry", in.Failing)
		}
		w.Put(documents, doc("prod/1", "good"))
		w.Put(documents, doc("prod/2", "good"))
		w.Delete(documents, ref("prod/3"))
		synctest.Wait()
		if in := c.Inspect(10); in.FailingKeys != 0 {
			t.Errorf("the failing objects are %+v after they succeeded or were deleted", in.Failing)
		}

		for i := range 5 {
			w.Put(documents, doc(fmt.Sprintf("prod/slow-%d", i), "slow"))
			after(time.Second)
		}
		in = c.Inspect(10)
		if runs := c.Runs(); len(runs) != 2 || runs[0].Key != key("slow-0") || runs[0].Age != 5*time.Second ||
			runs[0].Cause.String() != "added documents.docs.example.com prod/slow-0" {
			t.Errorf("the runs are %+v", runs)
		}
		if diff := cmp.Diff([]applier.Level{{Priority: applier.Normal, Keys: 3}}, in.Queue); diff != "" {
			t.Errorf("the queue (-want +got):\n%s", diff)
		}
		close(release)
		synctest.Wait()
		w.Put(documents, doc("prod/1", "failing"))
		synctest.Wait()
		stop()
		if in := c.Inspect(10); in.FailingKeys != 0 {
			t.Errorf("%d failing objects after the end of Run", in.FailingKeys)
		}
	})
}

// TestFailingObjectsAreBounded checks that a controller remembers the latest 1000 failing objects, and forgets those of
// a cluster that leaves.
func TestFailingObjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		spoke.Put(documents, doc("prod/on-the-spoke", "1"))
		c := controller.New(controller.For[document](hub.cache), inspectOptions())
		reconcile := func(context.Context, *document) (controller.Action, error) {
			return controller.AwaitChange(), core.Terminal(errors.New("no"))
		}
		runner := c.With(reconcile)
		stop := start(t, c, reconcile)
		leave := engage(t, c, spoke)
		before := c.Inspect(10)
		if got := runner.Caches(); len(got) != 2 || got[0] != hub.cache || got[1] != spoke.cache {
			t.Errorf("Caches() = %v with an engaged cluster, want that of the controller and that of the cluster", got)
		}
		leave()
		if got := runner.Caches(); len(got) != 1 || got[0] != hub.cache {
			t.Errorf("Caches() = %v after the cluster has left", got)
		}
		if in := c.Inspect(10); in.FailingKeys >= before.FailingKeys {
			t.Errorf("%d failing objects with and %d without the cluster", before.FailingKeys, in.FailingKeys)
		}
		for i := range 1001 {
			hub.Put(documents, doc(fmt.Sprintf("prod/x-%d", i), "1"))
			after(time.Millisecond)
		}
		in := c.Inspect(2000)
		if in.FailingKeys != 1000 || len(in.Failing) != 1000 || in.Failing[999].Key.Ref.Name != "x-1" {
			t.Errorf("%d failing objects, the oldest is %+v", in.FailingKeys, in.Failing[len(in.Failing)-1])
		}
		stop()
	})
}

// TestInspectShowsHeldObjects checks an object whose write the cache has not observed.
func TestInspectShowsHeldObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		api := clusterWide[document](w)
		c := controller.New(controller.For[document](w.cache), inspectOptions())
		var once bool
		reconcile := func(ctx context.Context, d *document) (controller.Action, error) {
			if once {
				return controller.AwaitChange(), nil
			}
			once = true
			w.Lag(time.Minute)
			d.Status = "done"
			_, err := api.Update(ctx, d, nil)
			return controller.AwaitChange(), err
		}
		stop := start(t, c, reconcile)
		after(time.Second)
		in := c.Inspect(10)
		if len(in.Held) != 1 || in.Held[0].Key.Ref.Name != "a" || in.Held[0].Writes != 1 ||
			in.Held[0].Source.Kind != "Document" || in.Held[0].Object != ref("prod/a") || in.Held[0].Left != 4*time.Second {
			t.Errorf("the held objects are %+v", in.Held)
		}
		after(5 * time.Second)
		if in := c.Inspect(10); len(in.Held) != 0 {
			t.Errorf("the held objects are %+v after the timeout", in.Held)
		}
		stop()
	})
}
