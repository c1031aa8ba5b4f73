// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/reflector"
	"github.com/kube-go/sdk/runtime/watcher"
)

// The tests of this file state laws of the package. tools/arch/laws.go names the tests of all laws.

func TestReconcileReceivesACopyOfTheNewestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		start(t, controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}),
			func(ctx context.Context, d *document) (controller.Action, error) {
				_, _ = runs.note(ctx, d)
				d.Text = "changed by the reconcile"
				<-time.After(time.Second)
				return controller.RequeueAfter(time.Hour), nil
			})
		w.Put(documents, doc("prod/b", "1")) // it waits for the worker
		synctest.Wait()
		w.Put(documents, doc("prod/b", "2"))
		after(2 * time.Second)
		runs.want(t, "a=1", "b=2")
		after(time.Hour)
		runs.wantSet(t, "a=1", "b=2")
	})
}

func TestFailedRunIsRetriedWithDelaysFrom5msTo1000s(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var delays []time.Duration
		o := &controller.Options{
			Logger:   w.log.logger(),
			OnResult: func(r controller.Result) { delays = append(delays, r.RetryIn) },
		}
		start(t, controller.New(controller.For[document](w.cache), o),
			func(context.Context, *document) (controller.Action, error) { return controller.Action{}, errNo })
		after(2 * time.Hour)
		want := 5 * time.Millisecond
		for _, d := range delays {
			if d != want {
				t.Errorf("the delays are %v, want doubling ones up to 1000 s", delays)
				break
			}
			want = min(2*want, 1000*time.Second)
		}
		if want != 1000*time.Second {
			t.Errorf("only %d runs in two hours", len(delays))
		}
	})
}

func TestRunReturnsAnErrorThatNamesAnInvalidOption(t *testing.T) {
	for want, o := range map[string]*controller.Options{
		"Backoff.InitialBackoff: -1ns is less than 0s":        {Retry: &applier.Backoff{InitialBackoff: -1}},
		"Backoff.Jitter: is not between 0 and 1":              {Retry: &applier.Backoff{Jitter: 2}},
		"Options.Debounce: -1ns is less than 0s":              {Debounce: -1},
		"Options.MaxDebounce: 1ms is less than 1s":            {Debounce: time.Second, MaxDebounce: time.Millisecond},
		"Options.MaxDebounce: has no effect without Debounce": {MaxDebounce: time.Second},
		"Options.Concurrency: -1 is negative":                 {Concurrency: -1},
		"Options.RunTimeout: -1s is negative":                 {RunTimeout: -time.Second},
		"Options.SyncTimeout: -1s is negative":                {SyncTimeout: -time.Second},
		"Options.StopTimeout: -1s is negative":                {StopTimeout: -time.Second},
	} {
		err := controller.New(controller.For[document](newWorld(t).cache), o).Run(t.Context(), idle)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func TestObjectIsThatOfTheFirstViewThatHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Two views of one server, whose states differ, as those of caches do for a while.
		w, outdated := newWorld(t), newWorld(t)
		other := cache.New(w.Client(), &cache.Options{
			Source: func(res core.Resource, _ string) watcher.Source { return outdated.Kind(res) },
		})
		w.Put(documents, doc("prod/a", "first"))
		outdated.Put(documents, doc("prod/a", "second"))
		outdated.Put(documents, doc("prod/b", "second"))
		var runs journal
		c := controller.New(controller.ForView(viewOf[document](w), cache.Of[document](other, nil)), nil)
		start(t, c, runs.note)
		got := runs.take()
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, []string{"a=first", "b=second"}) { // each view may cause a run
			t.Errorf("got %q, want the objects of the first view that has them", got)
		}
		w.Delete(documents, ref("prod/a"))
		synctest.Wait()
		runs.want(t, "a=second")
	})
}

func TestOnGoneIsNotCalledForDeletionsWhileRunIsNotActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var gone journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			OnGone: func(_ context.Context, key controller.Key) { gone.add(key.String()) },
		})
		stop := start(t, c, idle)
		stop()
		w.Delete(documents, ref("prod/a"))
		start(t, c, idle)
		gone.want(t)
		w.Delete(documents, ref("prod/b"))
		synctest.Wait()
		gone.want(t, "prod/b")
	})
}

func TestOnGoneIsCalledWhenAChangeRemovesAnObjectFromTheSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		labelled := func(value string) *document {
			d := doc("prod/a", "1")
			d.Labels = map[string]string{"on": value}
			return d
		}
		w.Put(documents, labelled("yes"))
		var gone journal
		view := cache.Of[document](w.cache, &cache.Selection{LabelSelector: "on=yes"})
		c := controller.New(controller.ForView(view), &controller.Options{
			OnGone: func(_ context.Context, key controller.Key) { gone.add(key.String()) },
		})
		start(t, c, idle)
		gone.want(t)
		w.Put(documents, labelled("no"))
		synctest.Wait()
		gone.want(t, "prod/a")
	})
}

