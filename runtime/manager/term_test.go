// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/election"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/terms"
	"github.com/kube-go/sdk/runtime/manager"
)

// duty is the object that two replicas want to reconcile. No run of one may overlap with a run of the other.
type duty struct {
	t      *testing.T
	server *fakeapi.Server
	option manager.Options

	mu      sync.Mutex // guards the fields below
	running string
	begun   map[string]time.Time // the first run of each replica
}

func newDuty(t *testing.T, option manager.Options) *duty {
	d := &duty{t: t, server: newServer(), option: option, begun: map[string]time.Time{}}
	d.option.Logger = discard
	d.server.Put(resource[corev1.ConfigMap](), &corev1.ConfigMap{ObjectMeta: meta("a")})
	return d
}

// start starts a replica, whose runs call work.
func (d *duty) start(name string, cut *atomic.Bool, work func(context.Context)) (context.CancelCauseFunc, <-chan error) {
	d.t.Helper()
	c := connect(d.t, d.server, cut)
	m := manager.New(c, &d.option)
	ctl := controller.New(controller.For[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard})),
		&controller.Options{Logger: discard})
	m.Add(ctl.With(func(ctx context.Context, _ *corev1.ConfigMap) (controller.Action, error) {
		d.note(name, true)
		defer d.note(name, false)
		work(ctx)
		return controller.AwaitChange(), nil
	}))
	return run(d.t, m)
}

func (d *duty) note(name string, begins bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !begins:
		d.running = ""
	case d.running != "":
		d.t.Errorf("%s reconciles the object while %s does", name, d.running)
	default:
		d.running = name
		if d.begun[name].IsZero() {
			d.begun[name] = time.Now()
		}
	}
}

func (d *duty) first(name string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun[name]
}

// divisions are the ways to divide work among replicas.
var divisions = map[string]manager.Options{"election": {LeaderElection: "shop"}, "sharding": {Sharding: "shop"}}

// TestRunsEndWhenTheTermIsLostDuringTheStop checks that the contexts of the last runs of a replica that stops end as
// soon as it loses its term, and not only after the StopTimeout of the controller.
func TestRunsEndWhenTheTermIsLostDuringTheStop(t *testing.T) {
	for name, option := range divisions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDuty(t, option)
				var cut atomic.Bool
				var lost error
				stopA, resultA := d.start("a", &cut, func(ctx context.Context) {
					<-ctx.Done()
					lost = context.Cause(ctx)
				})
				time.Sleep(3 * time.Second)
				stopB, resultB := d.start("b", nil, func(context.Context) { time.Sleep(time.Second) })
				time.Sleep(3 * time.Second)
				stopA(errStop)
				time.Sleep(time.Second)
				cut.Store(true)
				began := time.Now()
				if err := <-resultA; err != nil {
					t.Errorf("Run = %v, want nil, since everything has stopped", err)
				}
				if took := time.Since(began); took > 15*time.Second || lost == nil || !strings.Contains(lost.Error(), "is lost") {
					t.Errorf("the run ended %v after the connection, with the cause %v", took, lost)
				}
				time.Sleep(20 * time.Second)
				if d.first("b").IsZero() {
					t.Error("the other replica has not reconciled the object")
				}
				stopB(errStop)
				if err := <-resultB; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNoReplicaTakesOverFromARunInFlight checks that a run that ignores the end of its context keeps its object: the
// manager's Run ends with an error, and the lease is neither released nor expires until the run has returned.
func TestNoReplicaTakesOverFromARunInFlight(t *testing.T) {
	for name, option := range divisions {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDuty(t, option)
				leave := make(chan struct{})
				stopA, resultA := d.start("a", nil, func(context.Context) { <-leave })
				time.Sleep(3 * time.Second)
				stopB, resultB := d.start("b", nil, func(context.Context) {})
				time.Sleep(3 * time.Second)
				stopA(errStop)
				began := time.Now()
				err := <-resultA
				if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "1 run has not returned") ||
					strings.Count(err.Error(), errStop.Error()) != 1 {
					t.Errorf("Run = %v, want an error with the run, and the cause once", err)
				}
				if took := time.Since(began); took > 41*time.Second {
					t.Errorf("Run took %v, want the time of the controller", took)
				}
				time.Sleep(10 * time.Minute)
				if !d.first("b").IsZero() {
					t.Error("the other replica has reconciled the object")
				}
				close(leave)
				left := time.Now()
				time.Sleep(10 * time.Second)
				if took := d.first("b").Sub(left); took < 0 || took > 2*time.Second {
					t.Errorf("the other replica has begun %v after the run", took)
				}
				stopB(errStop)
				if err := <-resultB; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestNoReplicaTakesOverFromWorkThatAFailureLeaves checks that the lease is kept also if a controller fails by itself
// while one of its runs does not return, whether or not a Runnable around it returns the error of the run.
func TestNoReplicaTakesOverFromWorkThatAFailureLeaves(t *testing.T) {
	late := errors.New("1 run has not returned")
	for name, result := range map[string]error{
		"returned": &terms.Unfinished{Cause: errBroken, Left: late}, "dropped": errBroken,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { leaveWork(t, late, result) })
		})
	}
}

