// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// terms observes which candidates lead, and fails the test if two lead at the same time.
type terms struct {
	t *testing.T

	mu      sync.Mutex // guards the fields below
	shared  bool       // terms may overlap
	leading string
	count   map[string]int
}

func newTerms(t *testing.T) *terms {
	t.Helper()
	return &terms{t: t, count: map[string]int{}}
}

// lead returns the work of a leader, which ends with its term.
func (o *terms) lead(identity string) func(context.Context) {
	return func(ctx context.Context) {
		o.mu.Lock()
		if o.leading != "" && !o.shared {
			o.t.Errorf("%s begins to lead while %s leads", identity, o.leading)
		}
		o.leading = identity
		o.count[identity]++
		o.mu.Unlock()
		<-ctx.Done()
		o.mu.Lock()
		if o.leading == identity {
			o.leading = ""
		}
		o.mu.Unlock()
	}
}

func (o *terms) leader() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leading
}

// process is a running candidate.
type process struct {
	candidate
	network *network
	await   func() // waits until Run has returned
	stop    func() // stops the candidate, and waits
}

// start starts a candidate, which runs for one term.
func start(t *testing.T, s *leaseServer, o *terms, identity string, create newCandidate) *process {
	t.Helper()
	n := &network{server: s}
	p := &process{candidate: create(t, identity, n), network: n}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); p.run(ctx, o.lead(identity)) }()
	p.await = func() { <-done; synctest.Wait() }
	p.stop = func() { cancel(); p.await() }
	t.Cleanup(p.stop)
	return p
}

// within fails the test if a candidate does not lead after a time.
func (o *terms) within(limit time.Duration, identity string) {
	o.t.Helper()
	for range limit / (100 * time.Millisecond) {
		if synctest.Wait(); o.leader() == identity {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	o.t.Fatalf("the leader is %q after %v, want %s", o.leader(), limit, identity)
}

// TestElectionHandsOverToAndFromClientGo checks that ours and client-go pass one lease to each other: immediately after
// a clean stop, and after the duration of the lease if the connection of the leader is cut. Each reads the identity of
// the other, and each change of the holder counts once.
func TestElectionHandsOverToAndFromClientGo(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second newCandidate
		poll          time.Duration // the longest time between two reads of the second
		late          time.Duration // after the duration of a lease, in which the second takes it
	}{
		{"from client-go to ours", newTheirs, newOurs, 1200 * time.Millisecond, 0}, // it reads the lease exactly then
		{"from ours to client-go", newOurs, newTheirs, 4400 * time.Millisecond, 4400 * time.Millisecond},
	} {
		for name, cut := range map[string]bool{"after a clean stop": false, "after a cut connection": true} {
			t.Run(tc.name+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, o := &leaseServer{t: t}, newTerms(t)
					first := start(t, s, o, "first", tc.first)
					o.within(time.Second, "first")
					second := start(t, s, o, "second", tc.second)
					<-time.After(time.Minute)
					if got := second.leader(); o.leader() != "first" || got != "first" {
						t.Errorf("%q leads, and the second reads %q; want that the first leads", o.leader(), got)
					}
					limit := tc.poll + 200*time.Millisecond
					if cut {
						first.network.cut.Store(true)
						limit += 15*time.Second + tc.late
					} else {
						first.stop()
					}
					o.within(limit, "second")
					if cut {
						first.network.cut.Store(false)
						first.stop()
						first = start(t, s, o, "first", tc.first)
						<-time.After(10 * time.Second)
						if got := first.leader(); got != "second" {
							t.Errorf("the first reads that %q leads, want the second", got)
						}
						first.stop()
					}
					if got := *s.spec().LeaseTransitions; got != 1 {
						t.Errorf("leaseTransitions = %d after one hand-over, want 1", got)
					}
					second.stop()
				})
			})
		}
	}
}

// TestElectionsExcludeEachOther checks that of two candidates of each library, at most one leads at any time, while
// connections are cut, responses are lost, and candidates stop and start. All of them get terms.
func TestElectionsExcludeEachOther(t *testing.T) {
	candidates := map[string]newCandidate{"ours-1": newOurs, "ours-2": newOurs, "theirs-1": newTheirs, "theirs-2": newTheirs}
	total := map[string]int{}
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test that can be repeated
			s, o := &leaseServer{t: t}, newTerms(t)
			running := map[string]*process{}
			for range 100 {
				name := []string{"ours-1", "ours-2", "theirs-1", "theirs-2"}[r.IntN(4)]
				p := running[name]
				switch {
				case p == nil:
					running[name] = start(t, s, o, name, candidates[name])
				case r.IntN(4) == 0:
					p.stop()
					delete(running, name)
				case r.IntN(2) == 0:
					p.network.late.Store(true)
					p.network.silent.Store(strings.HasPrefix(name, "ours") && r.IntN(2) == 0)
				default:
					p.network.cut.Store(!p.network.cut.Load())
				}
				<-time.After(time.Duration(r.IntN(12_000)) * time.Millisecond)
			}
			for _, p := range running {
				p.network.cut.Store(false)
				p.stop()
			}
			for name, n := range o.count {
				total[name] += n
			}
		})
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
	for name := range candidates {
		if total[name] < 20 {
			t.Errorf("%s led %d times, which tests too little", name, total[name])
		}
	}
}

