// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/controller"
)

// causes returns a text for the causes of a run.
func causes(r controller.Run) string {
	var all []string
	for _, c := range r.Causes {
		all = append(all, c.String())
	}
	text := strings.Join(all, ", ")
	if r.MoreCauses > 0 {
		text += fmt.Sprint(" and ", r.MoreCauses)
	}
	return text
}

func TestRunKnowsTheEventsThatCausedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var inRun, results journal
		actions := make(chan func() (controller.Action, error), 9)
		keys := make(chan controller.Key)
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger:   w.log.logger(),
			OnResult: func(r controller.Result) { results.add(causes(r.Run)) },
		}).Watches(controller.Source[page](w.cache).Map(of)).Watches(controller.On(received(keys)))
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			r, _ := controller.RunOf(ctx)
			inRun.add(causes(r))
			select {
			case action := <-actions:
				return action()
			default:
				return controller.AwaitChange(), nil
			}
		})
		want := func(want ...string) {
			t.Helper()
			synctest.Wait()
			inRun.want(t, want...)
			results.want(t, want...)
		}
		want("initial documents.docs.example.com prod/a")
		w.Put(pages, pageAbout("a"))
		want("added pages.docs.example.com prod/p")
		actions <- fail(errNo)
		actions <- again(time.Minute)
		w.Put(documents, doc("prod/a", "2"))
		after(time.Hour)
		want("modified documents.docs.example.com prod/a", "retry", "requeue")
		if lines := w.log.with("msg=reconcile"); len(lines) != 1 ||
			!strings.Contains(lines[0], `cause="modified documents.docs.example.com prod/a"`) {
			t.Errorf("the log does not name the cause of the failed run:\n%s", w.log)
		}
		keys <- controller.Key{Ref: ref("prod/a")}
		want("external")
		c.ReconcileAll()
		want("reconcile-all")
		w.Delete(pages, ref("prod/p"))
		want("deleted pages.docs.example.com prod/p")
	})
}

func TestLogRecordsOfARunNameItsFirstCauseAndTheNumberOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := &controller.Options{Logger: w.log.logger(), Debounce: time.Second, RunTimeout: time.Minute}
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), o).Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			controller.Logger(ctx).Info("hello")
			<-release
			return controller.Action{}, core.Terminal(errNo)
		})
		w.Put(documents, doc("prod/a", "1"))
		for i := range 11 {
			synctest.Wait()
			p := pageOf(fmt.Sprint("prod/p", i))
			p.Of = []string{"a"}
			w.Put(pages, p)
		}
		after(time.Hour)
		close(release)
		synctest.Wait()
		for _, msg := range []string{"msg=hello", `msg="run is stuck"`, "msg=reconcile"} {
			want := ` cause="added documents.docs.example.com prod/a" moreCauses=11`
			if lines := w.log.with(msg); len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("the log does not have one record %s with%s:\n%s", msg, want, w.log)
			}
		}
	})
}

func TestCausesAreCollectedUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var got []controller.Run
		c := controller.New(controller.For[document](w.cache), nil).Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			r, _ := controller.RunOf(ctx)
			got = append(got, r)
			<-time.After(time.Minute)
			return controller.AwaitChange(), nil
		})
		for i := range 20 {
			p := pageOf(fmt.Sprint("prod/p", i))
			p.Of = []string{"a"}
			w.Put(pages, p)
		}
		after(2 * time.Minute)
		if len(got) != 2 || len(got[1].Causes) != 8 || got[1].MoreCauses != 12 {
			t.Fatalf("got %+v, want 8 causes of the second run, and 12 more", got)
		}
		if r := got[1]; r.Waited != time.Minute || r.Priority != applier.Normal || got[0].Priority != applier.Low {
			t.Errorf("the second run is %+v, want that it has waited for the first", r)
		}
		if object := got[0].Causes[0].Object; object.Ref != ref("prod/a") {
			t.Errorf("the object of the first cause is %s", object)
		}
	})
}

func TestChangedFieldsAreKnownOnRequest(t *testing.T) {
	for _, record := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			var fields []string
			var failed error
			c := controller.New(controller.For[document](w.cache), &controller.Options{
				RecordChanges: record,
				OnResult: func(r controller.Result) {
					fields, failed = r.Causes[0].ChangedFields()
				},
			})
			start(t, c, idle)
			if fields != nil || failed != nil {
				t.Errorf("ChangedFields() of an initial object = %q, %v, want nothing", fields, failed)
			}
			d := doc("prod/a", "2")
			d.Labels = map[string]string{"tier": "web"}
			w.Put(documents, d)
			synctest.Wait()
			if want := []string{"/metadata/labels", "/text"}; record && (!slices.Equal(fields, want) || failed != nil) {
				t.Errorf("ChangedFields() = %q, %v, want %q", fields, failed, want)
			}
			if !record && (failed == nil || !strings.Contains(failed.Error(), "set Options.RecordChanges")) {
				t.Errorf("ChangedFields() without recorded changes = %q, %v, want an error", fields, failed)
			}
		})
	}
}
