// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// seeds is the number of random worlds. `go test ./runtime/election -args -seeds=10000` takes half a minute.
var seeds = flag.Uint64("seeds", 1000, "the number of random worlds")

// A world is a lease on a server, and replicas whose clocks, processes and connections fail at random.
type world struct {
	t      *testing.T
	rand   *rand.Rand
	now    time.Time // the true time
	events timeline
	serial int

	version int // of the lease; 0 if it does not exist
	lease   record
	faulty  bool // faults happen

	replicas []*replica
	history  []porcupine.Operation
}

// replica is a process with a state. A killed process is replaced by one with another identity.
type replica struct {
	id       int
	name     string
	state    state
	alive    bool
	paused   time.Time     // the process does nothing until then
	cut      time.Time     // no packet passes until then
	skew     time.Duration // of the wall clock: times in leases must not matter
	leading  bool
	since    time.Time
	returned bool // the work has ended, or is about to
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
	for len(w.events) > 0 && !w.events[0].at.After(end) {
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
		id: r.id, name: fmt.Sprintf("replica-%d-%d", r.id, w.serial), alive: true,
		skew:  time.Duration(w.rand.IntN(100)-50) * time.Hour,
		state: state{leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: 2 * time.Second},
	}
	r.state.identity = r.name
	w.deliver(r, r.name, input{kind: tick})
}

// deliver gives an input to a replica, unless it has been killed, and later if it is paused.
func (w *world) deliver(r *replica, name string, in input) {
	switch {
	case !r.alive || r.name != name:
		return
	case w.now.Before(r.paused):
		w.after(r.paused.Sub(w.now), func() { w.deliver(r, name, in) })
		return
	}
	in.now, in.jitter = w.now, w.rand.Float64()
	var act action
	r.state, act = r.state.step(in)
	w.watch(r)
	switch act.kind {
	case wait:
		if act.until.Before(w.now) {
			w.t.Fatalf("%s waits until %v, which has passed for %v", name, act.until, w.now.Sub(act.until))
		}
		kind := tick
		if r.state.leading && !r.returned && w.chance(0.02) {
			kind, r.returned = stop, true
		}
		w.after(act.until.Sub(w.now), func() { w.deliver(r, name, input{kind: kind}) })
	case lost, done:
		if r.leading {
			w.endTerm(r)
		}
		r.state, r.returned = r.state.begin(), false
		w.after(time.Duration(w.rand.IntN(3000))*time.Millisecond, func() { w.deliver(r, name, input{kind: tick}) })
	default:
		w.send(r, name, act)
	}
}

// send delivers a request to the server and its response to the replica. Both may be lost or late.
func (w *world) send(r *replica, name string, act action) {
	limit := r.state.renewDeadline / 2
	if r.state.leading {
		limit = r.state.end().Sub(w.now)
	}
	version, answered := r.state.version, false
	respond := func(in input) {
		if !answered {
			answered = true
			w.deliver(r, name, in)
		}
	}
	w.after(max(limit, 0), func() { respond(input{kind: failed}) })
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
		if w.version == 0 {
			return input{kind: missing}
		}
		return input{kind: found, version: current, record: w.lease}
	case create:
		if w.version != 0 {
			return input{kind: conflict}
		}
	default:
		if w.version == 0 || version != current {
			return input{kind: conflict}
		}
	}
	w.version++
	w.lease = act.record
	return input{kind: stored, version: fmt.Sprint(w.version), record: w.lease}
}

// watch checks that terms do not overlap, at the begin of one.
func (w *world) watch(r *replica) {
	leads := r.state.leads(w.now)
	switch {
	case leads && !r.leading:
		r.leading, r.since = true, w.now
		for _, other := range w.replicas {
			if other != r && other.alive && other.leading {
				if other.state.leads(w.now) {
					w.t.Fatalf("%s begins a term while %s leads", r.name, other.name)
				}
				w.endTerm(other) // it is paused or cut off, and its term is over
			}
		}
	case !leads && r.leading:
		w.endTerm(r)
	}
}

// endTerm adds a term to the history: it was held from its begin to its end, or to now if it ended earlier.
func (w *world) endTerm(r *replica) {
	end := w.now
	if limit := r.state.end(); limit.Before(end) {
		end = limit
	}
	r.leading = false
	call := func(kind string, from, to time.Time) {
		w.history = append(w.history, porcupine.Operation{
			ClientId: r.id, Input: kind + " " + r.name, Call: from.UnixNano(), Return: to.UnixNano(),
		})
	}
	call("take", r.since, r.since)
	call("leave", end, end)
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
	switch w.rand.IntN(5) {
	case 0:
		r.paused = w.now.Add(span)
	case 1:
		r.cut = w.now.Add(span)
	case 2:
		if r.leading {
			w.endTerm(r)
		}
		w.spawn(r)
	case 3:
		if w.version > 0 { // somebody edits the lease, or a restored backup has an older one
			w.version++
		}
	case 4:
		for _, r := range w.replicas { // the server is down
			r.cut = w.now.Add(span / 2)
		}
	}
	w.after(time.Duration(w.rand.IntN(10_000))*time.Millisecond, w.fault)
}

// TestTermsNeverOverlap runs replicas with pauses, kills, partitions, and lost and late packets. Terms never overlap,
// and when the faults end, one of the replicas leads.
func TestTermsNeverOverlap(t *testing.T) {
	terms := 0
	for seed := range *seeds {
		w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(1_800_000_000, 0), faulty: true}
		w.replicas = []*replica{{id: 0}, {id: 1}, {id: 2}}
		for _, r := range w.replicas {
			w.spawn(r)
		}
		w.after(0, w.fault)
		w.until(w.now.Add(5 * time.Minute))
		w.faulty = false
		w.until(w.now.Add(2 * time.Minute))
		leaders := 0
		for _, r := range w.replicas {
			if r.state.leads(w.now) {
				leaders++
			}
			if r.leading {
				w.endTerm(r)
			}
		}
		if leaders != 1 {
			t.Fatalf("seed %d: %d replicas lead two minutes after the last fault, want 1", seed, leaders)
		}
		if !porcupine.CheckOperations(lock, w.history) {
			t.Fatalf("seed %d: the history of terms is not that of a lock", seed)
		}
		terms += len(w.history) / 2
	}
	if terms < int(*seeds)*5 {
		t.Errorf("%d terms in %d runs: the faults are too rare", terms, *seeds)
	}
}
