// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/kube-go/sdk/runtime/controller"
)

// maxSignals is the maximum number of objects whose signals a machine keeps. The signals of another one are lost then,
// which matters no more than their loss when the program stops.
const maxSignals = 10_000

// Send sends a value to an object. The controller must watch [Machine.Signals]. Send starts a pass if the state of the
// object waits for values of type T: its last Step has called [Received] for T, and stays or has failed. Otherwise, the
// value is kept for a later state. A signal only saves time: it is lost when the program stops, so the state must also
// detect the event by other means, such as the delay of its [To.Stay].
//
// A later value of the same type replaces one that has not been received yet.
func Send[T, K any](m *Machine[K], key controller.Key, value T) {
	typ := reflect.TypeFor[T]()
	m.signals.put(key, typ, value)
	if m.tables.wait(key, typ) {
		m.signals.wake(key)
	}
}

// Received returns the value of type T that was sent to the object, and whether there was one. A state that calls it
// and stays waits for such values. A value is received once: later states and passes do not receive it again, unless
// the Step is repeated because it fails, or because it waits for objects that it has declared. All child machines of a
// pass receive it, but it is lost for one whose Step is repeated if another one of a durable machine has received it.
// After them, the state that runs them does not receive it.
func Received[T, K any](c *Ctx[K]) (value T, ok bool) {
	w, typ := c.walk, reflect.TypeFor[T]()
	if !slices.Contains(w.asked, typ) {
		w.asked = append(w.asked, typ)
	}
	sent, ok := w.sent[typ]
	if _, took := w.took[typ]; !ok || took {
		return value, false
	}
	w.received = w.received.with(typ, sent)
	value, _ = sent.value.(T)
	return value, true
}

// settle ends a step. The values that it has received are removed from the mailbox when the pass is stored, unless the
// step is repeated. A machine that is not durable repeats all steps if one of them is repeated.
func (w *walk[K]) settle() {
	if w.end.how == fails {
		w.received = nil
	}
	leaves := w.end.how == unset
	for typ, sent := range w.received {
		w.took = w.took.with(typ, sent)
		if w.parent != nil {
			w.parent.took = w.parent.took.with(typ, sent)
		}
		switch {
		case w.machine.opts.Durable || !leaves && w.parent == nil:
			w.consumed = w.consumed.with(typ, sent)
		case !leaves:
			w.parent.received = w.parent.received.with(typ, sent)
		}
	}
	if w.machine.opts.Durable {
		w.received = nil
	}
	if leaves && w.parent == nil { // child machines of the next state do not receive them either
		for typ := range w.took {
			delete(w.sent, typ)
		}
	}
}

// Signals yields the keys of the objects for which [Send] starts a pass, until ctx ends:
//
//	ctl := controller.New(controller.For[v1.Database](cache), nil).Watches(controller.On(m.Signals))
func (m *Machine[K]) Signals(ctx context.Context) iter.Seq[controller.Key] {
	return func(yield func(controller.Key) bool) {
		for {
			key, ok := m.signals.next(ctx)
			if !ok || !yield(key) {
				return
			}
		}
	}
}

// signals are the values that were sent and not received.
type signals struct {
	more chan struct{} // has an element if waiting is not empty

	mu      sync.Mutex // guards the fields below
	last    uint64     // the number of the last signal
	values  map[controller.Key]mailbox
	waiting map[controller.Key]struct{} // the keys that next has not returned yet
}

// mailbox has the values for one object.
type mailbox map[reflect.Type]signal

// signal is a value that was sent.
type signal struct {
	number uint64 // later signals have higher numbers
	value  any
}

// with adds a signal to a mailbox, which may be nil.
func (m mailbox) with(typ reflect.Type, s signal) mailbox {
	if m == nil {
		m = make(mailbox)
	}
	m[typ] = s
	return m
}

func newSignals() *signals {
	return &signals{
		more:    make(chan struct{}, 1),
		values:  make(map[controller.Key]mailbox),
		waiting: make(map[controller.Key]struct{}),
	}
}

// put stores a value for an object.
func (s *signals) put(key controller.Key, typ reflect.Type, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[key] == nil {
		for other := range s.values {
			if len(s.values) < maxSignals {
				break
			}
			delete(s.values, other)
			delete(s.waiting, other)
		}
	}
	s.last++
	s.values[key] = s.values[key].with(typ, signal{s.last, value})
}

// wake makes next return the key of an object, unless its values have been received or forgotten.
func (s *signals) wake(key controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values[key] == nil {
		return
	}
	s.waiting[key] = struct{}{}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// next waits for the next key, until ctx ends.
func (s *signals) next(ctx context.Context) (key controller.Key, ok bool) {
	for {
		if key, ok := s.take(); ok {
			return key, true
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return key, false
		}
	}
}

// take returns a key for next.
func (s *signals) take() (key controller.Key, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.waiting {
		delete(s.waiting, key)
		return key, true
	}
	return key, false
}

// of returns the values for an object, and the number of the last signal.
func (s *signals) of(key controller.Key) (box mailbox, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values[key]), s.last
}

// done removes values that a pass has received, unless they have been replaced. It reports whether there is a later
// value, after the given number, of a type that the state waits for: it may have been sent before the position of the
// pass was known.
func (s *signals) done(key controller.Key, consumed mailbox, waits []reflect.Type, last uint64) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	box := s.values[key]
	for typ, sent := range consumed {
		if box[typ].number == sent.number {
			delete(box, typ)
		}
	}
	if len(box) == 0 {
		delete(s.values, key)
		delete(s.waiting, key)
	}
	return slices.ContainsFunc(waits, func(typ reflect.Type) bool { return box[typ].number > last })
}

// forget removes the values for an object.
func (s *signals) forget(key controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	delete(s.waiting, key)
}
