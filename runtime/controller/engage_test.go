// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

// errLeave ends the engagements of the tests.
var errLeave = errors.New("the cluster leaves")

// engage engages a cluster until the returned function is called, and waits until it is idle.
func engage(t *testing.T, c *controller.Controller[document], w *world) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Engage(ctx, w.cache) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel(errLeave)
		if err := <-ended; err != errLeave {
			t.Errorf("Engage() = %v, want the cause", err)
		}
	}
}

// twoClusters returns two clusters with an object each.
func twoClusters(t *testing.T) (hub, spoke *world) {
	hub, spoke = newCluster(t, "hub"), newCluster(t, "spoke")
	hub.Put(documents, doc("prod/a", "1"))
	spoke.Put(documents, doc("prod/a", "1"))
	return hub, spoke
}

// TestRunsOfAClusterThatReturnsWaitForItsSources has a run that begins before its cluster leaves, and fails after the
// cluster has engaged again.
func TestRunsOfAClusterThatReturnsWaitForItsSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var begun journal
		release := make(chan struct{})
		c := controller.New(controller.For[document](hub.cache), &controller.Options{Logger: hub.log.logger()}).
			Owns(controller.Source[page](hub.cache))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			run, _ := controller.RunOf(ctx)
			if run.Key.Cluster != "spoke" {
				return controller.AwaitChange(), nil
			}
			begun.add(d.Name)
			<-release
			return controller.Action{}, errNo
		})
		leave := engage(t, c, spoke)
		begun.want(t, "a")
		leave()
		after(time.Hour) // the cache drops the objects
		permit := forbidden(spoke.Kind(pages))
		defer engage(t, c, spoke)()
		close(release)
		after(25 * time.Second)
		begun.want(t)
		permit()
		after(time.Minute)
		if len(begun.take()) == 0 {
			t.Error("the object does not run after its cluster is synced")
		}
	})
}

func TestEngagedClusterIsReconciledUntilItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.For[document](hub.cache), runs.keys(&controller.Options{})).
			Owns(controller.Source[page](hub.cache))
		start(t, c, idle)
		runs.want(t, "hub:prod/a")
		leave := engage(t, c, spoke)
		runs.want(t, "spoke:prod/a")
		spoke.Put(pages, pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true)))
		synctest.Wait()
		runs.want(t, "spoke:prod/a")
		if h := c.Health(); len(h) != 4 || h[2].Cluster != "spoke" || !h[3].Ready {
			t.Errorf("Health() = %+v, want the sources of both clusters", h)
		}
		leave()
		spoke.Delete(pages, ref("prod/p"))
		spoke.Put(documents, doc("prod/a", "2"))
		hub.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "hub:prod/a")
		if len(c.Health()) != 2 {
			t.Error("Health() has the sources of the cluster that has left")
		}
		leave = engage(t, c, spoke)
		runs.want(t, "spoke:prod/a")
		leave()
	})
}

func TestEngagedClusterIsReconciledInEachRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.For[document](hub.cache), runs.keys(&controller.Options{}))
		before := bubble()
		leave := engage(t, c, spoke) // before the first Run
		for range 3 {
			stop := start(t, c, idle)
			runs.wantSet(t, "hub:prod/a", "spoke:prod/a")
			stop()
			if n := spoke.Kind(documents).Open(); n != 0 {
				t.Errorf("%d watches are still open after Run", n)
			}
			spoke.Put(documents, doc("prod/a", "2"))
			after(time.Hour) // the cache drops the objects
			runs.want(t)
		}
		leave()
		start(t, c, idle)()
		runs.want(t, "hub:prod/a")
		synctest.Wait() // goroutines that have signalled their end may still exist
		if stacks := bubble(); strings.Count(stacks, "\n\n") > strings.Count(before, "\n\n") {
			t.Errorf("goroutines when Run and Engage have returned:\n%s\nand before:\n%s", stacks, before)
		}
	})
}

func TestEngageEndsWithTheErrorOfASourceInALaterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		c := controller.New(controller.For[document](hub.cache), nil)
		ended := make(chan error, 1)
		go func() { ended <- c.Engage(t.Context(), spoke.cache) }()
		start(t, c, idle)()
		invalid := &request.InvalidError{Field: "test", Detail: "is on"}
		spoke.Kind(documents).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return invalid }})
		after(time.Hour) // so that the next Run lists the objects
		start(t, c, idle)
		if err := <-ended; !errors.Is(err, invalid) {
			t.Errorf("Engage() = %v, want %v", err, invalid)
		}
		engage(t, c, newCluster(t, "spoke"))() // the name is free again
	})
}

func TestRunOfReturnsTheClusterOfTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.For[document](hub.cache), nil)
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			run, ok := controller.RunOf(ctx)
			if !ok {
				t.Error("the context of a reconcile has no run")
			}
			runs.add(run.Key.String())
			return controller.AwaitChange(), nil
		})
		defer engage(t, c, spoke)()
		runs.want(t, "hub:prod/a", "spoke:prod/a")
		if _, ok := controller.RunOf(t.Context()); ok {
			t.Error("another context has a run")
		}
	})
}

func TestKeysOfAClusterThatLeavesAreDroppedAndItsRunsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		spoke.Put(documents, doc("prod/b", "1"))
		var begun, finished journal
		c := controller.New(controller.For[document](hub.cache), &controller.Options{Concurrency: 1})
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			run, _ := controller.RunOf(ctx)
			if run.Key.Cluster == "hub" {
				return controller.AwaitChange(), nil
			}
			begun.add(d.Name)
			<-time.After(time.Minute)
			finished.add(d.Name)
			return controller.RequeueAfter(time.Second), errNo
		})
		leave := engage(t, c, spoke)
		began := time.Now()
		leave()
		if took := time.Since(began); took > 0 {
			t.Errorf("Engage waited %v for a run", took)
		}
		after(time.Hour)
		a, b := begun.take(), finished.take()
		if len(a) != 1 || len(b) != 1 {
			t.Errorf("%q began and %q finished, want the one that was running", a, b)
		}
		if s := c.Metrics().Applier; s.Ready+s.Delayed+s.Running > 0 {
			t.Errorf("keys of the cluster are left: %+v", s)
		}
	})
}

func TestTwoClustersOfOneNameAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		c := controller.New(controller.For[document](hub.cache), nil)
		leave := engage(t, c, spoke) // before Run
		start(t, c, idle)
		for _, w := range []*world{hub, spoke} {
			err := c.Engage(t.Context(), w.cache)
			if err == nil || !strings.Contains(err.Error(), "already has a cluster of this name: set cache.Options.Cluster") {
				t.Errorf("Engage() of %q = %v, want an error", w.cache.Cluster(), err)
			}
		}
		leave()
		engage(t, c, spoke)() // the name is free again
	})
}

func TestEngageOfANilCacheIsAnError(t *testing.T) {
	c := controller.New(controller.For[document](newWorld(t).cache), nil)
	if err := c.Engage(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the cache is nil") {
		t.Errorf("Engage() of a nil cache = %v, want an error", err)
	}
}

func TestInvalidSourceOfAnEngagedClusterEndsOnlyItsEngagement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.For[document](hub.cache), runs.keys(&controller.Options{}))
		start(t, c, idle)
		runs.take()
		invalid := &request.InvalidError{Field: "test", Detail: "is on"}
		spoke.Kind(documents).Behave(fakesource.Behaviour{OnWatch: func(*request.WatchOptions) error { return invalid }})
		if err := c.Engage(t.Context(), spoke.cache); !errors.Is(err, invalid) {
			t.Errorf("Engage() = %v, want %v", err, invalid)
		}
		hub.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "hub:prod/a")
	})
}

// A run of the hub writes to a cluster that leaves before its cache has observed the write.
func TestKeyIsNotHeldBackForAClusterThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		c := controller.New(controller.For[document](hub.cache), nil).Owns(controller.Source[page](hub.cache))
		write := false
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			if run, _ := controller.RunOf(ctx); write && run.Key.Cluster == "hub" {
				_, err := clusterWide[page](spoke).Create(ctx, pageOf("prod/p"), nil)
				return controller.AwaitChange(), err
			}
			return controller.AwaitChange(), nil
		})
		leave := engage(t, c, spoke)
		spoke.Lag(time.Hour)
		write = true
		hub.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		if n := c.Metrics().Applier.Held; n != 1 {
			t.Errorf("%d objects are held back, want 1", n)
		}
		leave()
		if n := c.Metrics().Applier.Held; n != 0 {
			t.Errorf("%d objects are held back for a cluster that has left", n)
		}
	})
}

func TestKeyIsNotHeldBackForAClusterThatHasLeftDuringItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		c := controller.New(controller.For[document](hub.cache), nil).Owns(controller.Source[page](hub.cache))
		write := false
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			if run, _ := controller.RunOf(ctx); !write || run.Key.Cluster != "hub" {
				return controller.AwaitChange(), nil
			}
			_, err := clusterWide[page](spoke).Create(ctx, pageOf("prod/p"), nil)
			<-time.After(time.Minute)
			return controller.AwaitChange(), err
		})
		leave := engage(t, c, spoke)
		spoke.Lag(time.Hour)
		write = true
		hub.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		leave()
		after(time.Minute)
		if n := c.Metrics().Applier.Held; n != 0 {
			t.Errorf("%d objects are held back for a cluster that has left", n)
		}
		after(time.Minute)
		if n := c.Metrics().Applier.Overdue; n != 0 {
			t.Errorf("%d writes were overdue", n)
		}
	})
}
