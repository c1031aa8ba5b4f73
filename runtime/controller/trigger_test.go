// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/reflector"
)

// received returns the sequence of the keys of a channel.
func received(keys <-chan controller.Key) func(context.Context) iter.Seq[controller.Key] {
	return func(ctx context.Context) iter.Seq[controller.Key] {
		return func(yield func(controller.Key) bool) {
			for {
				select {
				case key := <-keys:
					if !yield(key) {
						return
					}
				case <-ctx.Done():
					return
				}
			}
		}
	}
}

func TestKeysOfASequenceAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		keys := make(chan controller.Key)
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Watches(controller.On(received(keys)))
		start(t, c, runs.note)
		runs.take()
		keys <- controller.Key{Ref: ref("prod/a")}
		synctest.Wait()
		runs.want(t, "a=1")
		keys <- controller.Key{Ref: ref("prod/absent")}
		keys <- controller.Key{Cluster: "eu", Ref: ref("prod/a")}
		synctest.Wait()
		runs.want(t)
		const want = `the controller has no cluster \"eu\": set Key.Cluster`
		if lines := w.log.with("cluster=eu"); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("the log does not report the unknown cluster:\n%s", w.log)
		}
	})
}

func TestKeyOfAClusterThatIsNotSyncedYetRunsOnceItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		permit := forbidden(w.Kind(pages))
		var runs journal
		keys := make(chan controller.Key)
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
			Owns(controller.Source[page](w.cache)).Watches(controller.On(received(keys)))
		start(t, c, runs.note)
		keys <- controller.Key{Ref: ref("prod/a")}
		synctest.Wait()
		runs.want(t)
		permit()
		after(time.Minute)
		runs.want(t, "a=1")
	})
}

func TestSequenceThatIgnoresItsContextDoesNotHangTheEndOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		c := controller.New(controller.For[document](w.cache), nil).
			Watches(controller.On(func(context.Context) iter.Seq[controller.Key] {
				return func(func(controller.Key) bool) { <-release }
			}))
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx, idle) }()
		synctest.Wait()
		began := time.Now()
		stop(errStop)
		err := <-ended
		if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "sequence of On has not ended") || time.Since(began) != 10*time.Second {
			t.Errorf("Run() = %v after %v, want an error after 10 s", err, time.Since(began))
		}
		close(release)
	})
}

func TestPanicOfASequenceIsLogged(t *testing.T) {
	for want, stop := range map[string]func(){
		"panic: no":                        func() { panic(errNo) },
		"panic: runtime.Goexit was called": runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			var runs journal
			c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()}).
				Watches(controller.On(func(context.Context) iter.Seq[controller.Key] {
					return func(func(controller.Key) bool) { stop() }
				}))
			start(t, c, runs.note)
			runs.want(t, "a=1")
			if lines := w.log.with("a sequence of keys has ended"); len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("the log does not report %s:\n%s", want, w.log)
			}
		})
	}
}

func TestReconcileAllRunsEachObjectOnceAfterChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, spoke := twoClusters(t)
		var runs journal
		c := controller.New(controller.For[document](hub.cache), runs.keys(&controller.Options{Concurrency: 1}))
		c.ReconcileAll() // nothing runs yet
		var slow atomic.Bool
		start(t, c, func(context.Context, *document) (controller.Action, error) {
			if slow.Load() {
				<-time.After(time.Second)
			}
			return controller.AwaitChange(), nil
		})
		defer engage(t, c, spoke)()
		hub.Put(documents, doc("prod/b", "1"))
		synctest.Wait()
		runs.take()
		slow.Store(true)
		hub.Put(documents, doc("prod/b", "2"))
		synctest.Wait()
		c.ReconcileAll()
		hub.Put(documents, doc("prod/c", "1"))
		after(time.Minute)
		got := runs.take()
		if len(got) != 5 || got[0] != "hub:prod/b" || got[1] != "hub:prod/c" {
			t.Errorf("the runs are %q, want those for changes first, and then one of each object", got)
		}
	})
}

