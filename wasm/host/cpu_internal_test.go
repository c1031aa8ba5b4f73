// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
)

// TestCPUTimeIsShared runs a guest at random, and as soon as it may, and checks that it has not run for more than its
// share and its burst at any time.
func TestCPUTimeIsShared(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		share := []float64{0.02, 0.5, 1, 3}[r.IntN(4)]
		begun := time.Unix(0, 0)
		now, c, ran, longest := begun, newCPU(share, begun), time.Duration(0), time.Duration(0)
		for range 1000 {
			if r.IntN(10) == 0 {
				now = now.Add(time.Duration(r.Int64N(int64(2 * cpuBurst))))
			}
			wait := c.wait(now)
			now = now.Add(wait)
			if again := c.wait(now); again > time.Microsecond {
				t.Fatalf("seed %d: after a wait of %v the guest has to wait %v", seed, wait, again)
			}
			took := time.Duration(r.Int64N(int64(20 * time.Second)))
			now = now.Add(took)
			c.spend(now, took)
			ran, longest = ran+took, max(longest, took)
			most := time.Duration(share*float64(now.Sub(begun)+cpuBurst)) + longest + time.Millisecond
			if ran > most {
				t.Fatalf("seed %d: the guest has run for %v of %v, want at most %v", seed, ran, now.Sub(begun), most)
			}
		}
		now = now.Add(c.wait(now) + cpuBurst + time.Second)
		if full := time.Duration(share * float64(cpuBurst)); c.wait(now) != 0 || c.left != full {
			t.Fatalf("seed %d: an idle guest has saved %v", seed, c.left)
		}
	}
}

// TestPendingOperationsTakeTurns has more operations with items than a turn can serve.
func TestPendingOperationsTakeTurns(t *testing.T) {
	i := newTestActor(t, "http://127.0.0.1:1", Limits{})
	g := i.guest
	const n = 10_000
	g.cpu.spend(time.Now(), time.Hour) // each turn serves one operation
	for id := range int64(n) {
		op := &operation{id: id, instance: i, space: make(chan struct{}, 1), depth: 0}
		g.pending, op.pending = append(g.pending, op), true
	}
	first := g.pending[0]
	g.instance = i
	if err := g.deliver([]*operation{first, first}, false); err != nil { // it is pending already
		t.Fatal(err)
	}
	if len(g.pending) != n-1 || g.pending[0].id != 1 || first.pending {
		t.Errorf("%d operations are pending after a turn, the first is %d; want %d and 1", len(g.pending), g.pending[0].id, n-1)
	}
}

// TestMessagesOfRunsCountAsCPUTimeOfTheModule has a module without CPU time to save, so that all of it is counted.
func TestMessagesOfRunsCountAsCPUTimeOfTheModule(t *testing.T) {
	h, _ := newTestHost(t, newPodServer(t, 1, "").URL, Options{Workers: 2})
	r := newTestReconciler(t, h, testGuest{describes: describing(), response: `{"requeueAfterMillis":1}`})
	g, c := r.guest, &abi.Controller{For: abi.Watch{Version: "v1", Kind: "Pod", Resource: "pods", Namespaced: true}}
	g.cpu.share, g.cpu.left = 0, 0
	if _, err := r.ask(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if spent, ran := -g.cpu.left, g.status().Stats.Running; spent <= ran {
		t.Errorf("the module has spent %v, and its calls took %v: the time for its response does not count", spent, ran)
	}

	in, err := r.input(&c.For)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = in.Run(ctx) // it returns the end of its context
	}()
	defer func() {
		stop()
		<-ended
	}()
	if err := in.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	object := in.State(core.ObjectRef{Namespace: "a", Name: "p0"}).Packed()
	r.idle[0].end(errRemoved)
	r.idle, g.cpu.left = nil, 0
	failure := errors.New("no recording") // so that no instance is called
	g.module.Record = func() (io.Writer, error) { return nil, failure }
	if _, _, err := r.call(t.Context(), t.Context(), c, in.dynamic, nil, object); !errors.Is(err, failure) {
		t.Fatalf("call = %v, want %v", err, failure)
	}
	if g.cpu.left >= 0 {
		t.Error("the time for the message of the module does not count")
	}
}