// leaveWork has a Runnable that returns a result and leaves a part of its work behind.
func leaveWork(t *testing.T, late, result error) {
	t.Helper()
	s, leave := newServer(), make(chan struct{})
	m := manager.New(connect(t, s, nil), &manager.Options{LeaderElection: "shop", Logger: discard})
	m.Add(runFunc(func(ctx context.Context) error {
		terms.Leave(ctx, terms.Remainder{Err: late, Done: leave})
		return result
	}))
	want := "runFunc: broken; 1 run has not returned"
	if err := m.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run = %v, want %q", err, want)
	}
	next := &journal{}
	m = manager.New(connect(t, s, nil), &manager.Options{LeaderElection: "shop", Logger: discard})
	m.Add(&part{name: "next", journal: next})
	stop, ended := run(t, m)
	time.Sleep(10 * time.Minute)
	if got := next.all(); len(got) > 0 {
		t.Error("another replica leads while the run continues")
	}
	close(leave)
	time.Sleep(10 * time.Second)
	if got := next.all(); len(got) != 1 {
		t.Errorf("events: %v, want the begin of the next term", got)
	}
	stop(errStop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestNoReplicaTakesOverFromARunWhoseErrorIsDropped has a Runnable that drops the error of its controller at the stop, as
// an errgroup does if another controller has returned first.
func TestNoReplicaTakesOverFromARunWhoseErrorIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leave := newServer(), make(chan struct{})
		putMaps(s, 1, "1")
		c := connect(t, s, nil)
		m := manager.New(c, &manager.Options{LeaderElection: "shop", Logger: discard})
		ctl := controller.New(controller.For[corev1.ConfigMap](cache.New(c, &cache.Options{Logger: discard})),
			&controller.Options{Logger: discard})
		m.Add(runFunc(func(ctx context.Context) error {
			_ = ctl.Run(ctx, func(context.Context, *corev1.ConfigMap) (controller.Action, error) {
				<-leave
				return controller.AwaitChange(), nil
			})
			return context.Cause(ctx)
		}))
		stop, ended := run(t, m)
		time.Sleep(5 * time.Second)
		former := holder(t, s)
		stop(errStop)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "1 run has not returned") {
			t.Errorf("Run = %v, want an error that names the run", err)
		}
		time.Sleep(10 * time.Minute)
		if now := holder(t, s); now != former {
			t.Errorf("the holder is %q while the run continues, want %q", now, former)
		}
		close(leave)
		time.Sleep(10 * time.Second)
		if now := holder(t, s); now != "" {
			t.Errorf("the holder is %q after the end of the run", now)
		}
	})
}

// TestAnEndedContextIsNoFailure checks that a Runnable may return the error of its context, or one that wraps it, and
// not only the cause: when Run stops, and when the lease is lost.
func TestAnEndedContextIsNoFailure(t *testing.T) {
	for name, result := range map[string]func(context.Context) error{
		"the error": context.Context.Err,
		"wrapped":   func(ctx context.Context) error { return fmt.Errorf("get pods: %w", ctx.Err()) },
		"both": func(ctx context.Context) error {
			return errors.Join(ctx.Err(), fmt.Errorf("flush: %w", context.Cause(ctx)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cut atomic.Bool
				var terms atomic.Int32
				m := manager.New(connect(t, newServer(), &cut), &manager.Options{LeaderElection: "shop", Logger: discard})
				m.Add(runFunc(func(ctx context.Context) error {
					terms.Add(1)
					<-ctx.Done()
					return result(ctx)
				}))
				stop, ended := run(t, m)
				time.Sleep(5 * time.Second)
				cut.Store(true)
				time.Sleep(time.Minute)
				cut.Store(false)
				time.Sleep(time.Minute)
				if n := terms.Load(); n != 2 {
					t.Errorf("%d terms, want 2", n)
				}
				stop(errStop)
				if err := <-ended; err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
			})
		})
	}
}

// TestAFailureDuringTheStopIsAnError checks that a Runnable that reports something besides the end of its context
// fails.
func TestAFailureDuringTheStopIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
		m.Add(runFunc(func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("%w; %w", context.Cause(ctx), errBroken)
		}))
		stop, ended := run(t, m)
		stop(errStop)
		if err := <-ended; !errors.Is(err, errStop) || !errors.Is(err, errBroken) {
			t.Errorf("Run = %v, want both errors", err)
		}
	})
}

