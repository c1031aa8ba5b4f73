// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/anishathalye/porcupine"
)

// seeds is the number of random worlds. `make seeds` runs 10,000.
var seeds = flag.Uint64("seeds", 1000, "the number of random worlds")

// A world is a lease on a server, and replicas whose clocks, processes and connections fail at random.
type world struct {
	fail   func(format string, args ...any) // ends the test of this world
	rand   *rand.Rand
	start  time.Time
	now    time.Time // the true time
	events timeline
	serial int
	faulty bool                         // faults happen
	broken bool                         // an invariant was violated: nothing more happens
	mutant func(*world, *state, *input) // makes each step wrong; nil in a test of the real one

	// Somebody deletes the lease. Then no process is replaced, since a new one has not known the lease.
	deletes bool
	// Machines are suspended, which stops the monotonic clock. Otherwise somebody sets the wall clocks.
	suspends bool
	oneClock bool // the wall clock stops, too

	version int // counts the writes
	exists  bool
	lease   record

	replicas []*replica
	history  []porcupine.Operation
}

// replica is a process with a state. A killed process is replaced by one with another identity.
type replica struct {
	id        int
	name      string
	state     state
	paused    time.Time     // the process does nothing until then
	cut       time.Time     // no packet passes until then
	rate      float64       // of the monotonic clock
	suspended time.Duration // in which this clock has stood still
	skew      time.Duration // of the wall clock: times in leases must not matter
	leading   bool
	over      bool // the term has ended; the next one needs a new begin
	since     time.Time
	returned  bool // the work has ended, or is about to
}

// clock returns what a process reads from its clocks.
func (r *replica) clock(w *world) time.Time {
	if w.oneClock {
		return reading(w.start.Add(r.monotonic(w)), r.monotonic(w))
	}
	return reading(w.now.Add(r.skew), r.monotonic(w))
}

func (r *replica) monotonic(w *world) time.Duration {
	return time.Duration(r.rate * float64(w.now.Sub(w.start)-r.suspended))
}

// base is a time with a monotonic clock reading.
var base = time.Now() // the same for all readings, which are compared

// reading returns a time with the given wall clock and the given monotonic clock. Package time has no function for it,
// since only machines whose clocks are set or stop have such times.
func reading(wall time.Time, monotonic time.Duration) time.Time {
	t := base.Add(wall.Sub(base.Round(0)))
	(*struct {
		wall uint64
		ext  int64 // the monotonic clock, see the source of time.Time
		loc  *time.Location
	})(unsafe.Pointer(&t)).ext += int64(monotonic - t.Sub(base)) //nolint:gosec // the only way
	return t
}

func TestReadingsHaveTwoClocks(t *testing.T) {
	wall := time.Unix(1_800_000_000, 0)
	a, b := reading(wall, time.Second), reading(wall.Add(time.Hour), 3*time.Second)
	if d := b.Sub(a); d != 2*time.Second {
		t.Errorf("the monotonic difference is %v, want 2s: time.Time has changed", d)
	}
	if d := b.Round(0).Sub(a.Round(0)); d != time.Hour {
		t.Errorf("the difference of the wall clocks is %v, want 1h: time.Time has changed", d)
	}
	if d := a.Add(time.Minute).Sub(b); d != 58*time.Second {
		t.Errorf("the monotonic difference after Add is %v, want 58s", d)
	}
}

type event struct {
	at     time.Time
	serial int
	run    func()
}

type timeline []event

func (l timeline) Len() int { return len(l) }
func (l timeline) Less(i, j int) bool {
	return l[i].at.Before(l[j].at) || l[i].at.Equal(l[j].at) && l[i].serial < l[j].serial
}
func (l timeline) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *timeline) Push(e any)   { *l = append(*l, e.(event)) }
func (l *timeline) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

func (w *world) after(d time.Duration, run func()) {
	w.serial++
	heap.Push(&w.events, event{w.now.Add(d), w.serial, run})
}

// until runs the events until a time.
func (w *world) until(end time.Time) {
	for len(w.events) > 0 && !w.events[0].at.After(end) && !w.broken {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.run()
	}
	w.now = end
}

func (w *world) chance(p float64) bool { return w.faulty && w.rand.Float64() < p }

// latency is mostly short.
func (w *world) latency() time.Duration {
	d := time.Duration(w.rand.IntN(20)) * time.Millisecond
	if w.chance(0.05) {
		d = time.Duration(w.rand.IntN(12_000)) * time.Millisecond
	}
	return d
}

// spawn starts a replica in place of r.
func (w *world) spawn(r *replica) {
	w.serial++
	*r = replica{
		id: r.id, name: fmt.Sprintf("replica-%d-%d", r.id, w.serial),
		rate: 0.9 + 0.2*w.rand.Float64(), skew: time.Duration(w.rand.IntN(100)-50) * time.Hour,
		state: state{leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second},
	}
	r.state.identity = r.name
	w.deliver(r, r.name, input{kind: tick})
}

