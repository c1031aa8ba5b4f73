// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/kubetest/internal/explore"
)

// Scenario is what Explore and ExploreChanges run, with a server of its own each time.
type Scenario struct {
	// Options are those of the server.
	Options *Options

	// Program is the program under test, such as a function that runs a manager. It returns when its context ends, or
	// without an error when its work is done. It is called again after a crash: what must survive a crash is outside of
	// it. It must not use the network, such as for HealthAddr of a manager: in a bubble, no time passes meanwhile. With a
	// logger that writes to t.Output(), its logs are those of the run. c has no default options, such as a FieldManager: a
	// program that needs some creates a client with kube.NewClient(ctx, &kube.ClientOptions{Share: c, FieldManager: …}).
	Program func(ctx context.Context, c *client.Client) error

	// User is the name of the user whose permissions the program has, such as "system:serviceaccount:shop:controller". The
	// roles and bindings on the server decide, such as those of the manifests of the program in Options.Files. A refused
	// request fails the test. Empty permits everything.
	User string

	// Story does what users of the program do, and checks the results, after s.Settle. It must wait long enough: with a
	// fault, the program needs minutes for what it otherwise does at once. Nil does nothing.
	Story func(s *Server)

	// Normalize changes a copy of each object before the comparison of the last states, for example to remove a number of
	// attempts, or a time that is not in the format of RFC 3339. Nil changes nothing.
	Normalize func(obj *unstructured.Unstructured)

	// Ignore returns true for objects that do not matter: Settle does not wait for their changes, and they are not
	// compared. Nil returns false, but events and leases never matter.
	Ignore func(obj *unstructured.Unstructured) bool

	// Quiet is how long no object changes before Settle returns, at most an hour. Default: 10 minutes. It must be shorter
	// than the period of a program that changes objects periodically, and longer than the delays of all programs. A program
	// that often renews leases is tested faster with a shorter time.
	Quiet time.Duration

	// AllowReplacements accepts that objects are created and deleted more or less often after a fault.
	AllowReplacements bool
}

// Explore tests a program with faults. It runs a scenario without faults, and then once for each fault that can happen
// at a write:
//   - The program crashes after the write, and starts again.
//   - The connections of the program are cut after the write, so that it does not see the response.
//   - The server responds with an internal error, without an effect.
//   - Another client changes the object before the write.
//   - The events of the program's watches are delayed by a minute.
//   - The program does not run for a minute while the story writes.
//
// In further runs, the server responds with an internal error to a get or a list of the program. Of equal ones between
// two writes, only the first has a fault. Watches, events, leases and writes of the objects that Scenario.Ignore accepts
// have no faults.
//
// A run fails if the story reports an error, if objects change without end, if more than 10,000 requests in a minute
// have the same method and path, if a change of another client is lost, or if the last state differs from that without
// faults: if other objects exist or have other fields, or if objects were created or deleted more or less often. UIDs,
// times, versions and generations may differ, as may events and leases.
//
// Each run is a subtest in its own bubble of testing/synctest, and some run at the same time. The log of a failed one
// has all writes, and the command that repeats it.
//
//	kubetest.Explore(t, func(t *testing.T) *kubetest.Scenario { // called for each run
//		return &kubetest.Scenario{
//			Options: &kubetest.Options{Definitions: …, Objects: …},
//			Program: controller.Run, // func(context.Context, *kube.Client) error
//			Story: func(s *kubetest.Server) {
//				orders := kube.Namespaced[v1.Order](s.Client(nil), "shop")
//				s.Settle() // until the program has nothing left to do
//				… // check the orders, and change them
//			},
//		}
//	})
func Explore(t *testing.T, scenario func(t *testing.T) *Scenario) {
	t.Helper()
	first := explored(t, scenario, nil, nil)
	second := first
	if first != nil {
		second = explored(t, scenario, nil, nil)
	}
	if second == nil {
		t.FailNow()
	}
	noise := second.world.Diff(first.world)
	for f := range noise {
		if f.Path == "" || f.Counts() {
			t.Fatalf("kubetest: Explore: two runs without faults differ:\n%s",
				strings.Join(second.world.Explain(noise, first.world, "in the first run"), "\n"))
		}
	}
	if len(noise) > 0 {
		t.Logf("kubetest: Explore: these fields differ without faults, and are not compared:\n%s",
			strings.Join(second.world.Explain(noise, first.world, "in the first run"), "\n"))
	}
	faults := explore.Plan(first.operations)
	if len(faults) == 0 {
		t.Fatal("kubetest: Explore: neither the story nor the program has changed an object")
	}
	var missed atomic.Int32
	t.Run("faults", func(t *testing.T) {
		for _, fault := range faults {
			t.Run(fault.Name(), func(t *testing.T) {
				t.Parallel()
				got := explored(t, scenario, &fault, nil)
				if got == nil {
					return // failed
				}
				if !got.reached {
					missed.Add(1)
				}
				diff := got.world.Diff(first.world)
				for f := range diff {
					if noise[f] || got.scenario.AllowReplacements && f.Counts() {
						delete(diff, f)
					}
				}
				if len(diff) > 0 {
					t.Errorf("the last state:\n%s\n%s",
						strings.Join(got.world.Explain(diff, first.world, "without faults"), "\n"), got.log)
				}
			})
		}
	})
	t.Logf("kubetest: Explore: %d runs with a fault; in %d of them, the request of the fault did not happen",
		len(faults), missed.Load())
}

