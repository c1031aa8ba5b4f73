// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
	"github.com/kube-go/sdk/runtime/watcher"
)

// newCluster returns a world whose server and cache have a name.
func newCluster(t testing.TB, name string) *world {
	t.Helper()
	server := fakeapi.New(documents, pages, shelves)
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://" + name + ".test"}, Transport: server,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Server: server, client: c, cache: cache.New(c, &cache.Options{Cluster: name}), log: &lines{}}
}

// keys sets an option that records the key of each run.
func (j *journal) keys(o *controller.Options) *controller.Options {
	o.OnResult = func(r controller.Result) { j.add(r.Key.String()) }
	return o
}

func idle(context.Context, *document) (controller.Action, error) {
	return controller.AwaitChange(), nil
}

func TestKeyNamesItsClusterOnlyIfItHasAName(t *testing.T) {
	for want, key := range map[string]controller.Key{
		"prod/web":    {Ref: ref("prod/web")},
		"node-1":      {Ref: ref("node-1")},
		"eu:prod/web": {Cluster: "eu", Ref: ref("prod/web")},
	} {
		if got := key.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestObjectsOfSeveralNamespacesAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range []string{"prod/a", "test/a", "other/a"} {
			w.Put(documents, doc(name, "1"))
		}
		var runs journal
		in := func(ns string) *cache.View[document] {
			return cache.Of[document](w.cache, &cache.Selection{Namespace: ns})
		}
		c := controller.New(controller.ForView(in("prod"), in("test")), runs.keys(&controller.Options{}))
		start(t, c, idle)
		runs.wantSet(t, "prod/a", "test/a")
		w.Put(documents, doc("test/a", "2"))
		w.Put(documents, doc("other/a", "2"))
		synctest.Wait()
		runs.want(t, "test/a")
		wantHealth(t, c.Health(), "documents.docs.example.com ready", "documents.docs.example.com ready")
	})
}

// twoNamespaces returns the sources of the namespaces prod and test, the log of a cache of both, and its views of one.
func twoNamespaces() (prod, test *fakesource.Server, log *lines, in func(ns string) *cache.View[document]) {
	prod, test = fakesource.New(documents, wire.JSON), fakesource.New(documents, wire.JSON)
	log = new(lines)
	c := cache.New(nil, &cache.Options{Logger: log.logger(), Source: func(_ core.Resource, ns string) watcher.Source {
		if ns == "test" {
			return test
		}
		return prod
	}})
	return prod, test, log, func(ns string) *cache.View[document] {
		return cache.Of[document](c, &cache.Selection{Namespace: ns})
	}
}

func TestLateViewDoesNotDelayTheOthersForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prod, test, log, in := twoNamespaces()
		permit := forbidden(test)
		prod.Put(doc("prod/a", "1"))
		test.Put(doc("test/b", "1"))
		var runs journal
		o := &controller.Options{Logger: log.logger()}
		start(t, controller.New(controller.ForView(in("test"), in("prod")), o), runs.note)
		after(29 * time.Second)
		runs.want(t)
		after(time.Second)
		runs.want(t, "a=1")
		if lines := log.with("source is late"); len(lines) != 1 || !strings.Contains(lines[0], "forbidden") {
			t.Errorf("the log does not have the late view once:\n%s", log)
		}
		prod.Put(doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=2")
		permit()
		after(2 * time.Minute)
		runs.want(t, "b=1")
	})
}

// TestSecondRunDoesNotReconcileTheOldObjectsOfALateView checks that the objects that a view has kept since the last Run
// cause no runs before they are synced.
func TestSecondRunDoesNotReconcileTheOldObjectsOfALateView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prod, test, log, in := twoNamespaces()
		prod.Put(doc("prod/a", "1"))
		test.Put(doc("test/b", "1"))
		test.Put(doc("test/c", "1"))
		var runs journal
		ctl := controller.New(controller.ForView(in("prod"), in("test")), &controller.Options{Logger: log.logger()})
		stop := start(t, ctl, runs.note)
		runs.wantSet(t, "a=1", "b=1", "c=1")
		stop()
		permit := forbidden(test)
		test.Put(doc("test/b", "2"))
		test.Delete(ref("test/c"))
		start(t, ctl, runs.note)
		after(time.Minute)
		runs.want(t, "a=1")
		permit()
		after(5 * time.Minute)
		runs.want(t, "b=2")
	})
}

func TestRepeatedViewCausesNoMoreRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, doc("prod/a", "1"))
		view := viewOf[document](w)
		var runs journal
		c := controller.New(controller.ForView(view, view), nil)
		start(t, c, runs.note)
		runs.want(t, "a=1")
		w.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "a=2")
		if health := c.Health(); len(health) != 1 {
			t.Errorf("Health() = %+v, want one view", health)
		}
	})
}

