// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// seeds is the number of random worlds. `make seeds` runs 10,000. TestModelFindsMistakes finds each mistake with the
// first 184 seeds, except secretFirst, which needs 849.
var seeds = flag.Uint64("seeds", 200, "the number of random worlds")

// The model runs replicas that interleave at each request. It has crashes, lost and late writes, failed reads, wrong
// clocks, and another program that replaces configurations. After each step, each bundle that an API server may still
// have must accept each certificate that a replica may serve.

const (
	modelReplicas = 3
	modelConfigs  = 2
	modelSkew     = 2 * time.Minute  // of the clock of each replica and API server
	modelLag      = 20 * time.Minute // of the configurations that an API server has
	modelRead     = time.Hour        // the longest time between two reads of the secret by a replica
)

func modelPolicy() policy {
	return policy{caLife: 30 * time.Hour, leafLife: 10 * time.Hour, delay: 30 * time.Minute, names: []string{"a"}}
}

// mistake is a change of the algorithm that the model must find.
type mistake int

const (
	noMistake       mistake = iota
	secretFirst             // the secret is read before the configurations
	blindWrites             // the version of a configuration is not checked
	blindSecret             // the version of the secret is not checked
	noDelay                 // a new authority signs as soon as it is published
	earlyRemoval            // an authority leaves the bundle when another one signs
	anyVersion              // the versions of the configurations are not checked before an authority signs
	unreadIsPresent         // a configuration that can't be read counts as one with the bundle
)

// version is a past or present content of a configuration.
type version struct {
	bundle  []string
	foreign bool // written by somebody else
	from    time.Time
}

type modelReplica struct {
	clock   time.Duration // its error
	pc      int           // the next read: the configurations, then the secret
	configs [modelConfigs]struct {
		number int // of the version that it has read
		failed bool
	}
	secret       trust
	secretNumber int
	serving      leaf
	read         time.Time // when it has read the secret
}

// write is a request that has been sent.
type write struct {
	config int // -1 is the secret
	number int // the version that it replaces
	bundle []string
	trust  trust
	seen   [modelConfigs]int // the versions on which the decision rests
}

type model struct {
	random       *rand.Rand
	mistake      mistake
	policy       policy
	now          time.Time
	configs      [modelConfigs][]version
	secret       trust
	secretNumber int
	replicas     [modelReplicas]modelReplica
	flight       []write
	authorities  int
	switches     int
	outage       [modelConfigs]time.Time // until then, nobody can read the configuration
	slow         int                     // this replica is paused
	slowUntil    time.Time
	broken       error
}

func newModel(seed uint64, m mistake) *model {
	w := &model{
		random: rand.New(rand.NewPCG(seed, 7)), mistake: m, policy: modelPolicy(), now: time.Unix(1_000_000, 0),
	}
	if m == noDelay {
		w.policy.delay = 0
	}
	for i := range w.configs {
		w.configs[i] = []version{{foreign: true, from: w.now}}
	}
	for i := range w.replicas {
		w.restart(i)
	}
	return w
}

func (w *model) restart(i int) {
	skew := time.Duration(w.random.Int64N(int64(2*modelSkew))) - modelSkew
	w.replicas[i] = modelReplica{clock: skew, read: w.now}
}

func (t trust) bundle() (ids []string) {
	for _, a := range t.authorities {
		ids = append(ids, a.id)
	}
	return ids
}

// readConfig and readSecret are requests of a replica.
func (w *model) readConfig(r *modelReplica, i int) {
	r.configs[i].failed = w.now.Before(w.outage[i]) || w.random.IntN(20) == 0
	r.configs[i].number = len(w.configs[i]) - 1
}

func (w *model) readSecret(r *modelReplica) {
	r.secret, r.secretNumber, r.read = w.secret, w.secretNumber, w.now
	if r.secret.leaf.issuer != "" {
		r.serving = r.secret.leaf
	}
}

