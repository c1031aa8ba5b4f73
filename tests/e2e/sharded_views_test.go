// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/kube"
)

// received counts the bytes of the lists and watches of config maps that a client receives.
type received struct {
	bytes atomic.Int64
	whole atomic.Int64 // the requests without a shard
	shard atomic.Value // the selector of the last request
}

func (n *received) middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/configmaps") {
			return resp, err
		}
		q := r.URL.Query()
		n.shard.Store(q.Get("shardSelector"))
		if q.Get("shardSelector") == "" && !strings.Contains(q.Get("fieldSelector"), "!=") {
			n.whole.Add(1)
		}
		resp.Body = &countedBody{resp.Body, n}
		return resp, nil
	})
}

type countedBody struct {
	io.ReadCloser
	received *received
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.received.bytes.Add(int64(n))
	return n, err
}

// dropped counts the records of caches about a server that does not select by shard.
type dropped struct {
	slog.Handler
	count *atomic.Int64
}

func (d dropped) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), "those of other shards are dropped") {
			d.count.Add(1)
		}
		return true
	})
	return d.Handler.Handle(ctx, r)
}

// shardFleet is replicas in this process that reconcile the config maps of a namespace with sharded views.
type shardFleet struct {
	t  *testing.T
	ns string

	mu      sync.Mutex // guards the fields below
	running map[string]string
	owner   map[string]string
	seen    map[string]string // the value of the last run
}

// fleetReplica is one of them.
type fleetReplica struct {
	name    string
	client  *kube.Client
	manager *kube.Manager
	view    *kube.View[corev1.ConfigMap]
	stop    func() error
	got     received
	dropped atomic.Int64
}

func (f *shardFleet) start(cfg *kube.Config, name string) *fleetReplica {
	r := &fleetReplica{name: name}
	c := connect(f.t, &kube.ClientOptions{Config: cfg, PerAttempt: []middleware.Func{r.got.middleware}})
	r.client = c
	logger := slog.New(dropped{debugLogger(f.t).Handler(), &r.dropped})
	cache := kube.NewCache(c, &kube.CacheOptions{Logger: logger})
	r.view = kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: f.ns, Sharded: true})
	r.manager = kube.NewManager(c, &kube.ManagerOptions{
		Sharding: "fleet", ShardingOptions: &kube.ShardingOptions{Namespace: f.ns, Identity: name},
	})
	ctl := kube.NewController(kube.ForView(r.view), &kube.ControllerOptions{
		OnGone: func(_ context.Context, key kube.Key) { f.t.Errorf("%s: OnGone of %s, which exists", name, key) },
	})
	r.manager.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		f.mu.Lock()
		if other := f.running[cm.Name]; other != "" {
			f.t.Errorf("%s and %s reconcile %s at the same time", other, name, cm.Name)
		}
		f.running[cm.Name] = name
		f.mu.Unlock()
		<-time.After(5 * time.Millisecond)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.running, cm.Name)
		f.owner[cm.Name], f.seen[cm.Name] = name, cm.Data["v"]
		return kube.AwaitChange(), nil
	}))
	r.stop = background(f.t, r.manager.Run)
	return r
}

// settled waits until the replicas share the objects equally, and the views have nothing but their own.
func (f *shardFleet) settled(objects int, replicas ...*fleetReplica) {
	f.t.Helper()
	eventually(f.t, "the replicas share the objects", func(context.Context) error {
		total := 0
		for _, r := range replicas {
			s, _ := r.manager.Sharding()
			if s.Slots < 256/len(replicas) || s.Slots > 256/len(replicas)+1 {
				return fmt.Errorf("%s has %d slots", r.name, s.Slots)
			}
			for cm, err := range r.view.Store().All(nil) {
				if err != nil {
					return err
				}
				if !s.Shard.Has(cm.UID, cm.Namespace) {
					return fmt.Errorf("the view of %s has %s, which it does not own", r.name, cm.Name)
				}
				total++
			}
		}
		if total != objects {
			return fmt.Errorf("the views have %d objects, want %d", total, objects)
		}
		return nil
	})
}

// selected waits until the replicas request the objects of their own slots only: the watch of one that has lost slots
// lasts a little longer.
func (f *shardFleet) selected(replicas ...*fleetReplica) {
	f.t.Helper()
	eventually(f.t, "the replicas select their shards", func(context.Context) error {
		for _, r := range replicas {
			s, _ := r.manager.Sharding()
			if got, want := r.got.shard.Load(), s.Shard.String(); got != want {
				return fmt.Errorf("%s has requested the objects of %q, want %q", r.name, got, want)
			}
		}
		return nil
	})
}

