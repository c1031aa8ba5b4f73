// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

const lag = 100 * time.Millisecond

// lagging returns a world with a document, whose watches deliver changes after a delay.
func lagging(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Put(documents, doc("prod/a", "1"))
	w.Lag(lag)
	return w
}

// The reconcile increments a counter in the status. It would go wrong if it read a state from before its last write.
func TestNextRunSeesTheWritesOfTheLastRun(t *testing.T) {
	for name, hold := range map[string]time.Duration{"held back": 0, "not held back": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				api := clusterWide[document](w)
				var seen journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{HoldTimeout: hold}).
					Watches(controller.Source[page](w.cache).Map(of))
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					seen.add(d.Status)
					if len(d.Status) == 3 {
						return controller.AwaitChange(), nil
					}
					d.ResourceVersion = ""
					d.Status += "x"
					_, err := api.Update(ctx, d, nil)
					return controller.RequeueAfter(lag / 10), err
				})
				after(10 * lag)
				stale := 0
				got := seen.take()
				for i, status := range got {
					if len(status) < min(i, 3) {
						stale++
					}
				}
				if hold == 0 && (stale > 0 || len(got) < 4) || hold < 0 && stale == 0 {
					t.Errorf("the runs saw %q, %d of them stale", got, stale)
				}
			})
		})
	}
}

func TestObjectIsHeldBackUntilEachWriteIsObserved(t *testing.T) {
	tests := []struct {
		name  string
		write func(context.Context, *world, *document) error
		held  bool
	}{
		{"nothing", func(context.Context, *world, *document) error { return nil }, false},
		{"the object itself", func(ctx context.Context, w *world, d *document) error {
			d.Status = "done"
			_, err := clusterWide[document](w).Update(ctx, d, nil)
			return err
		}, true},
		{"its status", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[document](w).In("prod").Status().Patch(ctx, "a", request.MergePatch([]byte(`{"status":"done"}`)), nil)
			return err
		}, true},
		{"a write without a change", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[document](w).In("prod").Patch(ctx, "a", request.MergePatch([]byte(`{"text":"1"}`)), nil)
			return err
		}, false},
		{"an object that it owns", func(ctx context.Context, w *world, _ *document) error {
			_, err := clusterWide[page](w).Create(ctx, pageOf("prod/p"), nil)
			return err
		}, true},
		{"by apply", func(ctx context.Context, w *world, _ *document) error {
			_, err := clusterWide[page](w).Apply(ctx, pageOf("prod/p"), &request.ApplyOptions{FieldManager: "test"})
			return err
		}, true},
		{"a kind that is not a source", func(ctx context.Context, w *world, _ *document) error {
			s := &shelf{}
			s.Name = "s"
			_, err := clusterWide[shelf](w).Create(ctx, s, nil)
			return err
		}, false},
		{"the same kind on another server", func(ctx context.Context, _ *world, _ *document) error {
			other := fakeapi.New(pages)
			for i := range 100 { // its resource versions are much higher
				other.Put(pages, pageOf(fmt.Sprint("prod/", i)))
			}
			c, err := client.New(ctx, &client.Options{
				Config: &config.Config{Server: "https://other.test"}, Transport: other,
			})
			if err != nil {
				return err
			}
			_, err = client.ClusterWide[page](c).Create(ctx, pageOf("prod/p"), nil)
			return err
		}, false},
		{"a write of another client", func(_ context.Context, w *world, _ *document) error {
			w.Put(documents, doc("prod/a", "2"))
			return nil
		}, false},
		{"a rejected write", func(ctx context.Context, w *world, d *document) error {
			d.ResourceVersion = "1"
			if _, err := clusterWide[document](w).Update(ctx, d, nil); err == nil {
				return errNo
			}
			return nil
		}, false},
		{"a deleted object", func(ctx context.Context, w *world, _ *document) error {
			return clusterWide[page](w).In("prod").Delete(ctx, "old", nil)
		}, true},
		{"a delete that the server rejects", func(ctx context.Context, w *world, _ *document) error {
			if err := clusterWide[page](w).In("prod").Delete(ctx, "absent", nil); err == nil {
				return errNo
			}
			return nil
		}, false},
		{"a write before a panic", func(ctx context.Context, w *world, _ *document) error {
			if _, err := clusterWide[page](w).Create(ctx, pageOf("prod/p"), nil); err != nil {
				return err
			}
			panic("oh")
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				w.Put(pages, pageOf("prod/old"))
				done := false
				c := controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1}).
					Owns(controller.Source[page](w.cache))
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					if done {
						return controller.AwaitChange(), nil
					}
					done = true
					return controller.AwaitChange(), tt.write(ctx, w, d)
				})
				after(lag) // the duration of the first list
				held := 0
				if tt.held {
					held = 1
				}
				if s := c.Metrics(); s.Applier.Held != held || s.Applier.Running != 0 {
					t.Errorf("after the run %d objects are held back and %d run, want %d and 0", s.Applier.Held, s.Applier.Running, held)
				}
				after(lag)
				if s := c.Metrics(); s.Applier.Held != 0 || s.Applier.Overdue != 0 || s.Applier.Running != 0 {
					t.Errorf("after the cache has observed it, %d objects are held back, %d are overdue, %d run, want 0",
						s.Applier.Held, s.Applier.Overdue, s.Applier.Running)
				}
			})
		})
	}
}

