// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/sharding"
)

// seeds is the number of random sequences of faults, with sharded views and without. `make seeds` runs 100. The first
// three find a member that ignores the runs in its slots: without views, two of three seeds find it, and with views,
// one of three.
var seeds = flag.Uint64("seeds", 4, "the number of random sequences of faults")

// shop is replicas that reconcile config maps together, and what their runs have seen.
type shop struct {
	t      *testing.T
	server *fakeapi.Server
	took   func() time.Duration // of a run
	views  bool                 // the replicas have sharded views

	mu      sync.Mutex // guards the fields below
	running map[string]string
	seen    map[string]string // the newest value that a run of an object has seen
	runs    map[string]int    // by replica
	gone    map[string]int
	causes  map[controller.CauseType]int
}

func newShop(t *testing.T, took func() time.Duration) *shop {
	return &shop{
		t: t, server: newServer(), took: took, running: map[string]string{}, seen: map[string]string{},
		runs: map[string]int{}, gone: map[string]int{}, causes: map[controller.CauseType]int{},
	}
}

func (s *shop) put(name, value string) {
	s.server.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name},
		Data:       map[string]string{"value": value},
	})
}

// replica is a process.
type replica struct {
	name   string
	cut    atomic.Bool
	stop   context.CancelCauseFunc
	result <-chan error
}

func (s *shop) start(name string) *replica {
	r := &replica{name: name}
	c := connect(s.t, s.server, &r.cut)
	m := manager.New(c, &manager.Options{
		Sharding: "shop", ShardingOptions: &sharding.Options{Identity: name}, Logger: discard,
	})
	view := cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), &cache.Selection{Sharded: s.views})
	ctl := controller.New(controller.ForView(view),
		&controller.Options{Logger: discard, OnGone: func(_ context.Context, key controller.Key) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.gone[key.Ref.Name]++
		}})
	m.Add(ctl.With(func(ctx context.Context, cm *corev1.ConfigMap) (controller.Action, error) {
		return controller.AwaitChange(), s.reconcile(ctx, name, cm)
	}))
	r.stop, r.result = run(s.t, m)
	return r
}

// reconcile is a run. It does nothing after the end of its context, like one whose client is fenced.
func (s *shop) reconcile(ctx context.Context, replica string, cm *corev1.ConfigMap) error {
	s.mu.Lock()
	if other := s.running[cm.Name]; other != "" {
		s.t.Errorf("%s and %s reconcile %s", replica, other, cm.Name)
	}
	s.running[cm.Name] = replica
	s.runs[replica]++
	r, _ := controller.RunOf(ctx)
	s.causes[r.Causes[0].Type]++
	s.mu.Unlock()
	timer := time.NewTimer(s.took())
	defer timer.Stop()
	var err error
	select {
	case <-timer.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, cm.Name)
	if err == nil {
		s.seen[cm.Name] = cm.Data["value"]
	}
	return err
}

func (s *shop) end(r *replica) {
	s.t.Helper()
	r.stop(errStop)
	if err := <-r.result; err != nil {
		s.t.Errorf("Run = %v", err)
	}
}

func TestReplicasShareObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { shareObjects(t, false) })
}

func TestReplicasWithShardedViewsShareObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { shareObjects(t, true) })
}

func shareObjects(t *testing.T, views bool) {
	s := newShop(t, func() time.Duration { return 10 * time.Millisecond })
	s.views = views
	for i := range 400 {
		s.put(fmt.Sprint("cm-", i), "1")
	}
	a, b := s.start("a"), s.start("b")
	time.Sleep(10 * time.Second)
	s.mu.Lock()
	if n := len(s.seen); n != 400 {
		t.Errorf("%d objects were reconciled", n)
	}
	clear(s.runs)
	clear(s.causes)
	s.mu.Unlock()
	for i := range 400 {
		s.put(fmt.Sprint("cm-", i), "2")
	}
	time.Sleep(10 * time.Second)
	s.mu.Lock()
	if s.runs["a"]+s.runs["b"] != 400 || s.runs["a"] < 150 || s.runs["b"] < 150 {
		t.Errorf("runs for 400 changes: %v", s.runs)
	}
	of := s.runs["b"]
	clear(s.runs)
	clear(s.causes)
	s.mu.Unlock()

	for i := range 200 {
		s.server.Delete(resource[corev1.ConfigMap](), refOf(fmt.Sprint("cm-", i)))
	}
	time.Sleep(5 * time.Second)
	s.mu.Lock()
	for i := range 200 {
		if n := s.gone[fmt.Sprint("cm-", i)]; n != 1 {
			t.Errorf("OnGone was called %d times for cm-%d", n, i)
		}
	}
	s.mu.Unlock()

	s.end(b)
	time.Sleep(2 * time.Second)
	s.mu.Lock()
	if n := s.runs["a"]; n < of/4 || n > of || s.causes[controller.CauseResharded] != n || s.runs["b"] > 0 {
		t.Errorf("runs after the end of a replica with %d objects: %v, %v", of, s.runs, s.causes)
	}
	s.mu.Unlock()
	s.end(a)
}

