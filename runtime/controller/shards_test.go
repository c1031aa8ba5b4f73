// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// replica is shards that a test changes. Its windows own what a list has that began after the change.
type replica struct {
	byNamespace bool

	mu      sync.Mutex // guards the fields below
	shard   *core.Shard
	valid   context.Context //nolint:containedctx // of the shard
	end     context.CancelFunc
	windows []*replicaWindow
}

type replicaWindow struct {
	*replica
	listing, listed *core.Shard
	followers       []func(*core.Shard)
}

func newReplica(byNamespace bool, shard *core.Shard) *replica {
	r := &replica{byNamespace: byNamespace, shard: shard}
	r.valid, r.end = context.WithCancel(context.Background())
	return r
}

func (r *replica) ByNamespace() bool { return r.byNamespace }

func (r *replica) Begin(uid types.UID, namespace string) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return func() {}, r.shard.Has(uid, namespace)
}

func (r *replica) Follow(f func(*core.Shard)) (stop func()) {
	f(r.shard)
	return func() {}
}

func (r *replica) ShardSource() watcher.ShardSource {
	w := &replicaWindow{replica: r, listing: new(core.Shard), listed: new(core.Shard)}
	r.windows = append(r.windows, w)
	return w
}

// move changes the shard. The windows own nothing before they have listed it.
func (r *replica) move(shard *core.Shard) {
	r.mu.Lock()
	r.shard = shard
	var notify []func(*core.Shard)
	for _, w := range r.windows {
		w.listed = new(core.Shard)
		notify = append(notify, w.followers...)
	}
	r.mu.Unlock()
	for _, f := range notify {
		f(new(core.Shard))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	r.valid, r.end = context.WithCancel(context.Background())
}

func (w *replicaWindow) List() (*core.Shard, context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listing = w.shard
	return w.listing, w.valid
}

func (w *replicaWindow) Listed() {
	w.mu.Lock()
	w.listed = w.listing
	shard, notify := w.listed, w.followers
	w.mu.Unlock()
	for _, f := range notify {
		f(shard)
	}
}

func (w *replicaWindow) Begin(uid types.UID, namespace string) (end func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return func() {}, w.listed.Has(uid, namespace)
}

func (w *replicaWindow) Follow(f func(*core.Shard)) (stop func()) {
	w.mu.Lock()
	w.followers = append(w.followers, f)
	shard := w.listed
	w.mu.Unlock()
	f(shard)
	return func() {}
}

// whole returns the shard with all objects.
func whole(t *testing.T) *core.Shard {
	t.Helper()
	shard, err := core.ShardOf(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

// undivided is shards without windows.
type undivided struct{ controller.Shards }

func TestShardedViewsThatCanNotBeDividedAreErrors(t *testing.T) {
	sharded := &cache.Selection{Sharded: true}
	prod := &cache.Selection{Namespace: "prod", Sharded: true}
	byUID, byNamespace := newReplica(false, whole(t)), newReplica(true, whole(t))
	other := newReplica(false, whole(t))
	for name, tt := range map[string]struct {
		build  func(c *cache.Cache) *controller.Controller[document]
		shards controller.Shards
		want   string
	}{
		"a source by UID": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.ForView(cache.Of[document](c, sharded)), nil).
				Owns(controller.SourceView(cache.Of[page](c, sharded)))
		}, byUID, "set ByNamespace"},
		"only a source": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.For[document](c), nil).Owns(controller.SourceView(cache.Of[page](c, sharded)))
		}, byNamespace, "not for the reconciled kind"},
		"a source without namespaces": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.ForView(cache.Of[document](c, sharded)), nil).
				Owns(controller.SourceView(cache.Of[shelf](c, sharded)))
		}, byNamespace, "shelves.docs.example.com are cluster-scoped"},
		"one of two views": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.ForView(cache.Of[document](c, prod),
				cache.Of[document](c, &cache.Selection{Namespace: "test"})), nil)
		}, byUID, "for some views"},
		"shards that can't": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.ForView(cache.Of[document](c, sharded)), nil)
		}, undivided{byUID}, "use a *sharding.Member"},
		"another group": {func(c *cache.Cache) *controller.Controller[document] {
			view := cache.Of[document](c, sharded)
			if _, err := view.Shard(other); err != nil {
				t.Error(err)
			}
			return controller.New(controller.ForView(view), nil)
		}, byUID, "another group"},
		"no shards": {func(c *cache.Cache) *controller.Controller[document] {
			return controller.New(controller.ForView(cache.Of[document](c, sharded)), nil)
		}, nil, "Options.Sharding"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := tt.build(w.cache).With(func(context.Context, *document) (controller.Action, error) {
				return controller.AwaitChange(), nil
			})
			if tt.shards != nil {
				r.Shard(tt.shards)
			}
			for _, run := range []func(context.Context) error{r.Run, r.Standby} {
				err := run(t.Context())
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "Selection.Sharded") {
					t.Errorf("got %v, want an error with %q that names the option", err, tt.want)
				}
			}
		})
	}
}