// Two pages are wanted of three. While the cache still has the page that the first run deleted, an event of another
// page must not cause a run, which would count three pages and delete a second one.
func TestNextRunSeesTheDeletesOfTheLastRun(t *testing.T) {
	for name, hold := range map[string]time.Duration{"held back": 0, "not held back": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				for _, name := range []string{"a", "b", "c"} {
					w.Put(pages, pageOf("prod/"+name))
				}
				view := viewOf[page](w)
				c := controller.New(controller.For[document](w.cache), &controller.Options{HoldTimeout: hold}).
					Watches(controller.SourceView(view).Map(func(context.Context, *page) ([]core.ObjectRef, error) {
						return []core.ObjectRef{{Namespace: "prod", Name: "a"}}, nil
					}))
				deleted := 0
				start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
					if view.Store().Len() <= 2 {
						return controller.AwaitChange(), nil
					}
					for p, err := range view.Store().All(nil) {
						if err != nil {
							return controller.Action{}, err
						}
						if err := clusterWide[page](w).In("prod").Delete(ctx, p.Name, nil); err == nil {
							deleted++
							break
						}
					}
					return controller.RequeueAfter(lag / 10), nil // an event would cause a run as well
				})
				after(20 * lag)
				if hold == 0 && deleted != 1 || hold < 0 && deleted == 1 {
					t.Errorf("%d pages were deleted", deleted)
				}
			})
		})
	}
}

// TestNextRunSeesThatTheLastRunRemovedTheLastFinalizer delivers an event of a page while the cache still has a document
// whose last finalizer the first run has removed.
func TestNextRunSeesThatTheLastRunRemovedTheLastFinalizer(t *testing.T) {
	for name, hold := range map[string]time.Duration{"held back": 0, "not held back": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				d := doc("prod/a", "1")
				d.DeletionTimestamp, d.Finalizers = new(metav1.Now()), []string{"example.com/a"}
				w.Put(documents, d)
				var cleanups journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{HoldTimeout: hold}).
					Watches(controller.Source[page](w.cache).Map(of))
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					if len(d.Finalizers) == 0 {
						return controller.AwaitChange(), nil
					}
					cleanups.add(d.Name)
					w.Put(pages, pageAbout("a"))
					<-time.After(lag / 2)
					patch := request.MergePatch([]byte(`{"metadata":{"finalizers":null}}`))
					_, err := clusterWide[document](w).In("prod").Patch(ctx, "a", patch, nil)
					if errors.Is(err, core.ErrNotFound) {
						err = nil
					}
					return controller.AwaitChange(), err
				})
				after(20 * lag)
				if n := len(cleanups.take()); hold == 0 && n != 1 || hold < 0 && n == 1 {
					t.Errorf("the cleanup ran %d times", n)
				}
				if s := c.Metrics(); s.Applier.Held != 0 || s.Applier.Overdue != 0 {
					t.Errorf("%d objects are held back and %d are overdue, want 0", s.Applier.Held, s.Applier.Overdue)
				}
			})
		})
	}
}

