// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
)

// misfortune makes the functions of a test fail in all ways, and records what the runs have seen.
type misfortune struct {
	t *testing.T

	mu      sync.Mutex // guards the fields below
	rand    *rand.Rand
	over    bool
	running map[controller.Key]bool
	seen    map[controller.Key]string
	caches  map[string]*cache.Cache
}

// roll returns a number from 0 to n-1; always 0 when the misfortune is over.
func (m *misfortune) roll(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return 0
	}
	return m.rand.IntN(n)
}

// strike fails in one of several ways, or returns nil.
func (m *misfortune) strike() error {
	switch m.roll(12) {
	case 1:
		panic(errNo)
	case 2:
		runtime.Goexit()
	case 3:
		return errNo
	case 4:
		<-time.After(300 * time.Millisecond)
	}
	return nil
}

// begin records the begin of a run, and returns a function for its end.
func (m *misfortune) begin(key controller.Key) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running[key] {
		m.t.Errorf("two runs of %s overlap", key)
	}
	m.running[key] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running[key] = false
	}
}

// reconcile records the text of a document, and those of the pages that concern it.
func (m *misfortune) reconcile(ctx context.Context, d *document) (controller.Action, error) {
	run, _ := controller.RunOf(ctx)
	defer m.begin(run.Key)()
	m.mu.Lock()
	about := cache.Of[page](m.caches[run.Key.Cluster], nil).Store()
	m.mu.Unlock()
	state := d.Text
	p, err := about.Get(core.RefOf(d)) // the page of the same name
	if err == nil {
		state += " " + p.Labels["text"]
	}
	if err := m.strike(); err != nil {
		return controller.Action{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[run.Key] = state
	return controller.AwaitChange(), nil
}

// fleet is clusters, of which some are engaged.
type fleet struct {
	misfortune
	controller *controller.Controller[document]
	worlds     map[string]*world
	leave      map[string]func()
	texts      int
}

func (f *fleet) step(name string) {
	w, key := f.worlds[name], fmt.Sprint("prod/", f.roll(4))
	f.texts++
	switch text := fmt.Sprint(f.texts); f.roll(8) {
	case 0, 1, 2:
		w.Put(documents, doc(key, text))
	case 3, 4, 5:
		p := pageOf(key)
		p.Labels = map[string]string{"text": text}
		w.Put(pages, p)
	case 6:
		w.Delete(documents, ref(key))
	case 7:
		f.move(name)
	}
}

// move engages a cluster with a new cache, or makes it leave.
func (f *fleet) move(name string) {
	if name == "hub" {
		return
	}
	if leave := f.leave[name]; leave != nil {
		leave()
		delete(f.leave, name)
		return
	}
	w := f.worlds[name]
	w.cache = cache.New(w.client, &cache.Options{Cluster: name, Logger: slog.New(slog.DiscardHandler)})
	f.mu.Lock()
	f.caches[name] = w.cache
	f.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(f.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f.controller.Engage(ctx, w.cache) }()
	f.leave[name] = func() {
		cancel(errLeave)
		if err := <-ended; err != errLeave {
			f.t.Errorf("Engage() = %v, want the cause", err)
		}
	}
}

// check compares what the runs have seen last with the objects.
func (f *fleet) check() {
	for name, w := range f.worlds {
		for d, err := range viewOf[document](w).Store().All(nil) {
			if err != nil {
				f.t.Fatal(err)
			}
			want := d.Text
			if p, err := viewOf[page](w).Store().Get(core.RefOf(d)); err == nil {
				want += " " + p.Labels["text"]
			}
			key := controller.Key{Cluster: name, Ref: core.RefOf(d)}
			if got := f.seen[key]; got != want {
				f.t.Errorf("the last run of %s has seen %q, want %q", key, got, want)
			}
		}
	}
	s := f.controller.Metrics()
	if a := s.Applier; a.Ready+a.Running+a.Held+a.Delayed+s.Mapping > 0 {
		f.t.Errorf("work is left: %+v", s)
	}
}

func TestNoChangeIsLostWhileClustersComeAndGoAndFunctionsPanic(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{worlds: make(map[string]*world), leave: make(map[string]func())}
			f.misfortune = misfortune{
				t: t, rand: rand.New(rand.NewPCG(seed, 1)),
				running: make(map[controller.Key]bool), seen: make(map[controller.Key]string),
				caches: make(map[string]*cache.Cache),
			}
			for _, name := range []string{"hub", "eu", "us"} {
				f.worlds[name] = newCluster(t, name)
				f.caches[name] = f.worlds[name].cache
			}
			hub := f.worlds["hub"].cache
			luckless := controller.PredicateOf(func(_, _ *document) bool {
				if f.roll(3) == 1 {
					panic(errNo)
				}
				return true
			})
			f.controller = controller.New(controller.For[document](hub).Where(luckless), &controller.Options{
				Logger: slog.New(slog.DiscardHandler),
				Retry:  &applier.Backoff{MaxBackoff: time.Second},
				OnGone: func(context.Context, controller.Key) { _ = f.strike() },
				OnResult: func(controller.Result) {
					_ = f.strike()
				},
			}).Watches(controller.Source[page](hub).Map(func(_ context.Context, p *page) ([]core.ObjectRef, error) {
				return []core.ObjectRef{core.RefOf(p)}, f.strike()
			}))
			start(t, f.controller, f.reconcile)
			names := []string{"hub", "eu", "us"}
			for range 200 {
				f.step(names[f.roll(3)])
				<-time.After(time.Duration(f.roll(50)) * time.Millisecond)
			}
			for _, name := range names[1:] {
				if f.leave[name] == nil {
					f.move(name)
				}
			}
			f.mu.Lock()
			f.over = true
			f.mu.Unlock()
			after(time.Hour)
			f.check()
			for _, leave := range f.leave {
				leave()
			}
		})
	}
}