func TestShardedSourcesByNamespaceHaveTheirNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, ns := range []string{"alpha", "beta", "gamma", "delta"} {
			w.Put(documents, doc(ns+"/a", "1"))
			w.Put(pages, pageOf(ns+"/a-1", owner("docs.example.com/v1", "Document", "a", true)))
		}
		shard, err := core.ParseShard(
			"shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')")
		if err != nil {
			t.Fatal(err)
		}
		shards := newReplica(true, shard)
		docs := cache.Of[document](w.cache, &cache.Selection{Sharded: true})
		owned := cache.Of[page](w.cache, &cache.Selection{Sharded: true})
		var mu sync.Mutex // guards runs and gone
		runs, gone := map[string]int{}, 0
		r := controller.New(controller.ForView(docs), &controller.Options{
			Logger: w.log.logger(), OnGone: func(context.Context, controller.Key) {
				mu.Lock()
				defer mu.Unlock()
				gone++
			},
		}).Owns(controller.SourceView(owned)).With(func(_ context.Context, d *document) (controller.Action, error) {
			if owned.Store().Len() != docs.Store().Len() {
				t.Errorf("%s runs with %d documents and %d pages", d.Namespace, docs.Store().Len(), owned.Store().Len())
			}
			mu.Lock()
			defer mu.Unlock()
			runs[d.Namespace]++
			return controller.AwaitChange(), nil
		})
		r.Shard(shards)
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		check := func(has func(ns string) bool) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			n := 0
			for _, ns := range []string{"alpha", "beta", "gamma", "delta"} {
				if has(ns) {
					n++
				}
				if has(ns) != (runs[ns] > 0) {
					t.Errorf("%s has %d runs, and is owned: %v", ns, runs[ns], has(ns))
				}
			}
			if docs.Store().Len() != n || owned.Store().Len() != n || gone != 0 {
				t.Errorf("%d documents, %d pages, OnGone was called %d times", docs.Store().Len(), owned.Store().Len(), gone)
			}
			clear(runs)
		}
		check(func(ns string) bool { return shard.Has("", ns) })
		shards.move(new(core.Shard))
		synctest.Wait()
		check(func(string) bool { return false })
		shards.move(whole(t))
		synctest.Wait()
		check(func(string) bool { return true })
		stop(errStop)
		if err := <-ended; err != errStop {
			t.Errorf("Run = %v, want %v", err, errStop)
		}
	})
}

func TestClusterThatEngagesBeforeRunBelongsToTheShards(t *testing.T) {
	for range 20 { // Engage waits for Run: the race detector finds what Run sets too late
		hub, spoke := newCluster(t, "hub"), newCluster(t, "spoke")
		hub.Put(documents, doc("prod/a", "1"))
		spoke.Put(documents, doc("prod/a", "1"))
		runs := make(chan string, 10)
		c := controller.New(controller.For[document](hub.cache), &controller.Options{
			OnResult: func(r controller.Result) { runs <- r.Key.Cluster },
		})
		r := c.With(idle)
		r.Shard(newReplica(false, whole(t)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- c.Engage(ctx, spoke.cache) }()
		time.Sleep(time.Millisecond)
		go func() { ended <- r.Run(ctx) }()
		for range 2 {
			select {
			case <-runs:
			case <-time.After(time.Minute):
				t.Fatal("a cluster has not run for a minute")
			}
		}
		stop()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want the cause", err)
			}
		}
	}
}

func TestObjectsThatALateViewAlreadyHasRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prod, test := fakesource.New(documents, wire.JSON), fakesource.New(documents, wire.JSON)
		c := cache.New(nil, &cache.Options{Source: func(_ core.Resource, ns string) watcher.Source {
			if ns == "test" {
				return test
			}
			return prod
		}})
		prod.Put(doc("prod/a", "1"))
		for i := range 6 {
			test.Put(doc(fmt.Sprint("test/", i), "1"))
		}
		test.Behave(fakesource.Behaviour{Pace: 10 * time.Second})
		view := func(namespace string) *cache.View[document] {
			return cache.Of[document](c, &cache.Selection{Namespace: namespace})
		}
		var runs journal
		ctl := controller.New(controller.ForView(view("prod"), view("test")), nil)
		r := ctl.With(runs.note)
		shards := &moving{shard: new(core.Shard)}
		r.Shard(shards)
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		after(45 * time.Second) // the list of test takes longer than SyncTimeout
		runs.want(t)
		shards.move(whole(t))
		synctest.Wait()
		runs.want(t, "a=1")
		ctl.ReconcileAll()
		synctest.Wait()
		runs.want(t, "a=1")
		after(5 * time.Minute) // the list ends
		runs.wantSet(t, "0=1", "1=1", "2=1", "3=1", "4=1", "5=1")
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) {
			t.Errorf("Run() = %v, want the cause", err)
		}
	})
}