// TestObjectsAreReconciledInSpiteOfFaults starts, stops and disconnects replicas at random. No object is reconciled by
// two of them at a time, and in the end, the newest state of each has been.
func TestObjectsAreReconciledInSpiteOfFaults(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { surviveFaults(t, rand.New(rand.NewPCG(seed, 3)), false) })
		})
		t.Run(fmt.Sprint("sharded views ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { surviveFaults(t, rand.New(rand.NewPCG(seed, 4)), true) })
		})
	}
}

func surviveFaults(t *testing.T, random *rand.Rand, views bool) {
	var mu sync.Mutex // guards random in runs
	s := newShop(t, func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(50) == 0 {
			return time.Duration(random.IntN(8000)) * time.Millisecond
		}
		return time.Duration(random.IntN(100)) * time.Millisecond
	})
	s.views = views
	number := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	replicas := []*replica{s.start("r0"), s.start("r1"), s.start("r2")}
	const objects = 60
	want := map[string]string{}
	for i := range 600 {
		name := fmt.Sprint("cm-", number(objects))
		want[name] = fmt.Sprint(i)
		s.put(name, want[name])
		time.Sleep(time.Duration(number(1000)) * time.Millisecond)
		at := number(len(replicas))
		switch number(25) {
		case 0:
			replicas[at].cut.Store(false)
			go s.end(replicas[at])
			replicas[at] = s.start(fmt.Sprint("r", i+10))
		case 1:
			replicas[at].cut.Store(true)
		case 2:
			replicas[at].cut.Store(false)
		}
	}
	for _, r := range replicas {
		r.cut.Store(false)
	}
	time.Sleep(2 * time.Minute)
	s.mu.Lock()
	for name, value := range want {
		if got := s.seen[name]; got != value {
			t.Errorf("%s was reconciled with the value %q, want %q", name, got, value)
		}
	}
	s.mu.Unlock()
	for _, r := range replicas {
		s.end(r)
	}
}

func TestInvalidShardingOptions(t *testing.T) {
	for _, tt := range []struct {
		in   manager.Options
		want string
	}{
		{manager.Options{Sharding: "a", LeaderElection: "b"}, "are both set"},
		{manager.Options{Sharding: "a", ShardingOptions: &sharding.Options{Name: "b"}}, `Options.ShardingOptions.Name is "b"`},
		{manager.Options{ShardingOptions: &sharding.Options{}}, "without Options.Sharding"},
		{manager.Options{Sharding: "A"}, "Options.Name"},
	} {
		tt.in.Logger = discard
		err := manager.New(connect(t, newServer(), nil), &tt.in).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run = %v, want an error with %q", err, tt.want)
		}
	}
}

// TestReplicaThatLosesEachTermAtOnceDoesNotLoadTheServer uses a table without its label, as after a policy that removes
// labels: no list has it.
func TestReplicaThatLosesEachTermAtOnceDoesNotLoadTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.Put(resource[coordinationv1.Lease](), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "shop-shards",
			Annotations: map[string]string{"sharding.kube-go.github.io/table": `{"slots":256,"generation":3,"members":[]}`},
		}})
		var writes atomic.Int32
		c := connect(t, middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				writes.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
			return s.RoundTrip(r)
		}), nil)
		m := manager.New(c, &manager.Options{Sharding: "shop", Logger: discard})
		m.Add(&part{name: "controller", journal: &journal{}})
		stop, result := run(t, m)
		time.Sleep(time.Minute)
		if n := writes.Load(); n > 200 {
			t.Errorf("%d writes in a minute", n)
		}
		stop(nil)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}
