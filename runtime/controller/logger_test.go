// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/controller"
)

func TestLogRecordsNameTheControllerTheKindAndTheObject(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string
	}{{"", "controller=document"}, {"renderer", "controller=renderer"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			o := &controller.Options{Name: tt.name, Logger: w.log.logger()}
			start(t, controller.New(controller.For[document](w.cache), o), func(ctx context.Context, _ *document) (controller.Action, error) {
				controller.Logger(ctx).Info("hello")
				return controller.Action{}, core.Terminal(errNo)
			})
			for _, msg := range []string{"msg=hello ", "msg=reconcile "} {
				if lines := w.log.with(msg + tt.want + " kind=Document object=prod/a"); len(lines) != 1 {
					t.Errorf("the log has %d records %q of %s:\n%s", len(lines), msg, tt.want, w.log)
				}
			}
			if lines := w.log.with("retryIn="); len(lines) > 0 {
				t.Errorf("a failure that is not retried is logged with a delay:\n%s", w.log)
			}
		})
	}
}

func TestLoggerIsTheDefaultOneUnlessAnotherIsGiven(t *testing.T) {
	log := &lines{}
	before := slog.Default()
	slog.SetDefault(log.logger())
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		start(t, controller.New(controller.For[document](w.cache), nil), func(context.Context, *document) (controller.Action, error) {
			return controller.Action{}, core.Terminal(errNo)
		})
	})
	if lines := log.with("msg=reconcile "); len(lines) != 1 {
		t.Errorf("the failure of a run is not logged:\n%s", log)
	}
	if controller.Logger(t.Context()) != slog.Default() {
		t.Error("outside of a run, Logger is not the default logger")
	}
}

func TestASourceThatIsAddedDuringARunIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		ctl := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
		start(t, ctl, func(context.Context, *document) (controller.Action, error) { return controller.Action{}, nil })
		ctl.Owns(controller.Source[document](w.cache)).Reads(controller.Source[document](w.cache)).
			Watches(controller.On(func(context.Context) iter.Seq[controller.Key] { return slices.Values([]controller.Key{}) }))
		if got := w.log.with("level=ERROR"); len(got) != 3 {
			t.Errorf("the log has %d errors, want one for each source:\n%s", len(got), w.log)
		}
	})
}
