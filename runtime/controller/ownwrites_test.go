// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/internal/hosted"
	"github.com/kube-go/sdk/runtime/watcher"
)

// disconnect ends the watches of a kind, and rejects new ones until connect is called.
func disconnect(w *world, res core.Resource) (connect func()) {
	unavailable := fakesource.Status(503, "ServiceUnavailable")
	w.Kind(res).Behave(fakesource.Behaviour{
		OnWatch:   func(*request.WatchOptions) error { return unavailable },
		OnList:    func(*request.ListOptions) error { return unavailable },
		DropOnCut: true,
	})
	w.Kind(res).Cut(errors.New("connection reset"))
	synctest.Wait()
	return func() { w.Kind(res).Behave(fakesource.Behaviour{}) }
}

// withPage returns a reconcile that creates a page of the same name unless the cache has it.
func withPage(w *world, created *journal) controller.Reconcile[document] {
	return withPageIn(w, viewOf[page](w), created)
}

// withPageIn is withPage with the cache of a view.
func withPageIn(w *world, view *cache.View[page], created *journal) controller.Reconcile[document] {
	return func(ctx context.Context, d *document) (controller.Action, error) {
		name := d.Namespace + "/" + d.Name
		if _, err := view.Store().Get(ref(name)); !errors.Is(err, core.ErrNotFound) {
			return controller.AwaitChange(), err
		}
		_, err := clusterWide[page](w).Create(ctx, pageOf(name, owner(documents.APIVersion(), "Document", d.Name, true)), nil)
		if errors.Is(err, core.ErrAlreadyExists) {
			return controller.AwaitChange(), nil
		}
		created.add(name)
		return controller.AwaitChange(), err
	}
}

// TestObjectThatDisappearsWithoutAChangeIsCreatedAgain deletes an object that a run has created while its watch was
// disconnected. The cache never has the object: it is not in the next list either.
func TestObjectThatDisappearsWithoutAChangeIsCreatedAgain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		compact bool          // the watch can't be resumed
		wait    time.Duration // before the reconnection
		replace bool          // somebody else creates another object of the name
	}{
		{"the watch is resumed", false, 0, false},
		{"the objects are listed", true, 0, false},
		{"long after the hold timeout", true, time.Hour, false},
		{"replaced by another one", true, 0, true},
	} {
		for _, ignore := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", IgnoreOwnWrites=", ignore), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					var created, runs journal
					c := controller.New(controller.For[document](w.cache), &controller.Options{
						Logger: w.log.logger(), IgnoreOwnWrites: ignore,
						OnResult: func(r controller.Result) { runs.add(r.Causes[0].String()) },
					}).Owns(controller.Source[page](w.cache))
					start(t, c, withPage(w, &created))
					connect := disconnect(w, pages)
					w.Put(documents, doc("prod/a", "1"))
					after(time.Second)
					created.want(t, "prod/a")
					w.Delete(pages, ref("prod/a"))
					if tt.replace {
						w.Put(pages, pageOf("prod/a"))
					}
					if tt.compact {
						w.Kind(pages).Compact()
					}
					after(tt.wait)
					runs.take()
					connect()
					after(10 * time.Minute)
					if tt.replace {
						runs.want(t, "deleted pages.docs.example.com prod/a")
						return
					}
					created.want(t, "prod/a")
				})
			})
		}
	}
}

// guestHost is the host of a guest, with one watch. It does not have the objects themselves.
type guestHost struct{ items chan []byte }

func (h guestHost) Watch(*abi.Watch) (hosted.Stream, error)    { return h, nil }
func (h guestHost) Get(dst []byte, _ *abi.Get) ([]byte, error) { return dst, abi.NotFound }
func (h guestHost) ID() int64                                  { return 1 }
func (h guestHost) Close()                                     {}

func (h guestHost) Next(ctx context.Context) ([]byte, abi.Flags, error) {
	select {
	case data := <-h.items:
		return data, abi.FlagSynced, nil
	case <-ctx.Done():
		return nil, 0, context.Cause(ctx)
	}
}

