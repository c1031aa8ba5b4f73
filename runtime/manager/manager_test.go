// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/manager"
	"github.com/kube-go/sdk/runtime/sharding"
	"github.com/kube-go/sdk/runtime/webhook"
)

var (
	errStop   = errors.New("stop")
	errBroken = errors.New("broken")
)

// journal is the events of a test, in order.
type journal struct {
	mu     sync.Mutex // guards events
	events []string
}

func (j *journal) add(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

// part is a Runnable that writes into a journal.
type part struct {
	name    string
	journal *journal
	fail    <-chan error  // the part fails with this error
	slow    time.Duration // it stops after this time
}

func (p *part) Name() string { return p.name }

func (p *part) Run(ctx context.Context) error {
	p.journal.add(p.name + " begins")
	defer p.journal.add(p.name + " ends")
	select {
	case err := <-p.fail:
		return err
	case <-ctx.Done():
		time.Sleep(p.slow)
		return context.Cause(ctx)
	}
}

func resource[K any, P core.ObjectPtr[K]]() core.Resource {
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		panic(err)
	}
	return res
}

func newServer() *fakeapi.Server {
	return fakeapi.New(resource[coordinationv1.Lease](), resource[corev1.ConfigMap]())
}

// connect returns a client whose requests fail while cut is set.
func connect(t *testing.T, s http.RoundTripper, cut *atomic.Bool) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), &client.Options{
		Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
		Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if cut != nil && cut.Load() {
				return nil, errors.New("connection cut")
			}
			return s.RoundTrip(r)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var discard = slog.New(slog.DiscardHandler)

// run runs a manager in a goroutine.
func run(t *testing.T, m *manager.Manager) (stop context.CancelCauseFunc, result <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return stop, ended
}

func TestControllersStopBeforeServers(t *testing.T) {
	for name, lease := range map[string]string{"with election": "shop", "without election": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				m := manager.New(connect(t, newServer(), nil), &manager.Options{LeaderElection: lease, Logger: discard})
				m.AddToAll(&part{name: "server", journal: j})
				m.Add(&part{name: "controller", journal: j, slow: 20 * time.Second})
				stop, result := run(t, m)
				time.Sleep(5 * time.Second)
				if !m.Leading() {
					t.Error("the only replica does not lead")
				}
				stop(errStop)
				if err := <-result; err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
				want := []string{"server begins", "controller begins", "controller ends", "server ends"}
				got := j.all()
				slices.Sort(got[:2]) // they begin together
				slices.Reverse(got[:2])
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if m.Leading() {
					t.Error("the replica leads after its end")
				}
				if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "called twice") {
					t.Errorf("a second Run = %v", err)
				}
			})
		})
	}
}

func TestAFailureStopsEverything(t *testing.T) {
	for name, lease := range map[string]string{"with election": "shop", "without election": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, fail := &journal{}, make(chan error, 1)
				s := newServer()
				m := manager.New(connect(t, s, nil), &manager.Options{LeaderElection: lease, Logger: discard})
				m.Add(&part{name: "first", journal: j})
				m.Add(&part{name: "second", journal: j, fail: fail})
				m.AddToAll(&part{name: "server", journal: j})
				_, result := run(t, m)
				time.Sleep(5 * time.Second)
				fail <- errBroken
				if err := <-result; !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "second: broken") {
					t.Errorf("Run = %v, want the error and the name", err)
				}
				if n := strings.Count(strings.Join(j.all(), ","), "ends"); n != 3 {
					t.Errorf("events: %v, want 3 ends", j.all())
				}
			})
		})
	}
}

func TestARunnableThatEndsItsGoroutineFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
		m.Add(runFunc(func(context.Context) error {
			runtime.Goexit()
			return nil
		}))
		if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "runFunc: runtime.Goexit was called") {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestWhatEndsWithoutAnErrorStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, fail := &journal{}, make(chan error, 1)
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
		m.Add(&part{name: "job", journal: j, fail: fail})
		m.Add(&part{name: "controller", journal: j})
		stop, result := run(t, m)
		fail <- nil
		time.Sleep(time.Minute)
		if got := j.all(); len(got) != 3 || !slices.Contains(got, "job ends") {
			t.Errorf("events: %v", got)
		}
		stop(errStop)
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestWhatDoesNotStopIsNamed(t *testing.T) {
	for name, lease := range map[string]string{"with election": "shop", "without election": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, s := &journal{}, newServer()
				m := manager.New(connect(t, s, nil), &manager.Options{
					LeaderElection: lease, Logger: discard, StopTimeout: 10 * time.Second,
				})
				m.Add(&part{name: "slow", journal: j, slow: time.Hour})
				stop, result := run(t, m)
				time.Sleep(5 * time.Second)
				stop(errStop)
				err := <-result
				if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "still running after Options.StopTimeout: slow") {
					t.Errorf("Run = %v", err)
				}
				if lease != "" && holder(t, s) == "" {
					t.Error("the lease is released while something runs")
				}
				time.Sleep(2 * time.Hour) // the part ends
				if lease != "" && holder(t, s) != "" {
					t.Error("the lease is not released")
				}
			})
		})
	}
}