// TestTermsEndWhileRequestsHang checks a difference: the requests of a leader do not fail, but hang. Ours ends the term
// before another replica may lead. With client-go the context of the work ends only after the attempt to release the
// lease, which hangs as long as a renewal: another replica leads meanwhile.
func TestTermsEndWhileRequestsHang(t *testing.T) {
	for name, tc := range map[string]struct {
		leader   newCandidate
		overlaps bool
	}{"ours": {newOurs, false}, "client-go": {newTheirs, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, o := &leaseServer{t: t}, newTerms(t)
				o.shared = tc.overlaps
				first := start(t, s, o, "first", tc.leader)
				o.within(time.Second, "first")
				start(t, s, o, "second", newOurs)
				<-time.After(5 * time.Second)
				first.network.silent.Store(true)
				first.network.cut.Store(true)
				began := time.Now()
				first.await()
				if took := time.Since(began); (took > 15*time.Second) != tc.overlaps {
					t.Errorf("the term ended %v after the renewals had stopped; longer than the lease: %t", took, !tc.overlaps)
				}
			})
		})
	}
}

// TestElectionWritesTheRecordsOfClientGo checks that ours writes the same records: when it creates a lease, renews it,
// releases it, and takes it from another holder, whose lease has expired or was released.
func TestElectionWritesTheRecordsOfClientGo(t *testing.T) {
	for _, tc := range []struct {
		name string
		old  *coordinationv1.LeaseSpec // before the start, with times relative to it

		// ours has the records of ours if they differ on purpose.
		ours []string
	}{
		{name: "no lease"},
		{name: "an expired lease", old: leaseSpec("other", 20, 3)},
		{name: "a released lease", old: leaseSpec("", 1, 7)},
		{name: "a lease without content", old: &coordinationv1.LeaseSpec{}},
		{
			// Ours begins a new term: its acquireTime distinguishes it from a replica that has the same identity by mistake.
			name: "a lease of the same identity", old: leaseSpec("candidate", 15, 3),
			ours: []string{
				"candidate 15s acquired now transitions 3", "candidate 15s acquired before transitions 3",
				"nobody 1s acquired now transitions 3",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			theirs, ours := records(t, newTheirs, tc.old), records(t, newOurs, tc.old)
			want := theirs
			if tc.ours != nil {
				if want = tc.ours; cmp.Equal(ours, theirs) {
					t.Errorf("client-go now writes the same records: remove the difference from the test")
				}
			}
			if diff := cmp.Diff(want, ours); diff != "" {
				t.Errorf("records (-want +ours):\n%s\nclient-go:\n%s", diff, strings.Join(theirs, "\n"))
			}
		})
	}
}

func leaseSpec(holder string, seconds, transitions int32) *coordinationv1.LeaseSpec {
	return &coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions}
}

// records returns the records of a candidate that leads for several renewals and then stops. Equal ones are there once,
// since client-go also renews the lease immediately after it has taken it.
func records(t *testing.T, create newCandidate, old *coordinationv1.LeaseSpec) (written []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, o := &leaseServer{t: t}, newTerms(t)
		if old != nil {
			l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: leaseName}, Spec: *old.DeepCopy()}
			if old.HolderIdentity != nil {
				l.Spec.AcquireTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
				l.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Minute)))
			}
			s.store(l)
		}
		before := len(s.writes())
		p := start(t, s, o, "candidate", create)
		o.within(30*time.Second, "candidate")
		<-time.After(4500 * time.Millisecond)
		p.stop()
		all := s.writes()
		for i := before; i < len(all); i++ {
			acquired := "now"
			if i > 0 && all[i].AcquireTime.Equal(all[i-1].AcquireTime) {
				acquired = "before"
			} else if age := all[i].RenewTime.Sub(all[i].AcquireTime.Time).Abs(); age > time.Second {
				acquired = age.String() + " ago"
			}
			written = append(written, describe(all[i], acquired))
		}
		if at := all[len(all)-1].RenewTime; time.Since(at.Time) > time.Second {
			t.Errorf("renewTime of the release = %v, want about %v", at, time.Now())
		}
	})
	return slices.Compact(written)
}

func describe(s coordinationv1.LeaseSpec, acquired string) string {
	holder := "nobody"
	if s.HolderIdentity != nil && *s.HolderIdentity != "" {
		holder = *s.HolderIdentity
	}
	return fmt.Sprintf("%s %ds acquired %s transitions %d", holder, *s.LeaseDurationSeconds, acquired, *s.LeaseTransitions)
}
