// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// soakEnv names the duration of TestSoak, such as 30m. By default it is short: the test then checks that the code of
// make soak works. It does not find a growth of memory, see heapSlack.
const soakEnv = "E2E_SOAK"

const (
	shortSoak   = 20 * time.Second
	soakRound   = time.Minute // of faults, before everything must equal the server
	soakSamples = 40
)

// TestSoak checks that everything equals the server after rounds of random faults, and that the use of memory and
// goroutines does not grow. One subject lives as long as the test. Its watches wait most of the time, since their
// delays grow with each failure. So each round starts a second one.
func TestSoak(t *testing.T) {
	t.Parallel()
	duration, slack := shortSoak, usage{goroutines: 20, heap: heapSlack()}
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration < shortSoak {
			t.Fatalf("%s is %q (%v): set a duration of at least %v", soakEnv, text, err, shortSoak)
		}
	}
	all := newFaultyCluster(t)
	link, cfg := newProxy(t, all.config)
	s := all.in(t)
	old := s.newSubject(t, cfg)
	old.control(t)
	old.ready(t)
	var samples guarded[[]usage]
	stopSampling := background(t, func(ctx context.Context) error {
		for rest(ctx, duration/soakSamples) == nil {
			samples.set(append(samples.get(), currentUsage(t)))
		}
		return context.Cause(ctx)
	})
	for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); {
		t.Run("round", func(t *testing.T) {
			s := s.part(t)
			young := s.newSubject(t, cfg)
			young.ready(t)
			l, stop := s.startLoad(t)
			for round := time.Now().Add(min(soakRound, duration)); time.Now().Before(round); {
				s.fault(t, link, old, young)
				l.await(t)
			}
			stop()
			old.settle(t)
			young.settle(t)
			s.stop(t, young)
			t.Logf("%d writes", l.succeeded.Load())
		})
		t.Log(currentUsage(t))
	}
	_ = stopSampling() // errStopped
	if err := grown(samples.get(), slack); err != nil {
		t.Error(err)
	}
	s.end(t, old)
}

// fault causes one random fault of the cluster, the connections or the subjects, and rests.
func (s *testbed) fault(t *testing.T, link *proxy, subjects ...*subject) {
	t.Helper()
	interfere := func(f func(*interference)) {
		for _, sub := range subjects {
			f(&sub.faults)
		}
	}
	switch rand.IntN(7) { //nolint:gosec // the faults need no security
	case 0:
		s.restart(t, false)
	case 1:
		s.restart(t, true)
	case 2:
		s.suspend(t, time.Second)
	case 3:
		link.drop()
	case 4:
		link.cut()
		_ = rest(t.Context(), time.Second)
		link.restore()
	case 5:
		interfere((*interference).endWatches)
	default:
		interfere(func(f *interference) { f.rejecting.Store(true) })
		interfere((*interference).endWatches)
		_ = rest(t.Context(), 2*time.Second)
		interfere(func(f *interference) { f.rejecting.Store(false) })
	}
	_ = rest(t.Context(), rand.N(2*time.Second)) //nolint:gosec // likewise
}

func TestGrowthIsFound(t *testing.T) {
	flat, slack := make([]usage, 40), usage{goroutines: 5, heap: 100}
	for i := range flat {
		flat[i] = usage{goroutines: 100 + i%2, heap: 1000 + uint64(i%3)}
	}
	with := func(from int, more usage) []usage {
		changed := slices.Clone(flat)
		for i := from; i < len(changed); i++ {
			changed[i].goroutines += more.goroutines
			changed[i].heap += more.heap
		}
		return changed
	}
	for _, tt := range []struct {
		name    string
		samples []usage
		want    bool
	}{
		{"no change", flat, false},
		{"growth in the first quarter", with(10, usage{200, 5000}), false},
		{"a little growth", with(30, usage{20, 200}), false},
		{"more goroutines", with(30, usage{30, 0}), true},
		{"more memory", with(30, usage{0, 400}), true},
		{"too few samples", flat[:3], true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := grown(tt.samples, slack); (err != nil) != tt.want {
				t.Errorf("grown = %v, want an error: %t", err, tt.want)
			}
		})
	}
}