func TestTheLongestStopTimeoutWaits(t *testing.T) {
	for name, lease := range map[string]string{"with election": "shop", "without election": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := manager.New(connect(t, newServer(), nil), &manager.Options{
					LeaderElection: lease, Logger: discard, StopTimeout: math.MaxInt64, // and a second more would be negative
				})
				m.Add(&part{name: "slow", journal: &journal{}, slow: time.Hour})
				stop, result := run(t, m)
				time.Sleep(5 * time.Second)
				stop(errStop)
				if err := <-result; err != nil {
					t.Errorf("Run = %v, want nil when it has stopped", err)
				}
			})
		})
	}
}

// TestALostLeaseReturnsToStandby checks that a replica that loses the lease stops its controllers, waits, and leads
// again, in one Run.
func TestALostLeaseReturnsToStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j := newServer(), &journal{}
		var cut atomic.Bool
		first := manager.New(connect(t, s, &cut), &manager.Options{LeaderElection: "shop", Logger: discard})
		first.Add(&part{name: "first", journal: j})
		second := manager.New(connect(t, s, nil), &manager.Options{LeaderElection: "shop", Logger: discard})
		second.Add(&part{name: "second", journal: j})
		stopFirst, firstResult := run(t, first)
		time.Sleep(5 * time.Second)
		stopSecond, secondResult := run(t, second)
		time.Sleep(time.Minute)
		cut.Store(true)
		time.Sleep(time.Minute)
		cut.Store(false)
		stopSecond(errStop)
		if err := <-secondResult; err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		stopFirst(errStop)
		if err := <-firstResult; err != nil {
			t.Error(err)
		}
		want := []string{"first begins", "first ends", "second begins", "second ends", "first begins", "first ends"}
		if diff := cmp.Diff(want, j.all()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// TestAStandbyHasWarmCaches checks that the first reconcile of a new leader needs no request but the election's, and
// begins within a second.
func TestAStandbyHasWarmCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for i := range 100 {
			s.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "cm-" + string(rune('a'+i%26)) + string(rune('a'+i/26))},
			})
		}
		var lists atomic.Int32
		start := func() (context.CancelCauseFunc, <-chan error, <-chan time.Time) {
			c, err := client.New(t.Context(), &client.Options{
				Config: &config.Config{Server: "https://cluster.test", Namespace: "prod"},
				Transport: middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
					if strings.HasSuffix(r.URL.Path, "/configmaps") {
						lists.Add(1)
					}
					return s.RoundTrip(r)
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			m := manager.New(c, &manager.Options{LeaderElection: "shop", Logger: discard})
			begun := make(chan time.Time, 1000)
			ctl := controller.New(controller.For[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard})), nil)
			m.Add(ctl.With(func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
				begun <- time.Now()
				return controller.AwaitChange(), nil
			}))
			stop, result := run(t, m)
			return stop, result, begun
		}
		stopFirst, firstResult, _ := start()
		time.Sleep(5 * time.Second)
		stopSecond, secondResult, begun := start()
		time.Sleep(time.Minute)
		before := lists.Load()
		if len(begun) > 0 {
			t.Fatal("the standby reconciles")
		}
		stopFirst(errStop)
		if err := <-firstResult; err != nil {
			t.Error(err)
		}
		released := time.Now()
		if took := (<-begun).Sub(released); took > 1200*time.Millisecond {
			t.Errorf("the first reconcile began after %v", took)
		}
		time.Sleep(time.Second)
		if len(begun) != 99 {
			t.Errorf("%d more objects were reconciled, want 99", len(begun))
		}
		if n := lists.Load() - before; n != 0 {
			t.Errorf("the new leader has sent %d lists and watches", n)
		}
		stopSecond(errStop)
		if err := <-secondResult; err != nil {
			t.Error(err)
		}
	})
}

func TestInvalidOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   manager.Options
		want string
	}{
		{
			"two names",
			manager.Options{LeaderElection: "a", ElectionOptions: &election.Options{Name: "b"}},
			`Options.ElectionOptions.Name is "b"`,
		},
		{"no name", manager.Options{ElectionOptions: &election.Options{}}, "without Options.LeaderElection"},
		{
			"an invalid election",
			manager.Options{LeaderElection: "a", ElectionOptions: &election.Options{RetryPeriod: -1}},
			"Options.RetryPeriod",
		},
		{"no address", manager.Options{MetricsHandler: http.NotFoundHandler()}, "Options.MetricsHandler is set without"},
		{"a negative timeout", manager.Options{StopTimeout: -1}, "Options.StopTimeout: -1ns is negative"},
		{"an invalid address", manager.Options{HealthAddr: "127.0.0.1:x"}, "unknown port"},
	} {
		tt.in.Logger = discard
		err := manager.New(connect(t, newServer(), nil), &tt.in).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Run = %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func refOf(name string) core.ObjectRef { return core.ObjectRef{Namespace: "prod", Name: name} }

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "prod", Name: name} }

func TestManagerThatCouldNotStartDoesNotLead(t *testing.T) {
	m := manager.New(nil, &manager.Options{HealthAddr: "256.0.0.1:1"})
	if err := m.Run(t.Context()); err == nil {
		t.Fatal("Run returned no error")
	}
	if m.Leading() {
		t.Error("Leading is true although Run is not active")
	}
}

// untilDone is a Runnable that returns the error of its context, and not the cause.
type untilDone struct{}

func (untilDone) Run(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestTheEndOfADeadlineIsACleanStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, errStop)
		defer stop()
		m := manager.New(nil, &manager.Options{Logger: discard})
		m.Add(untilDone{})
		m.AddToAll(untilDone{})
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

func TestNilIsAnError(t *testing.T) {
	m := manager.New(nil, nil)
	m.Add(nil)
	m.AddToAll(nil)
	m.AddReadinessCheck("database", nil)
	m.AddLivenessCheck("loop", nil)
	m.AddTable(nil)
	err := m.Run(t.Context())
	for _, want := range []string{
		"Add was called with nil: pass", "AddToAll was called with nil: pass", "AddTable was called with nil: pass",
		`AddReadinessCheck was called with nil for the check "database": pass`,
		`AddLivenessCheck was called with nil for the check "loop": pass`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run = %v, want %s", err, want)
		}
	}
}

// TestAWebhookServerMustRunInEveryReplica checks that the error names the remedy, and that Add takes a server without
// terms.
// TestWhatIsAddedDuringRunIsLogged checks that a call that comes too late changes nothing and is not silent.
func TestWhatIsAddedDuringRunIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := manager.New(newServer().Client(), &manager.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		j := &journal{}
		m.Add(&part{name: "early", journal: j})
		stop, result := run(t, m)
		synctest.Wait()
		check := func(context.Context) error { return nil }
		m.Add(&part{name: "late", journal: j})
		m.AddToAll(&part{name: "server", journal: j})
		m.AddReadinessCheck("db", check)
		m.AddLivenessCheck("loop", check)
		m.AddTable(nil)
		synctest.Wait()
		stop(errStop)
		if err := <-result; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if diff := cmp.Diff([]string{"early begins", "early ends"}, j.all()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		for _, call := range []string{
			"Add was called with late", "AddToAll was called with server", "AddTable was called with nil",
			`AddReadinessCheck was called with the check \"db\"`, `AddLivenessCheck was called with the check \"loop\"`,
		} {
			want := `level=ERROR msg="a call is ignored" err="manager: ` + call + ` after the start of Run: call it before"`
			if !strings.Contains(log.String(), want) {
				t.Errorf("log = %s, want %s", log.String(), want)
			}
		}
	})
}

func TestAWebhookServerMustRunInEveryReplica(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	for _, tt := range []struct {
		o    manager.Options
		want string
	}{
		{manager.Options{LeaderElection: "shop"}, "use AddToAll"},
		{manager.Options{Sharding: "shop"}, "use AddToAll"},
		{manager.Options{}, ""},
	} {
		tt.o.Logger = discard
		m := manager.New(connect(t, newServer(), nil), &tt.o)
		m.Add(webhook.NewServer(nil, &webhook.Options{
			Addr: "127.0.0.1:0", CertDir: t.TempDir(), StopDelay: -1, Logger: discard,
		}))
		if err := m.Run(ctx); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run() = %v with a webhook server and %+v, want %q", err, tt.o, tt.want)
		}
	}
}

// TestAViewMustRunInEveryReplica checks that the error names the remedy, and that Add takes a view without election.
func TestAViewMustRunInEveryReplica(t *testing.T) {
	c := connect(t, newServer(), nil)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	for lease, want := range map[string]string{"shop": "use AddToAll", "": ""} {
		m := manager.New(c, &manager.Options{LeaderElection: lease, Logger: discard})
		m.Add(cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), nil))
		if err := m.Run(ctx); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Run() = %v with a view and the lease %q, want %q", err, lease, want)
		}
	}
}

// undivided is a controller that wraps a Runner without its method Shard.
type undivided struct{ runner *controller.Runner }