func TestShardedViewThatCanNotBeListedDoesNotStopOtherNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		discard := slog.New(slog.DiscardHandler)
		prod, test := fakesource.New(documents, wire.JSON), fakesource.New(documents, wire.JSON)
		c := cache.New(nil, &cache.Options{Logger: discard, Source: func(_ core.Resource, ns string) watcher.Source {
			if ns == "test" {
				return test
			}
			return prod
		}})
		prod.Put(doc("prod/a", "1"))
		test.Put(doc("test/b", "1"))
		test.Behave(fakesource.Behaviour{
			OnList:  func(*request.ListOptions) error { return core.ErrForbidden },
			OnWatch: func(*request.WatchOptions) error { return core.ErrForbidden },
		})
		view := func(namespace string) *cache.View[document] {
			return cache.Of[document](c, &cache.Selection{Namespace: namespace, Sharded: true})
		}
		var runs journal
		ctl := controller.New(controller.ForView(view("prod"), view("test")), &controller.Options{Logger: discard})
		r := ctl.With(runs.note)
		shards := newReplica(false, whole(t))
		r.Shard(shards)
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		after(5 * time.Minute)
		runs.want(t, "a=1")
		shards.move(new(core.Shard))
		after(5 * time.Minute)
		prod.Put(doc("prod/a", "2"))
		after(5 * time.Minute)
		runs.want(t)
		shards.move(whole(t))
		after(5 * time.Minute)
		runs.want(t, "a=2")
		test.Behave(fakesource.Behaviour{})
		after(10 * time.Minute)
		if all := runs.take(); len(all) == 0 || slices.ContainsFunc(all, func(run string) bool { return run != "b=1" }) {
			t.Errorf("the runs are %v, want one or more of the object in test", all)
		}
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) {
			t.Errorf("Run() = %v, want the cause", err)
		}
	})
}

func TestRequestedRunOfAnObjectThatMovesToAnotherReplicaIsForgotten(t *testing.T) {
	for name, during := range map[string]bool{"between runs": false, "during a run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				var runs journal
				c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
				r := c.With(func(ctx context.Context, d *document) (controller.Action, error) {
					<-time.After(time.Minute)
					_, _ = runs.note(ctx, d)
					return controller.RequeueAfter(24 * time.Hour), nil
				})
				shards := &moving{shard: whole(t)}
				r.Shard(shards)
				ctx, stop := context.WithCancelCause(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				if !during {
					after(time.Hour)
				}
				shards.move(new(core.Shard))
				after(time.Hour)
				if q := c.Metrics().Applier; q.Delayed > 0 || q.Ready > 0 || q.Running > 0 {
					t.Errorf("the applier keeps an object of another replica: %+v", q)
				}
				shards.move(whole(t))
				after(25 * time.Hour)
				runs.want(t, "a=1", "a=1", "a=1") // it is back, and the run that it then requests takes place
				stop(errStop)
				if err := <-ended; !errors.Is(err, errStop) {
					t.Errorf("Run() = %v, want the cause", err)
				}
			})
		})
	}
}

// TestRunThatKeepsItsObjectFromAnotherReplicaIsReported checks that the log has a run that ignores the end of its context
// although its object moves, but not one whose object comes back.
func TestRunThatKeepsItsObjectFromAnotherReplicaIsReported(t *testing.T) {
	for name, returns := range map[string]bool{"moves": false, "comes back": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.Put(documents, doc("prod/a", "1"))
				c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
				leave := make(chan struct{})
				r := c.With(func(context.Context, *document) (controller.Action, error) {
					<-leave
					return controller.AwaitChange(), nil
				})
				shards := &moving{shard: whole(t)}
				r.Shard(shards)
				ctx, stop := context.WithCancelCause(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Run(ctx) }()
				synctest.Wait()
				shards.move(new(core.Shard))
				after(39 * time.Second) // StopTimeout, and almost the time to return
				if lines := w.log.with("run is stuck"); len(lines) > 0 {
					t.Errorf("the run is reported too early: %v", lines)
				}
				if returns {
					shards.move(whole(t))
				}
				after(time.Hour)
				lines := w.log.with("its object moves to another replica")
				switch {
				case returns && len(lines) > 0:
					t.Errorf("a run whose object is back is reported: %v", lines)
				case !returns && (len(lines) != 1 || !strings.Contains(lines[0], "run is stuck")):
					t.Errorf("the run is reported %d times, want once:\n%s", len(lines), w.log)
				}
				close(leave)
				stop(errStop)
				if err := <-ended; !errors.Is(err, errStop) {
					t.Errorf("Run() = %v, want the cause", err)
				}
			})
		})
	}
}