// reconciled waits until the newest values of all objects were reconciled.
func (f *shardFleet) reconciled(want map[string]string) {
	f.t.Helper()
	eventually(f.t, "all objects are reconciled", func(context.Context) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		for name, value := range want {
			if f.seen[name] != value {
				return fmt.Errorf("%s was reconciled with %q, want %q", name, f.seen[name], value)
			}
		}
		return nil
	})
}

// TestReplicasDropOtherShards has replicas on a server without the feature gate, which sends all objects to each of
// them.
func TestReplicasDropOtherShards(t *testing.T) {
	t.Parallel()
	testFleet(t, loadConfig(t, ""), 400, false)
}

// TestForbiddenNamespaceDoesNotStopShardedViews checks that a controller with a sharded view of each of two namespaces
// works in one of them without the permission for the other one, and in both when the permission is granted.
func TestForbiddenNamespaceDoesNotStopShardedViews(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	open, closed := newNamespace(t, admin), newNamespace(t, admin)
	const user = "e2e-one-namespace"
	grant(t, admin, open, user, "configmaps")
	cfg := *loadConfig(t, "")
	cfg.Impersonate.User = user
	cache := newCache(t, connect(t, &kube.ClientOptions{Config: &cfg}))
	view := func(ns string) *kube.View[corev1.ConfigMap] {
		return kube.ViewOf[corev1.ConfigMap](cache, &kube.Selection{Namespace: ns, Sharded: true})
	}
	options := &kube.ControllerOptions{SyncTimeout: 100 * time.Millisecond, Logger: debugLogger(t)}
	ctl := kube.NewController(kube.ForView(view(open), view(closed)), options)
	runs := make(chan string, 100)
	m := kube.NewManager(admin, &kube.ManagerOptions{
		Sharding: "one-namespace", ShardingOptions: &kube.ShardingOptions{Namespace: open},
	})
	m.Add(ctl.With(func(_ context.Context, cm *corev1.ConfigMap) (kube.Action, error) {
		runs <- cm.Name
		return kube.AwaitChange(), nil
	}))
	background(t, m.Run)
	create(t, kube.Namespaced[corev1.ConfigMap](admin, closed), "closed", "1")
	create(t, kube.Namespaced[corev1.ConfigMap](admin, open), "open", "1")
	awaitValue(t, runs, "open")
	if err := view(closed).Health(); !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("Health = %v, want ErrForbidden", err)
	}
	grant(t, admin, closed, user, "configmaps")
	awaitValue(t, runs, "closed")
}