// Views with a selection do not observe all writes, and must not wait for those that they do not observe.
func TestObjectIsHeldBackOnlyForWritesThatAViewObserves(t *testing.T) {
	tests := []struct {
		name      string
		selection cache.Selection
		page      string
		shown     string // value of the page's label
		there     bool   // the page existed before, and was selected
		held      bool
	}{
		{"in the namespace", cache.Selection{Namespace: "prod"}, "prod/p", "", false, true},
		{"in another namespace", cache.Selection{Namespace: "test"}, "prod/p", "", false, false},
		{"with the label", cache.Selection{LabelSelector: "shown=yes"}, "prod/p", "yes", false, true},
		{"without the label", cache.Selection{LabelSelector: "shown=yes"}, "prod/p", "no", false, false},
		{"that loses the label", cache.Selection{LabelSelector: "shown=yes"}, "prod/p", "no", true, true},
		{"with the name", cache.Selection{FieldSelector: "metadata.name=p"}, "prod/p", "", false, true},
		{"without the name", cache.Selection{FieldSelector: "metadata.name=q"}, "prod/p", "", false, false},
		{"by a field, when it is new", cache.Selection{FieldSelector: "of=a"}, "prod/p", "", false, false},
		{"by a field, and known", cache.Selection{FieldSelector: "of=a"}, "prod/p", "no", true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := lagging(t)
				if tt.there {
					p := pageOf(tt.page)
					p.Labels = map[string]string{"shown": "yes"}
					w.Put(pages, p)
				}
				c := controller.New(controller.For[document](w.cache), nil).
					Owns(controller.SourceView(cache.Of[page](w.cache, &tt.selection)))
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					p := pageOf(tt.page)
					p.Labels = map[string]string{"shown": tt.shown}
					_, err := clusterWide[page](w).Apply(ctx, p, &request.ApplyOptions{FieldManager: "test"})
					clear(p.Labels)
					return controller.AwaitChange(), err
				})
				after(lag)
				if held := c.Metrics().Applier.Held > 0; held != tt.held {
					t.Errorf("held back: %v, want %v", held, tt.held)
				}
				after(lag)
				if s := c.Metrics(); s.Applier.Held > 0 || s.Applier.Overdue > 0 {
					t.Errorf("%d objects are held back and %d are overdue, want 0", s.Applier.Held, s.Applier.Overdue)
				}
			})
		})
	}
}

func TestSlowCacheHoldsAnObjectBackUpToHoldTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		var runs journal
		began := time.Now()
		c := controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 1, Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache))
		stop := start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(fmt.Sprint(d.Name, " ", time.Since(began)))
			w.Lag(time.Hour)
			_, err := clusterWide[page](w).Apply(ctx, pageOf("prod/"+d.Name), &request.ApplyOptions{FieldManager: "test"})
			return controller.RequeueAfter(time.Second), err
		})
		after(0)
		runs.wantSet(t, "a 0s", "b 0s") // with one worker, which does not wait
		after(5 * time.Second)
		runs.wantSet(t, "a 5s", "b 5s")
		if s := c.Metrics(); s.Applier.Overdue != 2 || s.Applier.Held != 2 {
			t.Errorf("%d objects were overdue and %d are held back, want 2 and 2", s.Applier.Overdue, s.Applier.Held)
		}
		if lines := w.log.with("kind=Page object=prod/"); len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") {
			t.Errorf("the log has not one record of the late cache:\n%s", w.log)
		}
		after(time.Minute) // in which 24 other writes are overdue
		if lines := w.log.with("others="); len(lines) != 1 || len(w.log.with("kind=Page")) != 2 {
			t.Errorf("the log has not one more record, with the number of the others:\n%s", w.log)
		}
		stopped := time.Now()
		stop()
		if took := time.Since(stopped); took > 0 {
			t.Errorf("stopping took %v: it waited for a cache that no object needs", took)
		}
	})
}

// blocked is a writer of a log that blocks until it is closed.
type blocked chan struct{}

func (b blocked) Write(p []byte) (int, error) {
	<-b
	return len(p), nil
}