// send sends an item with changes without objects.
func (h guestHost) send(changes ...abi.Change) {
	var data []byte
	for _, c := range changes {
		head, _ := json.Marshal(c)
		data = abi.AppendFrame(abi.AppendFrame(data, head), nil)
	}
	h.items <- data
	synctest.Wait()
}

// TestObjectThatDisappearsWithoutAChangeIsCreatedAgainInAGuest deletes an object that a run has created before the host
// has sent it.
func TestObjectThatDisappearsWithoutAChangeIsCreatedAgainInAGuest(t *testing.T) {
	seen := abi.Change{Type: abi.ChangeSeen, ResourceVersion: "1000"}
	gone := abi.Change{Type: abi.ChangeGone, Namespace: "prod", Name: "a", ResourceVersion: "1000"}
	for name, tt := range map[string]struct {
		changes []abi.Change
		during  bool // the run
	}{
		"the host has listed the objects again":   {[]abi.Change{seen}, false},
		"the host has merged both changes":        {[]abi.Change{gone, seen}, false},
		"before the run ends":                     {[]abi.Change{seen}, true},
		"the host has merged both during the run": {[]abi.Change{gone, seen}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := newWorld(t), guestHost{make(chan []byte, 1)}
				remote := cache.New(w.client, &cache.Options{Source: func(res core.Resource, namespace string) watcher.Source {
					return hosted.NewSource(h, res, namespace, true)
				}})
				h.send(abi.Change{Type: abi.ChangeSeen, ResourceVersion: "1"})
				var created journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
					Owns(controller.Source[page](remote))
				reconcile := withPageIn(w, cache.Of[page](remote, nil), &created)
				start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
					action, err := reconcile(ctx, d)
					if tt.during {
						<-time.After(time.Hour)
					}
					return action, err
				})
				w.Put(documents, doc("prod/a", "1"))
				after(time.Second)
				created.want(t, "prod/a")
				w.Delete(pages, ref("prod/a"))
				h.send(tt.changes...)
				after(3 * time.Hour)
				created.want(t, "prod/a")
			})
		})
	}
}

// TestObjectThatDisappearsDuringTheRunIsCreatedAgain lists the objects between the write and the end of the run.
func TestObjectThatDisappearsDuringTheRunIsCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var created journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache))
		reconcile := withPage(w, &created)
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			action, err := reconcile(ctx, d)
			<-time.After(time.Hour)
			return action, err
		})
		connect := disconnect(w, pages)
		w.Put(documents, doc("prod/a", "1"))
		after(time.Second)
		created.want(t, "prod/a")
		w.Delete(pages, ref("prod/a"))
		w.Kind(pages).Compact()
		connect()
		after(3 * time.Hour)
		created.want(t, "prod/a")
	})
}

// TestObjectThatTheRunItselfDeletesCausesNoRun checks that a run that creates and deletes an object is not repeated
// because the object is not there.
func TestObjectThatTheRunItselfDeletesCausesNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(d.Name)
			if _, err := clusterWide[page](w).Create(ctx, pageOf("prod/p"), nil); err != nil {
				return controller.Action{}, err
			}
			return controller.AwaitChange(), clusterWide[page](w).In("prod").Delete(ctx, "p", nil)
		})
		connect := disconnect(w, pages)
		w.Put(documents, doc("prod/a", "1"))
		after(time.Second)
		w.Kind(pages).Compact()
		connect()
		after(time.Hour)
		runs.want(t, "a")
	})
}

// deleting returns a page of the document prod/a that somebody has deleted, and that has a finalizer.
func deleting(name string) *page {
	p := pageOf(name, owner(documents.APIVersion(), "Document", "a", true))
	p.DeletionTimestamp, p.Finalizers = new(metav1.Now()), []string{"example.com/a"}
	return p
}