// A predicate that ends its goroutine ends the goroutine that receives changes, which Run must not hide.
func TestGoexitOfAPredicateIsAnErrorOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		exits := controller.PredicateOf(func(_, _ *document) bool {
			runtime.Goexit()
			return true
		})
		c := controller.New(controller.For[document](w.cache).Where(exits), nil)
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), idle) }()
		synctest.Wait()
		w.Put(documents, doc("prod/a", "2"))
		const want = "source documents.docs.example.com: runtime.Goexit was called"
		if err := <-ended; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run() = %v, want an error that names the source", err)
		}
	})
}

// The watch is shared, so a function of an index that panics must end neither the watch nor the controllers.
func TestPanicOfAnIndexIsLoggedAndStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cache = cache.New(w.Client(), &cache.Options{Logger: w.log.logger()})
		view := viewOf[document](w)
		index := reflector.IndexBy(view.Store(), func(d *document) []string {
			if d.Text == "bad" {
				panic(errNo)
			}
			return []string{d.Text}
		})
		w.Put(documents, doc("prod/a", "good"))
		var runs journal
		start(t, controller.New(controller.ForView(view), nil), runs.note)
		w.Put(documents, doc("prod/a", "bad"))
		synctest.Wait()
		w.Put(documents, doc("prod/b", "good"))
		synctest.Wait()
		runs.want(t, "a=good", "a=bad", "b=good")
		if n := index.Len("good"); n != 1 {
			t.Errorf("%d objects are good, want prod/b", n)
		}
		if lines := w.log.with("panic: no"); len(lines) != 1 || !strings.Contains(lines[0], "prod/a") {
			t.Errorf("the log does not report the panic:\n%s", w.log)
		}
	})
}

// deletes returns a client of a world whose DeleteCollection deletes the pages.
func deletes(t *testing.T, w *world) *client.Client {
	t.Helper()
	transport := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/namespaces/prod/pages") {
			return w.Server.RoundTrip(r)
		}
		for ref := range w.Kind(pages).Objects() {
			w.Delete(pages, ref)
		}
		const status = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {wire.MediaTypeJSON}},
			Body: io.NopCloser(strings.NewReader(status)),
		}, nil
	})
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: w.client.Server()}, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestObjectIsNotHeldBackForDeletionsThatCannotBeObserved(t *testing.T) {
	for name, test := range map[string]struct {
		write func(context.Context, *world, *client.Client) error
		held  int
	}{
		"DeleteCollection": {func(ctx context.Context, _ *world, c *client.Client) error {
			return client.Namespaced[page](c, "prod").DeleteCollection(ctx, nil, nil)
		}, 0},
		"delete of an object that the cache lacks": {func(ctx context.Context, w *world, c *client.Client) error {
			w.Put(pages, pageOf("prod/new"))
			return client.Namespaced[page](c, "prod").Delete(ctx, "new", nil)
		}, 0},
		"delete of an object that the cache has": {func(ctx context.Context, _ *world, c *client.Client) error {
			return client.Namespaced[page](c, "prod").Delete(ctx, "old", nil)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				w.Put(pages, pageOf("prod/old"))
				api, done := deletes(t, w), false
				c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
				start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
					if done {
						return controller.AwaitChange(), nil
					}
					done = true
					return controller.AwaitChange(), test.write(ctx, w, api)
				})
				after(lag) // the duration of the first list
				if !done || !viewOf[page](w).Store().Has(ref("prod/old")) || viewOf[page](w).Store().Has(ref("prod/new")) {
					t.Errorf("the run has begun: %v; the cache must not have observed its deletions", done)
				}
				if n := c.Metrics().Applier.Held; n != test.held {
					t.Errorf("%d objects are held back, want %d", n, test.held)
				}
				after(lag)
				if s := c.Metrics().Applier; s.Held != 0 || s.Overdue != 0 {
					t.Errorf("%d objects are held back, and %d were for too long, want none", s.Held, s.Overdue)
				}
			})
		})
	}
}

func TestTriggerEndsWithItsSequenceAndOtherSourcesDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		sequences := 0
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.On(func(context.Context) iter.Seq[controller.Key] {
				sequences++
				return func(yield func(controller.Key) bool) {
					<-time.After(time.Minute)
					yield(controller.Key{Ref: ref("prod/a")})
				}
			}))
		start(t, c, runs.note)
		runs.want(t, "a=1")
		after(time.Hour)
		runs.want(t, "a=1") // for the only key of the sequence
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=2")
		if sequences != 1 {
			t.Errorf("%d sequences, want one", sequences)
		}
	})
}
