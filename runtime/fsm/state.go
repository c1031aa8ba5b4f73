// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"time"

	"github.com/kube-go/sdk/runtime/events"
)

// State is a state of a machine for the kind K. It is a struct; its exported fields are stored if the machine is
// durable. E is an interface that the possible next states implement, or [Terminal].
//
// A state may have further methods: Verify, OnSpecChange, Deadline and OnDeadline, see the package comment.
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
// controller, and after the delay at the latest. A delay of 0 means no limit. The reason is the message of the
// conditions, such as "waiting for 2 of 3 replicas". A reason that changes with every pass causes a write each time.
func (To[E]) Stay(reason string, delay time.Duration) Result[E] {
	return Result[E]{outcome{how: stays, reason: reason, delay: delay}}
}

// Idle ends the pass as Stay does, but the object is ready: the machine has nothing to do until a change or until the
// delay is over. Objects that no state declares any more are deleted, as after [Done]. In child machines and in the
// states of a deletion, Idle is Stay.
func (To[E]) Idle(reason string, delay time.Duration) Result[E] {
	return Result[E]{outcome{how: stays, idle: true, reason: reason, delay: delay}}
}

// Fail ends the pass with an error. The next pass takes place after the back-off of the controller, or at the deadline
// of the state if that is earlier.
func (To[E]) Fail(err error) Result[E] { return Result[E]{outcome{how: fails, err: err}} }

// Restart begins again at the initial state, in the same pass.
func (To[E]) Restart() Result[E] { return Result[E]{outcome{how: restarts}} }

// Done ends the pass of a terminal state with success: the object is ready. The next pass follows the next change.
func Done(To[Terminal]) Result[Terminal] { return Result[Terminal]{outcome{how: ends}} }

// Result is what a Step returns. Its zero value is an error; use the methods of [To], or [Done].
type Result[E any] struct{ outcome outcome }

// Event returns the result with an event for the users of the object, see [Options.Events]. It is recorded when the
// pass has been stored, and not again by passes that repeat the step with the same result.
func (r Result[E]) Event(e events.Event) Result[E] {
	r.outcome.event = &e
	return r
}

// outcome is a Result without its type.
type outcome struct {
	how    how
	next   any           // of goes
	reason string        // of stays
	delay  time.Duration // until the next pass at the latest, of stays and fails; 0 means no limit
	idle   bool          // of stays: the object is ready
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