// TestOwnWriteCausesNoRun checks which writes of a run IgnoreOwnWrites and WithoutRun ignore. The reconcile writes in
// its first run only.
func TestOwnWriteCausesNoRun(t *testing.T) {
	update := func(ctx context.Context, w *world, d *document) error {
		d.Status += "x"
		stored, err := clusterWide[document](w).Update(ctx, d, nil)
		if err == nil {
			*d = *stored
		}
		return err
	}
	merge := func(ctx context.Context, w *world, body string) error {
		_, err := clusterWide[document](w).In("prod").Patch(ctx, "a", request.MergePatch([]byte(body)), nil)
		return err
	}
	foreign := func(w *world) { w.Put(documents, doc("prod/a", "changed")) }
	for _, tt := range []struct {
		name  string
		write func(context.Context, *world, *document) error
		again bool // the object runs again
	}{
		{"update", update, false},
		{"several updates", func(ctx context.Context, w *world, d *document) error {
			return errors.Join(update(ctx, w, d), update(ctx, w, d), update(ctx, w, d))
		}, false},
		{"patch of the version", func(ctx context.Context, w *world, d *document) error {
			return merge(ctx, w, fmt.Sprintf(`{"status":"x","metadata":{"resourceVersion":%q}}`, d.ResourceVersion))
		}, false},
		{"patch of any version", func(ctx context.Context, w *world, _ *document) error {
			return merge(ctx, w, `{"status":"x"}`)
		}, true},
		{"create", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[page](w).Create(ctx, pageOf("prod/p", owner(documents.APIVersion(), "Document", "a", true)), nil)
			return err
		}, false},
		{"create by apply", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[page](w).Apply(ctx, pageOf("prod/p", owner(documents.APIVersion(), "Document", "a", true)),
				&request.ApplyOptions{FieldManager: "test"})
			return err
		}, false},
		{"delete", func(ctx context.Context, w *world, d *document) error {
			return clusterWide[page](w).In("prod").Delete(ctx, "old", nil)
		}, false},
		{"create and delete", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[page](w).Create(ctx, pageOf("prod/p", owner(documents.APIVersion(), "Document", "a", true)), nil)
			return errors.Join(err, clusterWide[page](w).In("prod").Delete(ctx, "p", nil))
		}, false},
		{"delete and create", func(ctx context.Context, w *world, d *document) error {
			err := clusterWide[page](w).In("prod").Delete(ctx, "old", nil)
			_, err2 := clusterWide[page](w).Create(ctx, pageOf("prod/old", owner(documents.APIVersion(), "Document", "a", true)), nil)
			return errors.Join(err, err2)
		}, true}, // since the cache may deliver a single change
		{"write that ends a foreign deletion", func(ctx context.Context, w *world, d *document) error {
			w.Put(pages, deleting("prod/old"))
			patch := request.MergePatch([]byte(`{"metadata":{"finalizers":null}}`))
			_, err := clusterWide[page](w).In("prod").Patch(ctx, "old", patch, nil)
			return err
		}, true},
		{"foreign write before", func(ctx context.Context, w *world, d *document) error {
			foreign(w)
			fresh, err := clusterWide[document](w).In("prod").Get(ctx, "a", nil)
			if err != nil {
				return err
			}
			return update(ctx, w, fresh)
		}, true},
		{"foreign write between", func(ctx context.Context, w *world, d *document) error {
			err := update(ctx, w, d)
			foreign(w)
			fresh, err2 := clusterWide[document](w).In("prod").Get(ctx, "a", nil)
			return errors.Join(err, err2, update(ctx, w, fresh))
		}, true},
		{"foreign write after", func(ctx context.Context, w *world, d *document) error {
			err := update(ctx, w, d)
			foreign(w)
			return err
		}, true},
		{"foreign write and a patch without a change", func(ctx context.Context, w *world, d *document) error {
			foreign(w)
			return merge(ctx, w, `{"text":"changed"}`)
		}, true},
		{"foreign delete of a created object", func(ctx context.Context, w *world, d *document) error {
			_, err := clusterWide[page](w).Create(ctx, pageOf("prod/p", owner(documents.APIVersion(), "Document", "a", true)), nil)
			w.Delete(pages, ref("prod/p"))
			return err
		}, true},
	} {
		for _, timing := range []string{
			"event after the run", "event during the run", "list instead of an event", "WithoutRun", "WithoutRun, event during the run",
		} {
			t.Run(tt.name+", "+timing, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					timing, single := strings.CutPrefix(timing, "WithoutRun")
					timing = strings.TrimPrefix(timing, ", ")
					w := newWorld(t)
					w.Put(documents, doc("prod/a", "1"))
					w.Put(pages, pageOf("prod/old", owner(documents.APIVersion(), "Document", "a", true)))
					var runs journal
					ignoring := &controller.Options{Logger: w.log.logger(), IgnoreOwnWrites: !single}
					c := controller.New(controller.For[document](w.cache), ignoring).Owns(controller.Source[page](w.cache))
					writes := true
					start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
						runs.add(d.Name)
						if d.Text != "2" || !writes {
							return controller.AwaitChange(), nil
						}
						writes = false
						if single {
							ctx = controller.WithoutRun(ctx)
						}
						switch timing {
						case "event after the run", "":
							w.Lag(lag)
						case "list instead of an event":
							for _, res := range []core.Resource{documents, pages} {
								connect := disconnect(w, res)
								defer connect()
								defer w.Kind(res).Compact()
							}
						}
						err := tt.write(ctx, w, d)
						if timing == "event during the run" {
							<-time.After(time.Second)
						}
						return controller.AwaitChange(), err
					})
					runs.take()
					w.Put(documents, doc("prod/a", "2"))
					after(time.Hour)
					again := len(runs.take()) > 1
					if again != tt.again && (tt.again || timing != "list instead of an event") {
						t.Errorf("another run: %v, want %v", again, tt.again)
					}
				})
			})
		}
	}
}