// deliver gives an input to a replica, unless it has been killed, and later if it is paused.
func (w *world) deliver(r *replica, name string, in input) {
	switch {
	case r.name != name:
		return
	case w.now.Before(r.paused):
		w.after(r.paused.Sub(w.now), func() { w.deliver(r, name, in) })
		return
	}
	in.now, in.jitter = r.clock(w), w.rand.Float64()
	if w.mutant != nil {
		w.mutant(w, &r.state, &in)
	}
	var act action
	r.state, act = r.state.step(in)
	w.watch(r)
	switch act.kind {
	case wait:
		if act.until.Before(in.now) {
			w.violated("%s waits until %v, which has passed for %v", name, act.until, in.now.Sub(act.until))
			return
		}
		kind := tick
		if r.state.leading && !r.returned && w.chance(0.02) {
			kind, r.returned = stop, true
		}
		w.after(r.truly(act.until.Sub(in.now)), func() { w.deliver(r, name, input{kind: kind}) })
	case lost, done:
		if r.leading {
			w.endTerm(r)
		}
		r.state, r.returned, r.over = r.state.begin(), false, false
		w.after(time.Duration(w.rand.IntN(3000))*time.Millisecond, func() { w.deliver(r, name, input{kind: tick}) })
	default:
		w.send(r, name, act)
	}
}

// send delivers a request to the server and its response to the replica. Both may be lost or late.
func (w *world) send(r *replica, name string, act action) {
	limit := r.state.renewDeadline / 2
	if r.state.leading {
		limit = min(limit, r.state.end().Sub(r.clock(w)))
	}
	version, answered, sent := r.state.version, false, r.clock(w)
	respond := func(in input) {
		if !answered {
			answered = true
			w.deliver(r, name, in)
		}
	}
	w.after(r.truly(max(limit, 0)), func() { respond(input{kind: failed, sent: sent}) })
	if w.now.Before(r.cut) || w.chance(0.02) {
		return
	}
	w.after(w.latency(), func() {
		in := w.serve(act, version)
		if w.now.Before(r.cut) || w.chance(0.02) {
			return
		}
		w.after(w.latency(), func() { respond(in) })
	})
}

// serve is the server: it compares versions.
func (w *world) serve(act action, version string) input {
	current := fmt.Sprint(w.version)
	switch act.kind {
	case read:
		if !w.exists {
			return input{kind: missing}
		}
		return input{kind: found, version: current, record: w.lease}
	case create:
		if w.exists {
			return input{kind: conflict}
		}
	default:
		if !w.exists || version != current {
			return input{kind: conflict}
		}
	}
	w.version++
	w.exists, w.lease = true, act.record
	return input{kind: stored, version: fmt.Sprint(w.version), record: w.lease}
}

// truly returns the true time that passes while the monotonic clock runs for d.
func (r *replica) truly(d time.Duration) time.Duration { return time.Duration(float64(d)/r.rate) + 1 }

// violated ends the test of this world.
func (w *world) violated(format string, args ...any) {
	w.broken = true
	w.fail(format, args...)
}

// leads reports whether a replica leads, as its program would find out now.
func (w *world) leads(r *replica) bool {
	now := r.clock(w)
	r.state = r.state.expire(now)
	return r.state.leads(now)
}

// watch checks that terms do not overlap, at the begin of one, and that a term that has ended does not begin again.
func (w *world) watch(r *replica) {
	switch leads := w.leads(r); {
	case leads && r.over:
		w.violated("%s leads again after the end of its term", r.name)
	case leads && !r.leading:
		r.leading, r.since = true, w.now
		for _, other := range w.replicas {
			switch {
			case other == r || !other.leading:
			case w.leads(other):
				w.violated("%s begins a term while %s leads", r.name, other.name)
				return
			default:
				w.endTerm(other) // it is paused or cut off, and its term is over
			}
		}
	case !leads && r.leading:
		w.endTerm(r)
	}
}

// endTerm adds a term to the history.
func (w *world) endTerm(r *replica) {
	r.leading, r.over = false, true
	call := func(kind string, at time.Time) {
		w.history = append(w.history, porcupine.Operation{
			ClientId: r.id, Input: kind + " " + r.name, Call: at.UnixNano(), Return: at.UnixNano(),
		})
	}
	call("take", r.since)
	call("leave", w.now)
}

// lock is the law that the history must follow: a lock is taken when it is free, and left by its holder.
var lock = porcupine.Model{
	Init: func() any { return "" },
	Step: func(held, in, _ any) (bool, any) {
		var kind, name string
		if _, err := fmt.Sscan(in.(string), &kind, &name); err != nil {
			return false, held
		}
		if kind == "take" {
			return held == "", name
		}
		return held == name, ""
	},
}