func TestRefsAndOwnersAreInTheClusterOfTheChangedObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eu, us := newCluster(t, "eu"), newCluster(t, "us")
		for _, w := range []*world{eu, us} {
			w.Put(documents, doc("prod/a", "1"))
			w.Put(documents, doc("prod/b", "1"))
		}
		var runs journal
		c := controller.New(controller.ForView(viewOf[document](eu), viewOf[document](us)), runs.keys(&controller.Options{})).
			Owns(controller.SourceView(viewOf[page](eu), viewOf[page](us))).
			Watches(controller.SourceView(viewOf[page](eu), viewOf[page](us)).Map(of))
		start(t, c, idle)
		runs.wantSet(t, "eu:prod/a", "eu:prod/b", "us:prod/a", "us:prod/b")
		p := pageOf("prod/p", owner("docs.example.com/v1", "Document", "a", true))
		p.Of = []string{"b"}
		us.Put(pages, p)
		synctest.Wait()
		runs.wantSet(t, "us:prod/a", "us:prod/b")
		eu.Put(documents, doc("prod/a", "2"))
		synctest.Wait()
		runs.want(t, "eu:prod/a")
		var clusters []string
		for _, h := range c.Health() {
			clusters = append(clusters, h.Cluster)
		}
		if got := strings.Join(clusters, " "); got != "eu us eu us eu us" {
			t.Errorf("Health() has the clusters %q, want both for each source", got)
		}
	})
}

func TestObjectIsReadFromTheClusterOfItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eu, us := newCluster(t, "eu"), newCluster(t, "us")
		eu.Put(documents, doc("prod/a", "in eu"))
		us.Put(documents, doc("prod/a", "in us"))
		var runs journal
		start(t, controller.New(controller.ForView(viewOf[document](eu), viewOf[document](us)), nil), runs.note)
		runs.wantSet(t, "a=in eu", "a=in us")
	})
}

func TestLateClusterDoesNotDelayAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eu, us := newCluster(t, "eu"), newCluster(t, "us")
		eu.Put(documents, doc("prod/a", "1"))
		forbidden(us.Kind(documents))
		var runs journal
		o := runs.keys(&controller.Options{Logger: us.log.logger()})
		start(t, controller.New(controller.ForView(viewOf[document](eu), viewOf[document](us)), o), idle)
		runs.want(t, "eu:prod/a")
		after(31e9)
		if lines := us.log.with("source is late"); len(lines) != 1 || !strings.Contains(lines[0], "cluster=us") {
			t.Errorf("the log does not name the late cluster:\n%s", us.log)
		}
	})
}

func TestLogRecordsNameTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCluster(t, "eu")
		w.Put(documents, doc("prod/a", "1"))
		o := &controller.Options{Logger: w.log.logger()}
		c := controller.New(controller.For[document](w.cache), o)
		start(t, c, func(ctx context.Context, _ *document) (controller.Action, error) {
			controller.Logger(ctx).Info("hello")
			return controller.Action{}, core.Terminal(errNo)
		})
		for _, msg := range []string{"msg=hello ", "msg=reconcile "} {
			if lines := w.log.with(msg + "controller=document cluster=eu kind=Document object=prod/a"); len(lines) != 1 {
				t.Errorf("the log has %d records %q, want 1:\n%s", len(lines), msg, w.log)
			}
		}
	})
}

func TestViewsWithoutAClusterToReconcileAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eu, us := newCluster(t, "eu"), newCluster(t, "us")
		other := newCluster(t, "other")
		other.cache = cache.New(other.Server.Client(), &cache.Options{Cluster: "eu"})
		for want, c := range map[string]*controller.Controller[document]{
			`source pages.docs.example.com: it is in the cluster "us", where no documents.docs.example.com are reconciled: ` +
				`pass a view of that cluster to ForView, or, to reconcile objects of another cluster, ` +
				`pass their keys to On`: controller.New(controller.For[document](eu.cache), nil).
				Owns(controller.Source[page](us.cache)),
			`source documents.docs.example.com: https://eu.test and https://cluster.test are both named "eu": ` +
				`set cache.Options.Cluster`: controller.New(controller.ForView(viewOf[document](eu), viewOf[document](other)), nil),
		} {
			if err := c.Run(t.Context(), idle); err == nil || err.Error() != want {
				t.Errorf("Run() = %v, want %s", err, want)
			}
		}
	})
}

func TestRunPackedPassesOnTheObjectUndecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Put(documents, &broken{ObjectMeta: doc("prod/a", "").ObjectMeta, Text: 7}) // can't be decoded
		ctx, stop := context.WithCancelCause(t.Context())
		err := controller.New(controller.For[document](w.cache), nil).
			RunPacked(ctx, func(_ context.Context, p wire.Packed) (controller.Action, error) {
				head, err := p.Head()
				if err != nil || head.Ref != ref("prod/a") || !strings.Contains(string(p.Bytes()), `"text":7`) {
					t.Errorf("got %s, %v, want the object", p.Bytes(), err)
				}
				stop(errStop)
				return controller.AwaitChange(), nil
			})
		if err != errStop {
			t.Errorf("RunPacked() = %v, want the cause", err)
		}
	})
}