// result is the result of a run.
type result struct {
	scenario   *Scenario
	world      explore.World
	operations []explore.Operation
	reached    bool   // the request of the fault has happened
	log        string // the writes
}

// explored runs a scenario with a fault, or without one if it is nil. It calls then at the end, unless it is nil. It
// returns nil if the test has failed.
func explored(
	t *testing.T, scenario func(*testing.T) *Scenario, fault *explore.Fault, then func(*exploration),
) (r *result) {
	t.Helper()
	var sent atomic.Int64
	defer watch(&sent)()
	skipped := false
	synctest.Test(t, func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		if scenario == nil {
			t.Fatal("kubetest: the function that returns the scenario is nil")
		}
		sc := scenario(t)
		if sc == nil || sc.Program == nil {
			t.Fatal("kubetest: the scenario needs a Program")
		}
		if sc.Quiet < 0 || sc.Quiet > time.Hour {
			t.Fatalf("kubetest: Scenario.Quiet is %s: use a time up to an hour, or 0 for the default", sc.Quiet)
		}
		e := &exploration{t: t, scenario: sc, fault: fault, sent: &sent}
		s := start(t, sc.Options, e)
		writes := func() string {
			return fmt.Sprintf("to repeat: go test -run '^%s$'\nthe writes:\n%s", t.Name(), s.journal)
		}
		defer func() {
			if t.Failed() {
				t.Log(writes())
			}
		}()
		e.begin(s)
		defer e.end()
		if sc.Story != nil {
			sc.Story(s)
		}
		s.Settle()
		world := e.world()
		all, reached := e.outcome()
		e.checkChange()
		if then != nil {
			then(e)
		}
		if !t.Failed() {
			r = &result{scenario: sc, world: world, operations: all, reached: reached, log: writes()}
		}
	})
	if skipped { // only in the bubble
		t.SkipNow()
	}
	return r
}

// maxSilence is how long the watchdog of a run waits for the next request. Runs take less than a second.
const maxSilence = 3 * time.Minute

// watch ends the program if a run sends no requests any more, in real time. This happens if a goroutine waits for
// something outside of the bubble, since no time passes then. The function that it returns ends the watch.
func watch(requests *atomic.Int64) (stop func()) {
	done := make(chan struct{})
	go func() {
		for last := int64(-1); ; {
			select {
			case <-done:
				return
			case <-time.After(maxSilence):
			}
			n := requests.Load()
			if n == last {
				panic(fmt.Sprintf("kubetest: a run has sent no request for %s. Does the program wait for the network, as with "+
					"ManagerOptions.HealthAddr, or for another program? In a bubble of testing/synctest, time does not pass then",
					maxSilence))
			}
			last = n
		}
	}()
	return func() { close(done) }
}