// TestAFailedRunThatWritesIsRetriedAfterTheBackoff checks that an ignored write of a failed run does not start the next
// one, and does not cancel the retry.
func TestAFailedRunThatWritesIsRetriedAfterTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger: w.log.logger(), Retry: &applier.Backoff{InitialBackoff: time.Minute, MaxBackoff: time.Hour},
		})
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(d.Name)
			d.Status += "x"
			_, err := clusterWide[document](w).Update(controller.WithoutRun(ctx), d, nil)
			return controller.Action{}, errors.Join(errors.New("failed"), err)
		})
		after(8 * time.Minute) // after 0, 1, 3 and 7 minutes
		runs.want(t, "a", "a", "a", "a")
		w.Put(documents, doc("prod/a", "2"))
		after(time.Second)
		runs.want(t, "a")
	})
}

// TestRunSeesItsWriteDuringTheFirstList has a view whose first list takes longer than SyncTimeout. Its objects run when
// they arrive.
func TestRunSeesItsWriteDuringTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		prod := fakesource.New(documents, wire.JSON)
		prod.Put(doc("prod/a", "1"))
		c := cache.New(w.client, &cache.Options{Source: func(_ core.Resource, ns string) watcher.Source {
			if ns == "prod" {
				return prod
			}
			return w.Kind(documents)
		}})
		view := func(ns string) *cache.View[document] { return cache.Of[document](c, &cache.Selection{Namespace: ns}) }
		var want []string
		for i := range 6 {
			w.Put(documents, doc(fmt.Sprint("test/", i), "1"))
			want = append(want, strconv.Itoa(i))
		}
		w.Kind(documents).Behave(fakesource.Behaviour{Pace: 10 * time.Second})
		var written journal
		ctl := controller.New(controller.ForView(view("prod"), view("test")), &controller.Options{
			Logger: w.log.logger(), SyncTimeout: 5 * time.Second, HoldTimeout: time.Hour,
		})
		start(t, ctl, func(ctx context.Context, d *document) (controller.Action, error) {
			if d.Namespace == "prod" || d.Text != "1" {
				return controller.AwaitChange(), nil
			}
			written.add(d.Name)
			_, err := clusterWide[document](w).In("test").Patch(ctx, d.Name, request.MergePatch([]byte(`{"text":"2"}`)), nil)
			return controller.RequeueAfter(time.Second), err
		})
		after(10 * time.Minute)
		written.wantSet(t, want...)
	})
}