// fault breaks something for a while.
func (w *world) fault() {
	if !w.faulty {
		return
	}
	r := w.replicas[w.rand.IntN(len(w.replicas))]
	span := time.Duration(w.rand.IntN(40_000)) * time.Millisecond
	switch w.rand.IntN(8) {
	case 0:
		r.paused = w.now.Add(span)
	case 1:
		r.cut = w.now.Add(span)
	case 2:
		if !w.deletes {
			if r.leading {
				w.endTerm(r)
			}
			w.spawn(r)
		}
	case 3:
		if w.exists { // somebody edits the lease, or a restored backup has an older one
			w.version++
			if span%(4*time.Millisecond) == 0 {
				w.lease.holder = ""
			}
		}
	case 4:
		for _, r := range w.replicas { // the server is down
			r.cut = w.now.Add(span / 2)
		}
	case 5:
		if w.deletes && !slices.ContainsFunc(w.replicas, func(r *replica) bool { return !r.state.known }) {
			w.exists = false
		}
	case 6:
		w.setClock(r, span)
	case 7: // somebody asks whether the replica leads
		w.watch(r)
	}
	w.after(time.Duration(w.rand.IntN(10_000))*time.Millisecond, w.fault)
}

// setClock suspends a machine, or sets its wall clock for a while.
func (w *world) setClock(r *replica, span time.Duration) {
	if w.suspends {
		if !w.now.Before(r.paused) {
			r.paused = w.now.Add(span)
			r.suspended += span
		}
		return
	}
	skew, name := time.Duration(w.rand.IntN(100)-50)*time.Second, r.name
	r.skew += skew
	w.after(span/10, func() {
		if r.name == name {
			r.skew -= skew
		}
	})
}

func newWorld(seed uint64, fail func(string, ...any)) *world {
	start := time.Unix(1_800_000_000, 0)
	return &world{
		fail: fail, rand: rand.New(rand.NewPCG(seed, 1)), start: start, now: start, faulty: true,
		deletes: seed%4 < 2, suspends: seed%2 == 0, replicas: []*replica{{id: 0}, {id: 1}, {id: 2}},
	}
}

// run runs the world with faults, then without, and checks its end. It returns the number of terms.
func (w *world) run() int {
	for _, r := range w.replicas {
		w.spawn(r)
	}
	w.after(0, w.fault)
	w.until(w.now.Add(5 * time.Minute))
	w.faulty = false
	w.until(w.now.Add(2 * time.Minute))
	if w.broken {
		return 0
	}
	leaders := 0
	for _, r := range w.replicas {
		if w.leads(r) {
			leaders++
		}
		if r.leading {
			w.endTerm(r)
		}
	}
	switch {
	case leaders != 1:
		w.violated("%d replicas lead two minutes after the last fault, want 1", leaders)
	case !porcupine.CheckOperations(lock, w.history):
		w.violated("the history of terms is not that of a lock")
	}
	return len(w.history) / 2
}

// TestTermsNeverOverlap runs replicas with pauses, kills, partitions, deleted leases, lost and late packets, and clocks
// that are fast, slow, set and suspended. Terms never overlap, and when the faults end, one of the replicas leads.
func TestTermsNeverOverlap(t *testing.T) {
	terms := 0
	for seed := range *seeds {
		w := newWorld(seed, func(format string, args ...any) {
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
		terms += w.run()
	}
	if terms < int(*seeds)*5 {
		t.Errorf("%d terms in %d runs: the faults are too rare", terms, *seeds)
	}
}

// TestWrongStepsAreFound checks that the worlds find mistakes in the step.
func TestWrongStepsAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		from   uint64 // the first seed; to begin with 0 takes longer
		mutant func(*world, *state, *input)
	}{
		"a held lease expires too early": {0, func(_ *world, s *state, _ *input) { s.observed = s.observed.Add(-time.Second) }},
		"a term counts from the response": {190, func(_ *world, s *state, in *input) {
			if in.kind == stored {
				s.sent = in.now
			}
		}},
		"a read renews the term": {460, func(_ *world, s *state, in *input) {
			if in.kind == found && s.leading && in.record.holder == s.identity {
				s.renewal = in.now
			}
		}},
		"the time of a suspension does not count": {0, func(w *world, _ *state, _ *input) { w.oneClock = true }},
		"a missing lease is free":                 {10, func(_ *world, s *state, _ *input) { s.known = false }},
		"a term continues when a clock is set back": {1870, func(_ *world, s *state, _ *input) {
			s.leading = s.leading || !s.renewal.IsZero() && !s.stopping
		}},
		"each lease with the identity is of the current term": {8780, func(_ *world, s *state, in *input) {
			if in.kind == found && in.record.holder == s.identity {
				s.acquired = in.record.acquired
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := tt.from; seed < tt.from+1000; seed++ {
				message := ""
				w := newWorld(seed, func(format string, args ...any) { message = fmt.Sprintf(format, args...) })
				w.mutant = tt.mutant
				w.run()
				if message != "" {
					t.Logf("seed %d: %s", seed, message)
					return
				}
			}
			t.Error("the worlds do not find this mistake")
		})
	}
}
