// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package fsm reconciles objects with finite state machines whose transitions the compiler checks.
//
// A state is a struct. The type of its result lists the states that may follow it: an interface that only these states
// implement.
//
//	type Provision struct{}
//	type Serve struct{}
//
//	type fromProvision interface{ fromProvision() }
//
//	func (Serve) fromProvision() {} // Serve may follow Provision
//
//	func (Provision) Step(c *fsm.Ctx[v1.Database], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
//		if c.Obj.Status.Replicas < c.Obj.Spec.Replicas {
//			return to.Stay("waiting for replicas", time.Minute)
//		}
//		return to.Go(Serve{})
//	}
//
//	func (Serve) Step(c *fsm.Ctx[v1.Database], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
//		return fsm.Done(to)
//	}
//
//	m := fsm.New[v1.Database](c, "example.com/database", nil)
//	fsm.Add(m, Provision{}) // the first state is the initial one
//	fsm.Add(m, Serve{})
//	err := ctl.Run(ctx, m.Reconcile)
//
// A transition to a state that is not in the list does not compile, nor does a transition from a terminal state or the
// use of another state's To. [Machine.Graph] returns the same transitions as a graph, for diagrams.
//
// [Machine] describes the passes, the status, the conditions, and programs for several clusters.
//
// # Features
//
//   - A durable machine, see [Options.Durable], continues at the stored state. [State] has the methods that check it,
//     react to a changed spec, and limit the time in a state.
//   - [Ctx.Apply] declares the objects that should exist, and [Ctx.Get] reads others. [Machine.Plan] returns what a
//     pass would do.
//   - A [Group] runs child machines in parallel, such as one for each replica.
//   - [Send] sends a value to an object, for example when a backup is finished.
//   - [OnDelete] adds the states of a deletion.
//   - A [machine.Suspension] suspends an object: no Step is called for it.
//   - [Machine.Overview] and [Machine.Positions] show what the objects are doing, for metrics and debug pages.
//
// https://github.com/kube-go/sdk/blob/main/docs/state-machines.md says when to use a machine, and has a table of what a
// state can have.
//
// # Errors
//
// [Machine.Check] finds mistakes in the machine, such as states that can't be reached. Reconcile returns them as
// [core.Terminal] errors, and calls no Step. The error of a Step is written to the conditions, and the controller
// logs it and retries. A panic of a Step is an error of the run; the status is not written.
//
// # Concurrency
//
// Passes of different objects take place at the same time, so the same state has steps in several goroutines: what they
// share, such as [Options].Env, must be safe for concurrent use. All steps of a pass, including those of child
// machines, are called one after the other in the goroutine of the pass.
package fsm