// step runs one replica to the end of its next request.
func (w *model) step(r *modelReplica) {
	order := []int{0, 1, -1}
	if w.mistake == secretFirst {
		order = []int{-1, 0, 1}
	}
	if r.pc < len(order) {
		if i := order[r.pc]; i < 0 {
			w.readSecret(r)
		} else {
			w.readConfig(r, i)
		}
		r.pc++
		return
	}
	r.pc = 0
	for _, f := range w.decide(r) {
		switch w.random.IntN(4) {
		case 0: // lost
		case 1:
			w.flight = append(w.flight, f)
		default:
			w.deliver(f)
		}
	}
}

// decide returns the writes that a replica sends.
func (w *model) decide(r *modelReplica) (out []write) {
	s, bundle, stale := sight{}, r.secret.bundle(), []int(nil)
	var seen [modelConfigs]int
	for i, c := range r.configs {
		switch {
		case c.failed && w.mistake != unreadIsPresent:
			s.unknown = true
		case !c.failed && !slices.Equal(w.configs[i][c.number].bundle, bundle):
			s.differs, stale = true, append(stale, i)
		}
		if seen[i] = c.number; !c.failed && w.mistake != anyVersion {
			s.versions += fmt.Sprintln(i, c.number)
		}
	}
	now := w.now.Add(r.clock)
	t := r.secret
	if w.mistake == earlyRemoval {
		t.authorities = slices.Clone(t.authorities)
		for i := range t.authorities {
			t.authorities[i].last = time.Time{}
		}
	}
	d := t.decide(w.policy, s, now)
	if d.store {
		w.authorities++
		added := authority{
			id: strconv.Itoa(w.authorities), end: now.Add(w.policy.caLife).Truncate(time.Second), signs: true,
		}
		return []write{{config: -1, number: r.secretNumber, seen: seen, trust: t.after(d, w.policy, added, now)}}
	}
	if d.patch {
		for _, i := range stale {
			out = append(out, write{config: i, number: r.configs[i].number, bundle: bundle})
		}
	}
	return out
}

// deliver applies a write if the version is still the same.
func (w *model) deliver(f write) {
	if f.config < 0 {
		if f.number == w.secretNumber || w.mistake == blindSecret {
			if was, is := w.secret.leaf.issuer, f.trust.leaf.issuer; was != "" && was != is {
				w.switches++
				w.judge(f, was, is)
			}
			w.secret = f.trust
			w.secretNumber++
		}
		return
	}
	if f.number == len(w.configs[f.config])-1 || w.mistake == blindWrites {
		w.configs[f.config] = append(w.configs[f.config], version{bundle: f.bundle, from: w.now})
	}
}

// judge checks that a replica has waited long enough after somebody else's writes that it has read.
func (w *model) judge(f write, was, is string) {
	for c, versions := range w.configs {
		for i, v := range versions[:f.seen[c]+1] {
			recent := i+1 == len(versions) || !versions[i+1].from.Before(w.now.Add(-modelLag))
			if recent && slices.Contains(v.bundle, was) && !slices.Contains(v.bundle, is) {
				w.broken = fmt.Errorf("%s signs instead of %s, but configuration %d has or had the bundle %v", is, was, c, v.bundle)
			}
		}
	}
}

// event is one step of the world.
func (w *model) event() {
	i := w.random.IntN(modelReplicas)
	switch n := w.random.IntN(1000); {
	case n < 590:
		if i != w.slow || !w.now.Before(w.slowUntil) {
			w.step(&w.replicas[i])
		}
	case n < 595:
		w.slow, w.slowUntil = i, w.now.Add(time.Duration(w.random.Int64N(int64(2*time.Hour))))
	case n < 600:
		if i < modelConfigs && w.random.IntN(3) == 0 {
			w.outage[i] = w.now.Add(time.Duration(w.random.Int64N(int64(90 * time.Minute))))
		}
	case n < 640:
		if len(w.flight) > 0 {
			i := w.random.IntN(len(w.flight))
			f := w.flight[i]
			w.flight = slices.Delete(w.flight, i, i+1)
			w.deliver(f)
		}
	case n < 645:
		w.restart(i)
	case n < 650: // somebody applies an old manifest
		i := w.random.IntN(modelConfigs)
		old := w.configs[i][w.random.IntN(len(w.configs[i]))].bundle
		w.configs[i] = append(w.configs[i], version{bundle: old, foreign: true, from: w.now})
	default:
		w.pass([]time.Duration{time.Second, time.Minute, 10 * time.Minute}[w.random.IntN(3)])
	}
}

