// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/runtime/controller"
)

// TestStandbySyncsWithoutRuns checks that a standby fills the cache and reconciles nothing, and that a Run beside it
// reconciles all objects at once.
func TestStandbySyncsWithoutRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		ctl := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache))
		runs := make(chan string, 10)
		r := ctl.With(func(_ context.Context, d *document) (controller.Action, error) {
			runs <- d.Name
			return controller.AwaitChange(), nil
		})
		if r.Name() != "document" {
			t.Errorf("Name = %q", r.Name())
		}
		ctx, stop := context.WithCancelCause(t.Context())
		standby, run := make(chan error, 1), make(chan error, 1)
		go func() { standby <- r.Standby(ctx) }()
		time.Sleep(time.Minute)
		for _, h := range r.Health() {
			if !h.Ready {
				t.Errorf("the source %s is not synced", h.Resource)
			}
		}
		if len(runs) > 0 {
			t.Error("the standby has reconciled an object")
		}
		running, end := context.WithCancelCause(t.Context())
		go func() { run <- r.Run(running) }()
		synctest.Wait()
		if len(runs) != 1 {
			t.Errorf("%d runs at the start, want 1", len(runs))
		}
		end(errStop)
		if err := <-run; !errors.Is(err, errStop) {
			t.Errorf("Run = %v", err)
		}
		stop(errStop)
		if err := <-standby; !errors.Is(err, errStop) {
			t.Errorf("Standby = %v", err)
		}
	})
}

// TestReadyEndsWhenRunsWouldBegin checks that Ready follows the rule of the first run: one view of the reconciled kind is
// synced, and the other sources are synced or late.
func TestReadyEndsWhenRunsWouldBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		permit, permitPages := forbidden(w.Kind(documents)), forbidden(w.Kind(pages))
		ctl := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Reads(controller.Source[page](w.cache))
		r := ctl.With(idle)
		ctx, stop := context.WithCancelCause(t.Context())
		standby, ready := make(chan error, 1), make(chan error, 1)
		go func() { standby <- r.Standby(ctx) }()
		go func() { ready <- r.Ready(ctx) }()
		time.Sleep(time.Hour)
		if len(ready) > 0 {
			t.Fatalf("Ready = %v without the reconciled kind", <-ready)
		}
		permit()
		began := time.Now()
		time.Sleep(2 * time.Minute) // the watch tries again
		synctest.Wait()
		if err := <-ready; err != nil {
			t.Errorf("Ready = %v although only another source is late, for %v", err, time.Since(began))
		}
		permitPages()
		time.Sleep(2 * time.Minute)
		began = time.Now()
		if err := r.Ready(ctx); err != nil || time.Since(began) > 0 {
			t.Errorf("Ready = %v after %v, want nil at once", err, time.Since(began))
		}
		stop(errStop)
		if err := <-standby; !errors.Is(err, errStop) {
			t.Errorf("Standby = %v", err)
		}
		if other := controller.New(controller.For[document](newWorld(t).cache), nil).With(idle); !errors.Is(other.Ready(ctx), errStop) {
			t.Error("Ready does not return the cause of its context")
		}
	})
}

func TestReadyWaitsForOtherClustersForSyncTimeoutOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eu, us := newCluster(t, "eu"), newCluster(t, "us")
		forbidden(us.Kind(documents))
		ctl := controller.New(controller.ForView(viewOf[document](us), viewOf[document](eu)),
			&controller.Options{SyncTimeout: 10 * time.Second, Logger: eu.log.logger()})
		r := ctl.With(idle)
		ctx, stop := context.WithCancelCause(t.Context())
		standby := make(chan error, 1)
		go func() { standby <- r.Standby(ctx) }()
		began := time.Now()
		if err := r.Ready(ctx); err != nil || time.Since(began) != r.SyncTimeout() {
			t.Errorf("Ready = %v after %v, want nil after %v", err, time.Since(began), r.SyncTimeout())
		}
		stop(errStop)
		if err := <-standby; !errors.Is(err, errStop) {
			t.Errorf("Standby = %v", err)
		}
	})
}
