// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

const (
	// mapWorkers is the maximum number of calls of one function of Map at the same time.
	mapWorkers = 8
	// mapInitial is the maximum number of them for initial objects, so that changes do not wait for these calls.
	mapInitial = 4
	// maxEarlier is the maximum number of earlier states of one object that are kept until they are mapped.
	maxEarlier = 8
)

// mapFunc maps a state of an object to the objects that it concerns.
type mapFunc func(context.Context, wire.Packed) ([]core.ObjectRef, error)

// mapping is the stage that maps the changed objects of a trigger. It has its own workers, so that a slow function
// delays only its own source. The workers take changed objects from an applier. The initial objects wait in another
// one, and feeders move them: no more than mapInitial of them are in the applier of the workers at a time. Since only
// this applier hands out objects to workers, calls for one object never overlap.
type mapping struct {
	session *session
	f       mapFunc
	kind    string // of the changed objects
	workers [mapWorkers]*worker
	applier *applier.Applier[Key, *event] // the changed objects, and the initial ones that are in fed
	initial *applier.Applier[Key, *event] // the initial objects; a feeder has each that runs

	mu      sync.Mutex // guards the fields below
	changes map[Key]*unmapped
	fed     map[Key]*fed // the initial objects that no worker has taken yet
}

// unmapped is the states of one object that have to be mapped. Changes that wait are merged into one, from the oldest
// known old to the newest new state. Since runs may have read the states between them, these are kept, too, and so is
// the last state of a deleted object.
type unmapped struct {
	earlier        []reflector.State // other states: between old and new, of earlier deletions, or of failed calls
	old, last, new reflector.State
	initial        bool // the object waits in mapping.initial
}

// fed is an initial object that a feeder has added to the applier of the workers.
type fed struct {
	item   applier.Item[Key, *event]
	mapped chan struct{} // closed when the worker is done with it, or when its cluster has left
}

// startMapping returns a function that starts the stage of a trigger.
func startMapping(f mapFunc, res core.Resource) func(*session) stage {
	return func(s *session) stage {
		o := s.opts.applier()
		o.HoldTimeout, o.Debounce, o.MaxDebounce = -1, 0, 0
		m := &mapping{
			session: s,
			f:       f,
			kind:    res.Kind,
			applier: applier.New[Key, *event](o),
			initial: applier.New[Key, *event](o),
			changes: make(map[Key]*unmapped),
			fed:     make(map[Key]*fed),
		}
		for i := range m.workers {
			m.workers[i] = &worker{
				logger: s.opts.Logger, kind: res.Kind, maps: res, timeout: s.opts.RunTimeout, stuck: s.reportLate,
			}
		}
		return m
	}
}

func (m *mapping) offer(key Key, c reflector.Change, p applier.Priority, cause *event) {
	initial := p == applier.Low
	m.mu.Lock()
	u := m.changes[key]
	if u == nil {
		u = new(unmapped)
		m.changes[key] = u
	}
	u.offer(c)
	u.initial = u.initial || initial
	m.mu.Unlock()
	if initial {
		m.initial.Add(key, p, cause)
	} else {
		m.applier.Add(key, p, cause)
	}
}

func (u *unmapped) offer(c reflector.Change) {
	switch {
	case !c.New.Exists():
		u.add(u.last)
		u.last = c.Old
	case u.old.Exists():
		u.add(c.Old)
	}
	for _, between := range c.Between {
		u.add(between)
	}
	if !u.old.Exists() { // also for a second change of an object that was new at the first: runs may have seen it
		u.old = c.Old
	}
	u.new = c.New
}

// add adds an earlier state if it exists. It keeps the newest ones.
func (u *unmapped) add(s reflector.State) {
	if !s.Exists() {
		return
	}
	if len(u.earlier) == maxEarlier {
		u.earlier = slices.Delete(u.earlier, 0, 1)
	}
	u.earlier = append(u.earlier, s)
}

// states returns the states to map, each once. A nil *unmapped has none.
func (u *unmapped) states() (all []wire.Packed) {
	if u == nil {
		return nil
	}
	for _, s := range slices.Concat(u.earlier, []reflector.State{u.old, u.last, u.new}) {
		p := s.Packed()
		same := func(o wire.Packed) bool { return bytes.Equal(o.Bytes(), p.Bytes()) }
		if p.Len() > 0 && !slices.ContainsFunc(all, same) {
			all = append(all, p)
		}
	}
	return all
}

// run starts the workers and the feeders.
func (m *mapping) run(ctx context.Context) (ended []<-chan struct{}) {
	context.AfterFunc(ctx, m.applier.Close)
	context.AfterFunc(ctx, m.initial.Close)
	begin := func(work func(done chan struct{})) {
		done := make(chan struct{})
		ended = append(ended, done)
		go work(done)
	}
	for _, w := range m.workers {
		begin(func(done chan struct{}) { m.work(ctx, w, done) })
	}
	for range mapInitial {
		begin(func(done chan struct{}) { m.feed(ctx, done) })
	}
	return ended
}

// runs returns the current calls of the function.
func (m *mapping) runs() (all []*run) {
	for _, w := range m.workers {
		if r := w.current.Load(); r != nil {
			all = append(all, r)
		}
	}
	return all
}

// feed moves initial objects to the workers, each when the last one is mapped, until ctx ends, and then closes done.
func (m *mapping) feed(ctx context.Context, done chan struct{}) {
	defer close(done)
	for {
		item, err := m.initial.Get(ctx)
		if err != nil {
			return
		}
		if f := m.admit(item); f != nil {
			select {
			case <-f.mapped:
			case <-ctx.Done():
			}
		}
		m.initial.Done(item.Key)
	}
}