// pass lets time pass, but no replica is without a read for longer than it may be.
func (w *model) pass(d time.Duration) {
	w.now = w.now.Add(time.Duration(w.random.Int64N(int64(d))))
	for i := range w.replicas {
		for r := &w.replicas[i]; w.now.Sub(r.read) > modelRead; {
			w.step(r)
		}
	}
}

// check returns the error of a handshake that may fail.
func (w *model) check() error {
	for c, versions := range w.configs {
		end := w.now
		for i := len(versions) - 1; i >= 0 && !end.Before(w.now.Add(-modelLag)); i-- {
			v := versions[i]
			end = v.from
			if v.foreign {
				continue
			}
			for n, r := range w.replicas {
				if r.serving.issuer == "" {
					continue
				}
				if !slices.Contains(v.bundle, r.serving.issuer) {
					return fmt.Errorf("configuration %d has or had the bundle %v, but replica %d serves a certificate of %s",
						c, v.bundle, n, r.serving.issuer)
				}
				if !w.now.Add(modelSkew).Before(r.serving.end) {
					return fmt.Errorf("the certificate of replica %d has expired", n)
				}
			}
		}
	}
	if n := len(w.secret.authorities); n > 4 {
		return fmt.Errorf("the bundle has %d authorities", n)
	}
	return nil
}

// run runs the model, and returns the first violation.
func (w *model) run(steps int) error {
	for i := range steps {
		w.event()
		if err := w.check(); err != nil || w.broken != nil {
			err = errors.Join(err, w.broken)
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func TestHandshakesSucceedInEveryInterleaving(t *testing.T) {
	switches := 0
	for seed := range *seeds {
		w := newModel(seed, noMistake)
		if err := w.run(4000); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		switches += w.switches
		// Without faults, everything converges.
		w.flight, w.outage = nil, [modelConfigs]time.Time{}
		for i := range w.configs {
			w.configs[i] = append(w.configs[i], version{foreign: true, from: w.now})
		}
		for range 1000 {
			w.step(&w.replicas[w.random.IntN(modelReplicas)])
		}
		for i, c := range w.configs {
			if got := c[len(c)-1].bundle; !slices.Equal(got, w.secret.bundle()) {
				t.Fatalf("seed %d: configuration %d has the bundle %v, want %v", seed, i, got, w.secret.bundle())
			}
		}
	}
	t.Logf("%d seeds, %d changes of the authority that signs", *seeds, switches)
	if switches < int(*seeds) {
		t.Errorf("only %d changes of the authority", switches)
	}
}

// TestModelFindsMistakes checks that the model finds each mistake, so that it can find others.
func TestModelFindsMistakes(t *testing.T) {
	for m, name := range map[mistake]string{
		secretFirst: "secretFirst", blindWrites: "blindWrites", blindSecret: "blindSecret", noDelay: "noDelay",
		earlyRemoval: "earlyRemoval", anyVersion: "anyVersion", unreadIsPresent: "unreadIsPresent",
	} {
		t.Run(name, func(t *testing.T) {
			seed := uint64(0)
			if m == secretFirst {
				seed = 800 // it is rare
			}
			for ; seed < 3000; seed++ {
				if err := newModel(seed, m).run(4000); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("the model finds no violation")
		})
	}
}
