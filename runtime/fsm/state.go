// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"errors"
	"time"

	"github.com/kube-go/sdk/runtime/events"
)

// State is a state of a machine for the kind K. It is a struct. E is an interface that the possible next states
// implement, or [Terminal].
//
// # Durable machines
//
// With [Options.Durable], a state that was reached is not repeated: the next pass begins there. The machine stores the
// name and the exported fields of the state in status.fsm, as JSON. No field may have an interface type, such as error or
// any, since its value can't be read again with the same type; a type with the method UnmarshalJSON may have any fields.
// A state with a method
//
//	Verify(c *fsm.Ctx[K]) error
//
// can refuse to continue: if it returns an error, the error is logged, and the pass begins at the initial state. So
// does a pass whose stored state is unknown or can't be decoded, or was stored when the machine was not durable.
// [Options.Renamed] has the new names of renamed states.
//
// When the object's generation has changed, so has its spec, and the pass begins at the initial state. A state with a
// method
//
//	OnSpecChange(c *fsm.Ctx[K], to fsm.To[E]) fsm.Result[E]
//
// decides otherwise: the method is called instead of Step. It can return s.Step(c, to) to continue, to.Go for a
// transition, or to.Restart. If it fails, or if its transition waits for objects that it has declared, the next pass
// calls it again, until the deadline of the state.
//
// # Deadlines
//
// A state with the methods
//
//	Deadline(c *fsm.Ctx[K]) time.Duration
//	OnDeadline(c *fsm.Ctx[K], to fsm.To[E]) fsm.Result[E]
//
// has a limited time: when the machine has been in the state for that long, OnDeadline is called instead of Step. A
// pass takes place then, even if nothing changes, and also if Step fails and the back-off is longer. Only after a Stay
// with a negative delay, it waits for the back-off. A time of 0 means no limit, and a negative time is over at once.
// The time continues while the object is suspended.
//
// If the spec has changed, too, OnDeadline is called first. The change is then one for the next state: its OnSpecChange
// is called, or the pass begins at the initial state. If OnDeadline stays, the change waits as well.
//
// OnDeadline and OnSpecChange need not declare the objects of Step again: if such a method declares nothing, those that
// Step has declared are kept. If it declares an object, also by a call of Step, the others are deleted, see
// [Ctx.Apply].
type State[K, E any] interface {
	// Step observes the object, does what the state is for, and returns what to do next: a result of to.
	Step(c *Ctx[K], to To[E]) Result[E]
}

// Terminal is the E of states that no other state follows. No type implements it.
type Terminal interface{ terminal(never) }

// never is the parameter of a method that no other package can declare.
type never struct{}

// To makes the results of a state. Its type parameter is the interface of the states that may follow.
type To[E any] struct{ _ [0]func() }

// Go moves on to the next state, whose Step is called in the same pass.
func (To[E]) Go(next E) Result[E] { return Result[E]{outcome{how: goes, next: next}} }

// Stay ends the pass in this state. The next pass takes place after a change of the object or of a source of the
// controller, and after the delay at the latest. A delay of 0 means no limit. One of less than a millisecond, or a
// negative one, such as the time until a moment that has passed, means a pass as soon as the back-off of the controller
// allows, whatever the other delays are. The reason is the message of the conditions, such as "waiting for 2 of 3
// replicas". A reason that changes with every pass causes a write each time.
func (To[E]) Stay(reason string, delay time.Duration) Result[E] {
	return Result[E]{outcome{how: stays, reason: reason}.after(delay)}
}

// after returns the outcome of a Step with a delay.
func (o outcome) after(delay time.Duration) outcome {
	if o.soon = delay != 0 && delay < shortestDelay; !o.soon {
		o.delay = delay
	}
	return o
}

// shortestDelay is the shortest exact delay. It is that of [controller.RequeueAfter].
const shortestDelay = time.Millisecond

// Idle ends the pass as Stay does, but the object is ready: the machine has nothing to do until a change or until the
// delay is over. Objects that no state declares any more are deleted, as after [Done]. In child machines and in the
// states of a deletion, Idle is Stay.
func (To[E]) Idle(reason string, delay time.Duration) Result[E] {
	return Result[E]{outcome{how: stays, idle: true, reason: reason}.after(delay)}
}

// Retry ends the pass with an error. The next pass takes place after the back-off of the controller, or at the deadline
// of the state if that is earlier. A [core.Terminal] error is not retried after a back-off.
func (To[E]) Retry(err error) Result[E] { return Result[E]{outcome{how: fails, err: err}} }

// Restart begins again at the initial state: in the same pass, or in the next one if this pass has already been there.
// Without [Options.Durable], each pass has, so it fails.
func (To[E]) Restart() Result[E] { return Result[E]{outcome{how: restarts}} }

// Done ends the pass of a terminal state with success: the object is ready. The next pass follows the next change.
func Done(To[Terminal]) Result[Terminal] { return Result[Terminal]{outcome{how: ends}} }

// Failed ends the pass of a terminal state without success: the object is not ready, and its condition Stalled is True,
// so that waits for it can end. The reason is the message of the conditions, and must not be empty. Otherwise it is
// like Done: the next pass follows the next change, objects that no state declares any more are deleted, and the object
// does not count as stuck. See [Join] for child machines. In the states of a deletion, Failed is [To.Retry]: the
// finalizer stays.
func Failed(to To[Terminal], reason string) Result[Terminal] {
	if reason == "" {
		return to.Retry(errors.New("Failed was called without a reason"))
	}
	return Result[Terminal]{outcome{how: ends, failed: true, reason: reason}}
}

// Result is the result of a Step. Its zero value is an error; use the methods of [To], [Done], or [Failed].
type Result[E any] struct{ outcome outcome }

// Event returns the result with an event for the users of the object, see [Options.Events]. It is recorded when the
// pass has been stored, and not again by passes that repeat the step with the same result. Results of [To.Stay],
// [To.Idle], [To.Retry] and [Failed] are the same if their texts differ only in numbers and durations, such as
// "2 of 3 replicas" and "after 1m30s".
func (r Result[E]) Event(e events.Event) Result[E] {
	r.outcome.event = &e
	return r
}

// outcome is a Result without its type.
type outcome struct {
	how    how
	next   any           // of goes
	reason string        // of stays, and of ends if it is failed
	text   string        // the reason or the error without what the state waits for, if the message begins with it
	delay  time.Duration // until the next pass at the latest, of stays and fails; 0 means no limit
	soon   bool          // of stays and fails: the next pass takes place as soon as the back-off allows
	idle   bool          // of stays: the object is ready
	failed bool          // of ends: it is without success
	err    error         // of fails
	event  *events.Event // or nil
}

// how is the way in which a Step ends.
type how uint8

const (
	unset how = iota
	goes
	stays
	fails
	restarts
	ends
)