// admit adds an initial object to the applier of the workers. It returns nil if the object has been mapped already,
// together with a change, or if its cluster has left.
func (m *mapping) admit(item applier.Item[Key, *event]) *fed {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u := m.changes[item.Key]; u == nil || !u.initial {
		return nil
	}
	f := &fed{item, make(chan struct{})}
	m.fed[item.Key] = f
	m.applier.Add(item.Key, item.Priority, item.Cause)
	return f
}

// work maps objects until ctx ends, and then closes done.
func (m *mapping) work(ctx context.Context, w *worker, done chan struct{}) {
	w.goroutine.Store(goroutineID())
	over := false
	defer func() {
		if over {
			close(done)
		} else { // the function has ended the goroutine
			go m.work(ctx, w, done)
		}
	}()
	for {
		item, err := m.applier.Get(ctx)
		if err != nil {
			over = true
			return
		}
		m.one(ctx, w, item)
	}
}

// one maps the states of one object, and adds the objects that they concern, each once: otherwise a worker could finish
// the first run before the second one is added. The newest state is mapped first: its objects do not wait for the other
// calls.
func (m *mapping) one(ctx context.Context, w *worker, item applier.Item[Key, *event]) {
	u, f := m.take(item.Key)
	if f != nil {
		item.Waited += f.item.Waited
		defer close(f.mapped)
	}
	of := m.session.roster.Load().member(item.Key.Cluster)
	if of == nil { // retain drops the changes
		m.applier.Done(item.Key)
		return
	}
	ctx, stop := of.context(ctx)
	defer stop()
	states := u.states()
	var (
		known map[core.ObjectRef]bool
		errs  error
	)
	defer func() { // also if the function ends the goroutine
		failed := slices.DeleteFunc(states, func(p wire.Packed) bool { return p.Len() == 0 })
		m.finish(ctx, item, f != nil && item.Priority == applier.Low, failed, errs)
	}()
	for i, p := range slices.Backward(states) {
		refs, err := m.try(ctx, w, item, p, &errs)
		if known == nil {
			known = make(map[core.ObjectRef]bool, len(refs))
		}
		for _, ref := range refs {
			if !known[ref] {
				known[ref] = true
				m.session.applier.Add(Key{item.Key.Cluster, ref}, item.Priority, item.Cause)
			}
		}
		if err == nil || core.IsTerminal(err) {
			states[i] = wire.Packed{} // done
		}
	}
}

// try maps one state, and appends the error to errs, also if the function ends the goroutine.
func (m *mapping) try(
	ctx context.Context, w *worker, item applier.Item[Key, *event], p wire.Packed, errs *error,
) (refs []core.ObjectRef, err error) {
	r := &run{Context: ctx, worker: w, item: item, begun: time.Now()}
	if w.timeout > 0 {
		defer w.limit(r)()
	}
	w.current.Store(r)
	defer func() {
		w.current.Store(nil)
		err = r.explain(err)
		*errs = errors.Join(*errs, err)
	}()
	try(&err, func() { refs, err = m.f(r, p) })
	return refs, err
}

// take removes the states of an object. The second result is nil if no feeder waits for the object.
func (m *mapping) take(key Key) (*unmapped, *fed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u, f := m.changes[key], m.fed[key]
	delete(m.changes, key)
	delete(m.fed, key)
	return u, f
}

// finish ends the mapping of an object. It keeps the states whose mapping failed for a retry.
func (m *mapping) finish(
	ctx context.Context, item applier.Item[Key, *event], initial bool, failed []wire.Packed, err error,
) {
	defer m.applier.Done(item.Key)
	if err == nil || ctx.Err() != nil {
		return
	}
	attrs := append(describe(m.kind, item.Key, err), runOf(item).causeAttrs()...)
	if len(failed) > 0 && m.keep(item.Key, initial, failed) {
		retry, priority := m.applier.Retry, applier.Normal
		if initial {
			retry, priority = m.initial.Retry, applier.Low // a feeder runs it there
		}
		atLeast, _ := core.RetryAfter(err)
		if forgotten := len(failed) - maxEarlier; forgotten > 0 {
			attrs = append(attrs, slog.Int("forgottenStates", forgotten))
		}
		attrs = append(attrs, slog.Duration("retryIn", retry(item.Key, priority, item.Cause, atLeast)))
	}
	m.session.opts.Logger.LogAttrs(ctx, slog.LevelError, "can't map a changed object", attrs...)
}

// keep keeps states for a retry: the newest ones. It returns false if the cluster of the object has left.
func (m *mapping) keep(key Key, initial bool, failed []wire.Packed) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.session.roster.Load().has(key) {
		return false // retain has been called, or waits for the lock
	}
	u := m.changes[key]
	if u == nil {
		u = new(unmapped)
		m.changes[key] = u
	}
	u.initial = u.initial || initial
	newer := u.earlier
	u.earlier = nil
	for _, p := range failed {
		u.add(reflector.StateOf(p))
	}
	for _, s := range newer {
		u.add(s)
	}
	return true
}

// retain drops the objects of clusters that the session no longer has.
func (m *mapping) retain(r *roster) {
	m.initial.Own(r.has)
	m.applier.Own(r.has)
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.changes, func(key Key, _ *unmapped) bool { return !r.has(key) })
	maps.DeleteFunc(m.fed, func(key Key, f *fed) bool {
		if r.has(key) {
			return false
		}
		close(f.mapped)
		return true
	})
}

func (m *mapping) waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.changes)
}