// TestAFailedRunHasALatestTimeOfTheNextOne checks that RetryWithin is a limit for the back-off, also of a terminal
// error, and that an earlier retry takes place.
func TestAFailedRunHasALatestTimeOfTheNextOne(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name          string
		err           error
		first, within time.Duration
	}{
		{"the limit is earlier", failed, time.Hour, time.Minute},
		{"the back-off is earlier", failed, time.Minute, time.Hour},
		{"a terminal error", core.Terminal(failed), time.Second, time.Minute},
		{"no limit", failed, time.Minute, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				var runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{
					Logger: w.log.logger(), Retry: &applier.Backoff{InitialBackoff: tt.first, MaxBackoff: time.Hour},
				})
				start(t, c, func(_ context.Context, d *document) (controller.Action, error) {
					runs.add(d.Name)
					return controller.Action{}, controller.RetryWithin(tt.err, tt.within)
				})
				runs.want(t, "a")
				after(59 * time.Second)
				runs.want(t)
				after(2 * time.Second)
				runs.want(t, "a")
			})
		})
	}
	if err := controller.RetryWithin(nil, time.Minute); err != nil {
		t.Errorf("RetryWithin(nil) = %v", err)
	}
	if err := controller.RetryWithin(core.Terminal(failed), time.Minute); !core.IsTerminal(err) || !errors.Is(err, failed) {
		t.Errorf("RetryWithin(Terminal(failed)) = %v", err)
	}
}

// TestOwnWritesOfOthersCauseRuns checks that IgnoreOwnWrites ignores a write only for the object whose run made it.
func TestOwnWritesOfOthersCauseRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		wrote := false
		c := controller.New(controller.For[document](w.cache), &controller.Options{IgnoreOwnWrites: true, Logger: w.log.logger()}).
			Watches(controller.SourceView(cache.Of[page](w.cache, nil)).Map(of))
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(d.Name + "=" + d.Text)
			if d.Name == "a" && !wrote {
				wrote = true
				w.Put(documents, doc("prod/b", "1"))
				b, err := clusterWide[document](w).In("prod").Get(ctx, "b", nil)
				if err != nil {
					return controller.Action{}, err
				}
				b.Text = "2"
				_, err = clusterWide[document](w).Update(ctx, b, nil)
				return controller.AwaitChange(), err
			}
			return controller.AwaitChange(), nil
		})
		after(time.Minute)
		if got := runs.take(); got[len(got)-1] != "b=2" {
			t.Errorf("got the runs %q, want one of b after the write of a", got)
		}
		w.Put(pages, &page{ObjectMeta: pageOf("prod/p").ObjectMeta, Of: []string{"a"}})
		after(time.Minute)
		runs.want(t, "a=1")
	})
}

func TestWriteByAGoroutineOfAnEarlierRunIsNotOneOfTheCurrentRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		begun, written := make(chan struct{}), make(chan struct{})
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Concurrency: 1, IgnoreOwnWrites: true, Logger: w.log.logger(),
		})
		start(t, c, func(ctx context.Context, d *document) (controller.Action, error) {
			runs.add(d.Name + "=" + d.Text)
			if d.Name == "a" {
				go func() {
					defer close(written)
					<-begun
					b := clusterWide[document](w).In("prod")
					if _, err := b.Modify(ctx, "b", func(d *document) error { d.Text = "2"; return nil }, nil); err != nil {
						t.Error(err)
					}
				}()
			} else if d.Text == "1" {
				close(begun)
				<-written
			}
			return controller.AwaitChange(), nil
		})
		w.Put(documents, doc("prod/b", "1"))
		after(time.Minute)
		runs.want(t, "a=1", "b=1", "b=2")
	})
}