// TestAFailureOfAServerDuringTheStopIsAnError checks that the error of something that every replica runs is not lost
// while the controllers stop.
func TestAFailureOfAServerDuringTheStopIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := make(chan error, 1)
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
		m.Add(&part{name: "controller", journal: &journal{}, slow: 10 * time.Second})
		m.AddToAll(&part{name: "server", journal: &journal{}, fail: fail})
		stop, ended := run(t, m)
		synctest.Wait()
		stop(errStop)
		synctest.Wait()
		fail <- errBroken
		if err := <-ended; err == nil || err.Error() != "stop; server: broken" {
			t.Errorf("Run = %v, want the cause and the error of the server", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
		m.Add(&part{name: "controller", journal: &journal{}, slow: 10 * time.Second})
		m.AddToAll(runFunc(func(context.Context) error { // it ends with the program, and not after the controllers
			<-ctx.Done()
			time.Sleep(time.Second)
			return ctx.Err()
		}))
		time.AfterFunc(time.Second, func() { stop(errStop) })
		if err := m.Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

// failures is an error whose type is not comparable, like the aggregate of apimachinery.
type failures []error

func (f failures) Error() string { return fmt.Sprint([]error(f)) }

// shutdown is an error whose type is comparable, but not its value if the error in it is not.
type shutdown struct{ err error }

func (s shutdown) Error() string { return "shutdown: " + s.err.Error() }

func TestACauseThatIsNotComparableIsACleanStop(t *testing.T) {
	for _, cause := range []error{failures{errStop}, shutdown{failures{errStop}}, shutdown{errStop}} {
		t.Run(cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard})
				m.Add(&part{name: "controller", journal: &journal{}})
				m.Add(runFunc(func(ctx context.Context) error {
					<-ctx.Done()
					return fmt.Errorf("ended: %w", context.Cause(ctx))
				}))
				m.Add(runFunc(func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				}))
				stop, ended := run(t, m)
				synctest.Wait()
				stop(cause)
				if err := <-ended; err != nil {
					t.Errorf("Run = %v, want nil", err)
				}
			})
		})
	}
}

type runFunc func(context.Context) error

func (f runFunc) Run(ctx context.Context) error { return f(ctx) }

// TestServersHaveTimeToStopAfterSlowControllers checks that what every replica runs has a StopTimeout of its own.
func TestServersHaveTimeToStopAfterSlowControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		m := manager.New(connect(t, newServer(), nil), &manager.Options{Logger: discard, StopTimeout: 10 * time.Second})
		m.Add(&part{name: "controller", journal: j, slow: 9 * time.Second})
		m.AddToAll(&part{name: "server", journal: j, slow: 9 * time.Second})
		stop, ended := run(t, m)
		synctest.Wait()
		stop(errStop)
		if err := <-ended; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

// TestFenceOfAManagerRefusesWrites checks that a client with the fence of a manager writes only in a term.
func TestFenceOfAManagerRefusesWrites(t *testing.T) {
	for name, want := range map[string]error{"election": election.ErrNotLeader, "sharding": election.ErrNotLeader, "": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, option := newServer(), divisions[name]
				option.Logger = discard
				c := connect(t, s, nil)
				m := manager.New(c, &option)
				fenced, err := client.New(t.Context(), &client.Options{
					Config: c.Config(), Transport: s, PerAttempt: []middleware.Func{m.Fence()},
				})
				if err != nil {
					t.Fatal(err)
				}
				maps := client.Namespaced[corev1.ConfigMap](fenced, "prod")
				write := func(name string) error {
					_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta(name)}, nil)
					return err
				}
				if err := write("early"); !errors.Is(err, want) {
					t.Errorf("a write before the term: %v, want %v", err, want)
				}
				stop, ended := run(t, m)
				time.Sleep(5 * time.Second)
				if err := write("first"); err != nil {
					t.Errorf("a write in the term: %v", err)
				}
				stop(errStop)
				if err := <-ended; err != nil {
					t.Errorf("Run = %v, want the cause of its context", err)
				}
				if err := write("late"); !errors.Is(err, want) {
					t.Errorf("a write after the term: %v, want %v", err, want)
				}
			})
		})
	}
}

// holder returns the holder of the lease.
func holder(t *testing.T, s *fakeapi.Server) string {
	t.Helper()
	lease, err := client.Namespaced[coordinationv1.Lease](connect(t, s, nil), "prod").Get(t.Context(), "shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}