func TestSlowLogOfAnOverdueWriteDoesNotDelayTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(documents, doc("prod/b", "1"))
		log := make(blocked)
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Concurrency: 1, Logger: slog.New(slog.NewTextHandler(log, nil)),
		}).Owns(controller.Source[page](w.cache))
		runs := 0
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			if runs++; runs > 1 { // it occupies the worker
				<-ctx.Done()
				return controller.AwaitChange(), nil
			}
			w.Lag(time.Hour) // for the event of the page
			_, err := clusterWide[page](w).Apply(ctx, pageOf("prod/p"), &request.ApplyOptions{FieldManager: "test"})
			<-time.After(time.Second)
			w.Lag(0)
			return controller.AwaitChange(), err
		})
		after(10 * time.Second) // the write is overdue
		for _, text := range []string{"1", "2"} {
			w.Put(documents, doc("prod/c", text))
		}
		after(time.Second)
		if d, err := viewOf[document](w).Store().Get(ref("prod/c")); err != nil || d.Text != "2" {
			t.Errorf("Get() = %v, %v while the log blocks, want the newest state", d, err)
		}
		close(log)
	})
}

func TestSourceThatWasNeverSyncedHoldsNoObjectBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		forbidden(w.Kind(pages))
		w.Put(documents, doc("prod/a", "1"))
		c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
		var runs journal
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(d.Name)
			_, err := clusterWide[page](w).Apply(ctx, pageOf("prod/p"), &request.ApplyOptions{FieldManager: "test"})
			return controller.AwaitChange(), err
		})
		after(30 * time.Second)
		runs.want(t, "a")
		if s := c.Metrics(); s.Applier.Held > 0 {
			t.Error("the object is held back")
		}
	})
}

func TestWritesFromManyGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lagging(t)
		c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			errs := make(chan error)
			for i := range 10 {
				go func() {
					_, err := clusterWide[page](w).Create(ctx, pageOf(fmt.Sprintf("prod/p%d", i)), nil)
					errs <- err
				}()
			}
			for range 10 {
				if err := <-errs; err != nil {
					return controller.Action{}, core.Terminal(err)
				}
			}
			return controller.AwaitChange(), nil
		})
		after(lag)
		store := viewOf[page](w).Store()
		for c.Metrics().Applier.Held == 1 && store.Len() < 10 {
			after(lag)
		}
		if n, s := store.Len(), c.Metrics(); n != 10 || s.Applier.Held != 0 {
			t.Errorf("%d of 10 pages were observed while %d objects are held back", n, s.Applier.Held)
		}
	})
}

func TestLogsDoNotContainTheDataOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const secret = "hunter2"
		w := newWorld(t)
		w.cache = cache.New(w.Client(), &cache.Options{Logger: w.log.logger()})
		w.Put(documents, doc("prod/a", secret))
		p := pageAbout(secret)
		w.Put(pages, p)
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.Source[page](w.cache).Map(func(context.Context, *page) ([]core.ObjectRef, error) { panic("oh") }))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			if d.Name == "a" {
				panic("oh")
			}
			return controller.Action{}, errNo
		})
		w.Put(documents, doc("prod/b", secret))
		after(time.Minute)
		w.Put(documents, &broken{ObjectMeta: doc("prod/c", "").ObjectMeta, Text: 20252026})
		after(time.Minute)
		log := w.log.String()
		for _, text := range []string{"prod/a", "prod/b", "prod/c", "prod/p"} {
			if !strings.Contains(log, text) {
				t.Errorf("the log does not have %s", text)
			}
		}
		for _, text := range []string{secret, "20252026"} {
			if strings.Contains(log, text) {
				t.Errorf("the log has %q", text)
			}
		}
	})
}

func TestWritesAreHeldWhileANewViewNeedsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		api, store := clusterWide[page](w), viewOf[page](w).Store()
		var begin atomic.Bool
		c := controller.New(controller.For[document](w.cache), nil).Owns(controller.Source[page](w.cache))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			if !begin.Load() || store.Len() > 0 {
				return controller.RequeueAfter(time.Second), nil
			}
			p := pageOf("prod/"+strconv.FormatInt(time.Now().Unix(), 10), owner("docs.example.com/v1", "Document", "a", true))
			_, err := api.Create(ctx, p, nil)
			return controller.RequeueAfter(time.Second), err
		})
		answer := widen(w, pages)
		begin.Store(true)
		after(3500 * time.Millisecond)
		if n := c.Metrics().Applier.Held; n != 1 {
			t.Errorf("%d objects are held back, want one", n)
		}
		close(answer)
		after(time.Minute)
		if n := store.Len(); n != 1 {
			t.Errorf("%d pages, want one", n)
		}
	})
}