func (u undivided) Run(ctx context.Context) error     { return u.runner.Run(ctx) }
func (u undivided) Metrics() controller.Metrics       { return u.runner.Metrics() }
func (u undivided) Health() []controller.SourceHealth { return u.runner.Health() }
func (u undivided) Name() string                      { return "whole" }

// TestAControllerThatCannotBeShardedNeedsALeader checks that the error names the remedy, and that Add takes such a
// controller without sharding.
func TestAControllerThatCannotBeShardedNeedsALeader(t *testing.T) {
	c := connect(t, newServer(), nil)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errStop)
	for group, want := range map[string]string{"shop": "the controller whole, which can't be sharded: use ", "": ""} {
		view := cache.Of[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard}), nil)
		runner := controller.New(controller.ForView(view), &controller.Options{Logger: discard}).With(
			func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
				return controller.AwaitChange(), nil
			})
		m := manager.New(c, &manager.Options{Sharding: group, Logger: discard})
		m.Add(undivided{runner})
		if err := m.Run(ctx); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Run() = %v in the group %q, want %q", err, group, want)
		}
	}
}

func TestChecksHaveDifferentNamesThatAPathCanHave(t *testing.T) {
	pass := func(context.Context) error { return nil }
	for _, tt := range []struct {
		add  func(m *manager.Manager)
		want string
	}{
		{
			func(m *manager.Manager) { m.AddReadinessCheck("a", pass); m.AddReadinessCheck("a", pass) },
			`AddReadinessCheck was called with the name "a"`,
		},
		{
			func(m *manager.Manager) { m.AddReadinessCheck("running", pass) },
			`AddReadinessCheck was called with the name "running"`,
		},
		{func(m *manager.Manager) { m.AddReadinessCheck("", pass) }, `AddReadinessCheck was called with the name ""`},
		{func(m *manager.Manager) { m.AddReadinessCheck("a//b", pass) }, `"a//b", which no path can have`},
		{func(m *manager.Manager) { m.AddLivenessCheck("../a", pass) }, `"../a", which no path can have`},
		{func(m *manager.Manager) { m.AddLivenessCheck("a/", pass) }, `"a/", which no path can have`},
		{func(m *manager.Manager) { m.AddLivenessCheck("ping", pass) }, `AddLivenessCheck was called with the name "ping"`},
		{func(m *manager.Manager) { m.AddReadinessCheck("ping", pass); m.AddLivenessCheck("running", pass) }, ""},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errStop)
		m := manager.New(nil, &manager.Options{Logger: discard})
		tt.add(m)
		if err := m.Run(ctx); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run() = %v, want %q", err, tt.want)
		}
	}
}

// TestInvalidElectionAndShardingStartNothing checks that Run returns the error of an invalid option before it starts
// anything.
func TestInvalidElectionAndShardingStartNothing(t *testing.T) {
	for _, o := range []manager.Options{
		{LeaderElection: "shop", ElectionOptions: &election.Options{RenewDeadline: 20 * time.Second}},
		{LeaderElection: "shop", ElectionOptions: &election.Options{Namespace: "Prod/x"}},
		{Sharding: "shop", ShardingOptions: &sharding.Options{RenewDeadline: 20 * time.Second}},
		{Sharding: "shop", ShardingOptions: &sharding.Options{Namespace: "Prod/x"}},
	} {
		j := &journal{}
		o.Logger = discard
		m := manager.New(connect(t, newServer(), nil), &o)
		m.AddToAll(&part{name: "server", journal: j})
		err := m.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Options.") || len(j.all()) > 0 {
			t.Errorf("Run(%+v) = %v, after the events %v", o, err, j.all())
		}
	}
}

// TestAnErrorBesideTheEndOfTheContextIsReturned checks that Run returns what a Runnable reports at the stop beside the
// end of its context.
func TestAnErrorBesideTheEndOfTheContextIsReturned(t *testing.T) {
	flush := errors.New("flush: 12 events were lost")
	for name, combine := range map[string]func(...error) error{
		"join":      errors.Join,
		"aggregate": func(all ...error) error { return utilerrors.NewAggregate(all) },
		"empty":     func(...error) error { return empty{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
				m.AddToAll(runFunc(func(ctx context.Context) error {
					<-ctx.Done()
					return combine(ctx.Err(), flush)
				}))
				stop, result := run(t, m)
				synctest.Wait()
				stop(nil)
				if err := <-result; err == nil || !strings.Contains(err.Error(), "12 events were lost") {
					t.Errorf("Run = %v, want the error beside the end", err)
				}
			})
		})
	}
}

// empty is an error with an empty list.
type empty struct{}

func (empty) Error() string { return "12 events were lost" }

func (empty) Unwrap() []error { return nil }