// testFleet checks that four replicas reconcile the objects of their shards, and that those of a replica that stops
// move to the others. If the server selects by shard, each replica receives only its share of what a list and a watch
// of all objects receive.
func testFleet(t *testing.T, cfg *kube.Config, objects int, served bool) {
	t.Helper()
	c := connect(t, &kube.ClientOptions{Config: cfg})
	f := &shardFleet{
		t: t, ns: newNamespace(t, c), running: map[string]string{}, owner: map[string]string{}, seen: map[string]string{},
	}
	maps, want := kube.Namespaced[corev1.ConfigMap](c, f.ns), map[string]string{}
	replicas := []*fleetReplica{f.start(cfg, "a"), f.start(cfg, "b"), f.start(cfg, "c"), f.start(cfg, "d")}
	f.settled(1, replicas...) // the object with the cluster's certificate
	if served {
		f.selected(replicas...)
	}
	for i := range objects {
		want[fmt.Sprint("cm-", i)] = "0"
	}
	f.measure(cfg, maps, want, replicas, served)
	f.settled(objects+1, replicas...)

	// Objects change while one of the replicas stops.
	stopped := make(chan error, 1)
	go func() { stopped <- replicas[3].stop() }()
	for i := range 200 {
		f.put(maps, want, fmt.Sprint("cm-", i), "stopping")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	f.reconciled(want)
	f.settled(objects+1, replicas[:3]...)
	for i := range 400 {
		f.put(maps, want, fmt.Sprint("cm-", i), "stopped")
	}
	f.reconciled(want)
	eventually(t, "the objects of the stopped replica have moved", func(context.Context) error { // those that did not change, too
		f.mu.Lock()
		defer f.mu.Unlock()
		for name, owner := range f.owner {
			if owner == "d" {
				return fmt.Errorf("%s has not moved", name)
			}
		}
		return nil
	})
	for _, r := range replicas {
		if st := r.view.Status(); st.AllShards == served {
			t.Errorf("the status of the view of %s is %+v, want AllShards = %v", r.name, st, !served)
		}
		switch n, logged := r.got.whole.Load(), r.dropped.Load(); {
		case served && (n > 0 || logged > 0):
			t.Errorf("%s has sent %d requests for all objects, and logged %d times that it drops some", r.name, n, logged)
		case !served && (n == 0 || logged != 1):
			t.Errorf("%s has logged %d times that it drops objects, want once", r.name, logged)
		}
	}
}

// measure creates the wanted objects, and compares what the replicas receive with what one client does that watches all
// of them: the events, and a list.
func (f *shardFleet) measure(
	cfg *kube.Config, maps *kube.API[corev1.ConfigMap], want map[string]string, replicas []*fleetReplica, served bool,
) {
	f.t.Helper()
	var whole received
	one := connect(f.t, &kube.ClientOptions{Config: cfg, PerAttempt: []middleware.Func{whole.middleware}})
	view := watchAll(f.t, one, f.ns)
	whole.bytes.Store(0)
	for _, r := range replicas {
		r.got.bytes.Store(0)
	}
	var clients sync.WaitGroup
	names := make(chan string)
	for range 16 {
		clients.Go(func() {
			for name := range names {
				if _, err := maps.Create(limit(f.t), configMap(name, want[name]), nil); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	for name := range want {
		names <- name
	}
	close(names)
	clients.Wait()
	f.reconciled(want)
	eventually(f.t, "the watch of all objects has received them", func(context.Context) error {
		if n := view.Store().Len(); n != len(want)+1 {
			return fmt.Errorf("%d objects", n)
		}
		return nil
	})
	list := func(c *kube.Client, shard string) {
		pages := &kube.ListOptions{ShardSelector: shard, Limit: 100} // the server would compress larger pages
		for _, err := range kube.Namespaced[corev1.ConfigMap](c, f.ns).All(limit(f.t), pages) {
			if err != nil {
				f.t.Fatal(err)
			}
		}
	}
	if served {
		list(one, "")
		for _, r := range replicas {
			s, _ := r.manager.Sharding()
			list(r.client, s.Shard.String())
		}
	}
	all := whole.bytes.Load()
	for _, r := range replicas {
		s, _ := r.manager.Sharding()
		own := 0
		for cm, err := range view.Store().All(nil) {
			if err != nil {
				f.t.Fatal(err)
			}
			if s.Shard.Has(cm.UID, cm.Namespace) {
				own++
			}
		}
		objects, bytes := float64(own)/float64(view.Store().Len()), float64(r.got.bytes.Load())/float64(all)
		f.t.Logf("%s has received %.1f %% of %d bytes for %.1f %% of the objects", r.name, 100*bytes, all, 100*objects)
		if served && bytes > objects+0.02 {
			f.t.Errorf("%s has received %.1f %% of the bytes, want at most 2 %% more than its share", r.name, 100*bytes)
		}
	}
}

func (f *shardFleet) put(maps *kube.API[corev1.ConfigMap], want map[string]string, name, value string) {
	f.t.Helper()
	if _, err := maps.Patch(limit(f.t), name, setValue(value), nil); err != nil {
		f.t.Fatal(err)
	}
	want[name] = value
}

// watchAll runs an unsharded view until the test ends.
func watchAll(t *testing.T, c *kube.Client, ns string) *kube.View[corev1.ConfigMap] {
	t.Helper()
	view := kube.ViewOf[corev1.ConfigMap](newCache(t, c), &kube.Selection{Namespace: ns})
	background(t, view.Run)
	if err := view.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	return view
}

// TestReplicasWithoutObjectsReceiveNone checks the field selector of a replica that owns nothing, for built-in and
// custom kinds.
func TestReplicasWithoutObjectsReceiveNone(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps, widgets := kube.Namespaced[corev1.ConfigMap](c, ns), newWidgets(t, c, "none").In(ns)
	for _, name := range []string{"none", "other"} {
		create(t, maps, name, "1")
		w := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
		if _, err := widgets.Create(limit(t), w, nil); err != nil {
			t.Fatal(err)
		}
	}
	receivesNone(t, "typed", maps)
	receivesNone(t, "typed in all namespaces", kube.ClusterWide[corev1.ConfigMap](c))
	receivesNone(t, "custom", widgets)
	receivesNone(t, "metadata", widgets.Metadata())
}

func receivesNone[K any](t *testing.T, name string, api *kube.API[K]) {
	t.Helper()
	const selector = "metadata.name=none,metadata.name!=none"
	list, err := api.List(limit(t), &kube.ListOptions{FieldSelector: selector, Limit: 500})
	if err != nil || len(list.Items) > 0 || list.ResourceVersion == "" {
		t.Errorf("%s: %+v, %v, want an empty list", name, list, err)
	}
	events := &request.WatchOptions{FieldSelector: selector, SendInitialEvents: true}
	for ev, err := range api.WatchOnce(limit(t), events) {
		if err != nil || ev.Type != kube.Bookmark {
			t.Errorf("%s: %v, %v, want the end of an empty list", name, ev, err)
		}
		return
	}
	t.Errorf("%s: the watch ended", name)
}
