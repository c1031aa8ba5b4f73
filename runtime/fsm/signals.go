// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"context"
	"iter"
	"maps"
	"reflect"
	"sync"

	"github.com/kube-go/sdk/runtime/controller"
)

// maxSignals is the maximum number of objects whose signals a machine keeps. The signals of another one are lost then,
// which matters no more than their loss when the program stops.
const maxSignals = 10_000

// Send sends a value to the state of an object that receives values of this type, see [Received], and starts a pass of
// the object if the controller watches [Machine.Signals]. A signal only saves time: it is lost when the program stops, so
// the state must also find out by other means, such as the delay of its [To.Stay].
//
// A later value of the same type replaces one that has not been received yet.
func Send[T, K any](m *Machine[K], key controller.Key, value T) {
	m.signals.send(key, reflect.TypeFor[T](), value)
}

// Received returns the value of type T that was sent to the object, and whether there was one. It is received once: a
// later pass does not receive it again, unless this pass fails.
func Received[T, K any](c *Ctx[K]) (value T, ok bool) {
	typ := reflect.TypeFor[T]()
	sent, ok := c.walk.sent[typ]
	if !ok {
		return value, false
	}
	if c.walk.received == nil {
		c.walk.received = make(mailbox)
	}
	c.walk.received[typ] = sent
	value, _ = (*sent).(T)
	return value, true
}

// Signals are the objects to which values are sent:
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
	values  map[controller.Key]mailbox
	waiting map[controller.Key]struct{} // the keys that next has not returned yet
}

// mailbox has the values for one object. The pointers identify the values.
type mailbox map[reflect.Type]*any

func newSignals() *signals {
	return &signals{
		more:    make(chan struct{}, 1),
		values:  make(map[controller.Key]mailbox),
		waiting: make(map[controller.Key]struct{}),
	}
}

func (s *signals) send(key controller.Key, typ reflect.Type, value any) {
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
		s.values[key] = make(mailbox)
	}
	s.values[key][typ] = &value
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

// of returns the values for an object.
func (s *signals) of(key controller.Key) mailbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values[key])
}

// done removes values that a pass has received, unless they have been replaced.
func (s *signals) done(key controller.Key, received mailbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	box := s.values[key]
	for typ, value := range received {
		if box[typ] == value {
			delete(box, typ)
		}
	}
	if len(box) == 0 {
		delete(s.values, key)
	}
}