func TestFailingObjectThatMovesToAnotherReplicaIsForgotten(t *testing.T) {
	for _, running := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.Put(documents, doc("prod/a", "1"))
			c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
			proceed := make(chan struct{})
			runs := 0
			r := c.With(func(context.Context, *document) (controller.Action, error) {
				if runs++; running && runs == 2 {
					<-proceed
				}
				return controller.Action{}, errNo
			})
			shards := &moving{shard: whole(t)}
			r.Shard(shards)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- r.Run(ctx) }()
			after(time.Minute)
			if n := r.Inspect(1).FailingKeys; n != 1 {
				t.Errorf("running %v: %d failing objects before the move, want one", running, n)
			}
			shards.move(new(core.Shard))
			close(proceed)
			after(time.Hour)
			if in := r.Inspect(1); in.FailingKeys != 0 {
				t.Errorf("running %v: failing objects of another replica: %+v", running, in.Failing)
			}
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Run() = %v, want the cause", err)
			}
		})
	}
}

func TestFailingObjectThatIsReplacedByOneOfAnotherReplicaIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		c := controller.New(controller.For[document](w.cache), &controller.Options{Logger: w.log.logger()})
		r := c.With(func(context.Context, *document) (controller.Action, error) {
			return controller.Action{}, core.Terminal(errNo)
		})
		view := viewOf[document](w)
		shards := &moving{shard: whole(t)}
		r.Shard(shards)
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		after(time.Minute)
		first, err := view.Store().Get(ref("prod/a"))
		if err != nil {
			t.Fatal(err)
		}
		connect := disconnect(w, documents)
		w.Delete(documents, ref("prod/a"))
		w.Put(documents, doc("prod/a", "1"))
		w.Kind(documents).Compact()
		hash := fnv.New64a() // as core.Shard
		fmt.Fprint(hash, first.UID)
		owned, err := core.ParseShard(fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '0x%016x')", hash.Sum64(), hash.Sum64()+1))
		if err != nil || !owned.Has(first.UID, "prod") {
			t.Fatalf("the shard does not have the object: %v", err)
		}
		shards.move(owned)
		connect()
		after(10 * time.Minute)
		if in := r.Inspect(1); in.FailingKeys != 0 {
			t.Errorf("failing objects of another replica: %+v", in.Failing)
		}
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) {
			t.Errorf("Run() = %v, want the cause", err)
		}
	})
}

func TestInvalidKeyFailsInAReplicaThatDoesNotOwnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		var failures journal
		c := controller.New(controller.For[document](w.cache), &controller.Options{
			Logger: w.log.logger(), OnResult: func(r controller.Result) { failures.add(fmt.Sprint(r.Key.Ref.Name, r.Err != nil)) },
		}).Watches(controller.On(func(context.Context) iter.Seq[controller.Key] {
			<-time.After(time.Second) // the cluster is synced
			return slices.Values([]controller.Key{{Ref: core.ObjectRef{Name: "without-a-namespace"}}})
		}))
		r := c.With(idle)
		r.Shard(&moving{shard: new(core.Shard)})
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()
		after(time.Minute)
		failures.want(t, "without-a-namespacetrue")
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) {
			t.Errorf("Run() = %v, want the cause", err)
		}
	})
}

// moving is shards without windows that a test changes.
type moving struct {
	mu       sync.Mutex // guards the fields below
	shard    *core.Shard
	follower func(*core.Shard)
}

func (m *moving) Begin(uid types.UID, namespace string) (end func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return func() {}, m.shard.Has(uid, namespace)
}

func (m *moving) Follow(f func(*core.Shard)) (stop func()) {
	m.follower = f
	f(m.shard)
	return func() {}
}

func (m *moving) move(shard *core.Shard) {
	m.mu.Lock()
	m.shard = shard
	m.mu.Unlock()
	m.follower(shard)
}