func TestResizeChangesTheConcurrencyOfARunningController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 40 {
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "1"))
		}
		var running atomic.Int32
		c := controller.New(controller.For[document](w.cache), &controller.Options{Concurrency: 3})
		start(t, c, func(context.Context, *document) (controller.Action, error) {
			running.Add(1)
			defer running.Add(-1)
			<-time.After(time.Second)
			return controller.AwaitChange(), nil
		})
		for _, step := range []struct {
			resize int
			want   int32
		}{{3, 3}, {5, 5}, {1, 5}, {1, 1}, {2, 2}, {20, 20}} {
			c.Resize(step.resize)
			synctest.Wait()
			if n := running.Load(); n != step.want {
				t.Errorf("%d runs at the same time after Resize(%d), want %d", n, step.resize, step.want)
			}
			after(time.Second)
		}
		after(time.Minute)
		c.Resize(2)
		for i := range 40 { // all workers are idle
			w.Put(documents, doc(fmt.Sprintf("prod/%d", i), "2"))
		}
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d runs at the same time after Resize(2) of an idle controller, want 2", n)
		}
		after(time.Minute)
	})
}

func TestOnGoneIsCalledOnceForEachDeletionAndNeverDuringARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		w.Put(pages, pageAbout("absent"))
		var calls journal
		var running atomic.Int32
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			OnGone: func(ctx context.Context, key controller.Key) {
				run, _ := controller.RunOf(ctx)
				calls.add(fmt.Sprint(key, " ", run.Key, " ", running.Load()))
			},
		}).Watches(controller.Source[page](w.cache).Map(of))
		start(t, c, func(context.Context, *document) (controller.Action, error) {
			running.Add(1)
			defer running.Add(-1)
			<-time.After(time.Second)
			return controller.AwaitChange(), nil
		})
		w.Delete(documents, ref("prod/a")) // during the first run
		synctest.Wait()
		calls.want(t)
		after(time.Minute)
		calls.want(t, "prod/a prod/a 0")
		w.Put(documents, doc("prod/a", "2"))
		after(time.Minute)
		w.Put(documents, doc("prod/a", "3"))
		synctest.Wait()
		w.Delete(documents, ref("prod/a"))
		w.Put(documents, doc("prod/a", "4")) // during the run: the key has an object
		after(time.Minute)
		calls.want(t)
	})
}

// vanishing is a feed whose next read of an object is followed by the delivery of its deletion, before State returns.
type vanishing struct {
	*cache.View[document]
	remove atomic.Pointer[func()]
}

func (f *vanishing) State(ref core.ObjectRef) reflector.State {
	state := f.View.State(ref)
	if remove := f.remove.Swap(nil); remove != nil {
		(*remove)()
		<-time.After(time.Second)
	}
	return state
}

func TestOnGoneIsCalledForADeletionThatIsDeliveredWhileARunReadsTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var log journal
		feed := &vanishing{View: viewOf[document](w)}
		c := controller.New(controller.ForFeed[document](feed), &controller.Options{
			OnGone: func(_ context.Context, key controller.Key) { log.add("gone " + key.String()) },
		})
		start(t, c, log.note)
		log.want(t, "a=1")
		remove := func() { w.Delete(documents, ref("prod/a")) }
		feed.remove.Store(&remove)
		w.Put(documents, doc("prod/a", "2"))
		after(time.Minute)
		log.want(t, "a=2", "gone prod/a")
	})
}

func TestPanicOfOnGoneIsLogged(t *testing.T) {
	for want, stop := range map[string]func(){
		"panic: no":                        func() { panic(errNo) },
		"panic: runtime.Goexit was called": runtime.Goexit,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			var runs journal
			c := controller.New(controller.For[document](w.cache), &controller.Options{
				Concurrency: 1, Logger: w.log.logger(), OnGone: func(context.Context, controller.Key) { stop() },
			})
			start(t, c, runs.note)
			w.Delete(documents, ref("prod/a"))
			synctest.Wait()
			if lines := w.log.with("msg=OnGone"); len(lines) != 1 || !strings.Contains(lines[0], want) {
				t.Errorf("the log does not report %s:\n%s", want, w.log)
			}
			w.Put(documents, doc("prod/a", "2"))
			synctest.Wait()
			runs.want(t, "a=1", "a=2")
		})
	}
}

func TestReconcileAllRunsObjectsWhileANewViewNeedsMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var runs journal
		c := controller.New(controller.For[document](w.cache), nil)
		start(t, c, runs.note)
		runs.want(t, "a=1")
		answer := widen(w, documents)
		if h := c.Health(); !h[0].Ready {
			t.Errorf("Health() = %+v, want a ready source", h)
		}
		c.ReconcileAll()
		synctest.Wait()
		runs.want(t, "a=1")
		close(answer)
		after(time.Minute)
		runs.want(t)
	})
}
