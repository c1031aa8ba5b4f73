// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// wantTotals checks the counters of all machines that a controller uses, or has used.
func wantTotals(t *testing.T, owners []any, failures, taken uint64) {
	t.Helper()
	var gotFailures, gotTaken uint64
	for _, owner := range owners {
		m, ok := owner.(interface{ Overview() *Overview })
		if !ok {
			continue
		}
		o := m.Overview()
		for _, s := range o.States {
			gotFailures += s.Failures
		}
		for _, tr := range o.Transitions {
			gotTaken += tr.Taken
		}
	}
	if gotFailures != failures || gotTaken != taken {
		t.Errorf("there are %d failures and %d transitions, want %d and %d", gotFailures, gotTaken, failures, taken)
	}
}

// TestCountersOfRetiredMachinesAreKept checks that the counters of a controller neither fall nor are counted twice when
// its machines retire, are used again and are freed.
func TestCountersOfRetiredMachinesAreKept(t *testing.T) {
	machineWith := func(failures uint64) *Machine[animal] {
		m := newMachine(t, nil)
		m.states[1].steps.failed.Store(failures)
		m.states[0].steps.taken[0].Store(10 * failures)
		return m
	}
	home, owners := newMachine(t, nil), []any{"another"}
	owners = home.resume(home.resume(owners))
	if len(owners) != 2 {
		t.Errorf("the owners are %v", owners)
	}
	func() {
		one, two := machineWith(1), machineWith(2)
		owners = two.resume(one.resume(owners))
		wantTotals(t, owners, 3, 30)
		for range 2 {
			owners = one.retire(owners)
			wantTotals(t, owners, 3, 30)
			owners = two.retire(owners)
			wantTotals(t, owners, 3, 30)
			if len(owners) != 3 {
				t.Errorf("with retired machines, the owners are %v", owners)
			}
			owners = one.resume(owners)
			wantTotals(t, owners, 3, 30)
		}
		one.states[1].steps.failed.Add(4)
		owners = one.retire(owners)
		wantTotals(t, owners, 7, 30)
	}()
	for i := range uint64(3) {
		runtime.GC()
		m := machineWith(1)
		owners = m.retire(m.resume(owners))
		wantTotals(t, owners, 8+i, 40+10*i)
	}
	if r := owners[len(owners)-1].(*retired[animal]); len(r.parts) > 3 {
		t.Errorf("%d retired machines are distinguished", len(r.parts))
	}
}

// TestMachinesOfClustersThatHaveLeftAreFreed creates a machine for each cluster, as the comment of Machine says.
func TestMachinesOfClustersThatHaveLeftAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := newFarm(t, Options{})
		animals := home.api.Resource()
		var machines sync.Map
		machines.Store("", home.Machine)
		ctl := controller.New(controller.For[animal](cache.New(home.server.Client(), nil)), &controller.Options{
			Logger: slog.New(slog.DiscardHandler),
		})
		run := ctl.With(func(ctx context.Context, obj *animal) (controller.Action, error) {
			r, _ := controller.RunOf(ctx)
			m, ok := machines.Load(r.Key.Cluster)
			if !ok {
				return controller.AwaitChange(), nil
			}
			return m.(*Machine[animal]).Reconcile(ctx, obj)
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run.Run(ctx) }()
		synctest.Wait()
		before := len(run.Owners())
		var all []weak.Pointer[Machine[animal]]
		for i := range 3 {
			name := fmt.Sprint("c", i)
			server := fakeapi.New(animals)
			server.Put(animals, &animal{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "ox", UID: "1"}})
			c, err := client.New(ctx, &client.Options{Config: &config.Config{Server: "https://" + name + ".test"}, Transport: server})
			if err != nil {
				t.Fatal(err)
			}
			m := New[animal](c, home.name, nil)
			Add(m, end{})
			machines.Store(name, m)
			all = append(all, weak.Make(m))
			engaged, leave := context.WithCancel(ctx)
			left := make(chan error, 1)
			go func() { left <- ctl.Engage(engaged, cache.New(c, &cache.Options{Cluster: name})) }()
			synctest.Wait()
			if got := len(run.Owners()); got < before+1 || m.Overview().States[0].Objects != 1 {
				t.Errorf("there are %d owners with the cluster %s, and its states are %+v", got, name, m.Overview().States)
			}
			leave()
			if err := <-left; err != context.Canceled {
				t.Errorf("Engage() = %v", err)
			}
			machines.Delete(name)
		}
		synctest.Wait()
		if got := len(run.Owners()); got != before+1 {
			t.Errorf("%d owners remain, want %d and one for all machines that have retired", got, before)
		}
		runtime.GC()
		runtime.GC()
		for i, m := range all {
			if m.Value() != nil {
				t.Errorf("the machine of the cluster c%d is not freed", i)
			}
		}
		stop()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Run() = %v", err)
		}
		runtime.KeepAlive(run)
	})
}
