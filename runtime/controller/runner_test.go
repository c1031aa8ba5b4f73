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
