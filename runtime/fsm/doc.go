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
// A transition to a state that is not in the list does not compile, neither does a transition from a terminal state,
// and neither does the use of another state's To. [Machine.Graph] returns the same transitions as a graph, for
// diagrams.
//
// # A pass
//
// Each run of the controller is one pass. The machine calls Step of one state after the other until a state stays, is
// done or fails. A Step observes what exists and acts on it; it must not wait, since the pass ends with [To.Stay], and
// a change or the end of the delay begins the next one. So no goroutine belongs to an object, and a restart of the
// program loses nothing.
//
// A pass begins at the initial state, so all steps before the last one are repeated and must be idempotent. With
// [Options.Durable], it begins at the stored state, see below.
//
// # The kind
//
// The kind embeds [machine.Status] in its status, inline:
//
//	type DatabaseStatus struct {
//		machine.Status `json:",inline"`
//
//		Endpoint string `json:"endpoint,omitempty"`
//	}
//
// A Step may change the other fields of c.Obj.Status. At the end of the pass, the machine writes the status once, by
// server-side apply with its name as the field manager, and only if it has changed. The machine owns the whole status,
// except conditions of other types: it also replaces and removes what a plain reconcile has written before. So the
// objects of a kind have one machine, whose name never changes, and other controllers do not write the status. A pass
// for an object of another machine is an error.
//
// # Conditions
//
// Each state has a condition of its name: True if the pass has left it or it is done or idle, False if it stays or has
// failed, and Unknown with the reason NotReached otherwise. Ready is True if the last state is done or idle: [To.Idle]
// is for states that wait for their next task, such as the next backup. The lastTransitionTime of a condition changes
// only with its status. While an object is deleted, it has the conditions of the states of [OnDelete] instead, and
// Ready is False.
//
// # Durable machines
//
// With [Options.Durable], a state that was reached is not repeated: the next pass begins there. The machine stores the
// name and the fields of the state in status.fsm, as JSON. A state with a method
//
//	Verify(c *fsm.Ctx[K]) error
//
// can refuse to continue: if it returns an error, the error is logged, and the pass begins at the initial state. So
// does a pass whose stored state is unknown or can't be decoded. [Options.Renamed] has the new names of renamed states.
//
// When the object's generation has changed, so has its spec, and the pass begins at the initial state. A state with a
// method
//
//	OnSpecChange(c *fsm.Ctx[K], to fsm.To[E]) fsm.Result[E]
//
// decides otherwise: the method is called instead of Step. It can return s.Step(c, to) to continue, to.Go for a
// transition, or to.Restart.
//
// # Deadlines
//
// A state with the methods
//
//	Deadline(c *fsm.Ctx[K]) time.Duration
//	OnDeadline(c *fsm.Ctx[K], to fsm.To[E]) fsm.Result[E]
//
// has a limited time: when the machine has been in the state for that long, OnDeadline is called instead of Step. A
// pass takes place then, even if nothing changes, and also if Step fails and the back-off is longer. A time of 0 means
// no limit. The time continues while the object is suspended.
//
// # Outputs
//
// A Step declares the objects that should exist with [Ctx.Apply], also if it stays:
//
//	func (s Provision) Step(c *fsm.Ctx[v1.Database], to fsm.To[fromProvision]) fsm.Result[fromProvision] {
//		c.Apply(inventory.Declaration{Object: statefulSet(c.Obj)})
//		…
//	}
//
// The machine applies them after the Step, by server-side apply with its name as the field manager. It sends nothing
// for an object that has all declared values, and repairs fields that others have changed. Package inventory has the
// rules for owners. When the machine is done or idle, it deletes the objects that no state declares any more. The
// inventory in the status names the objects before they are created, so a crash at any point loses none. An object with
// declared objects has a finalizer: they are deleted before it, also those in other namespaces. A durable machine
// repeats only the declarations of its current state; the objects of the states that it has passed are kept as they
// are.
//
// [Ctx.Get] reads objects, [Options].Env has what the steps need besides, and [Machine.Plan] returns what a pass would
// do.
//
// # Child machines
//
// A state can run a [Group] of child machines in parallel, such as one for each replica. Each child has its own state
// and condition, [Join] waits for all of them, and [Ended] returns their terminal states, whose fields are the results.
//
// # Signals
//
// [Send] sends a value to an object, such as that a backup is finished. [Received] returns it in a Step; a state that
// asks for a type and stays waits for it, so a value of this type starts a pass. Other values are kept for a later
// state. A signal is never the only way to find out.
//
// # Deletion
//
// [OnDelete] adds the states of a deletion. The machine then keeps a finalizer of its name on each object, and a
// deleted object begins at the first of these states, whichever state it was in. When they are done, the declared
// objects are deleted, also those that these states have declared, and then the finalizer is removed. The status
// records that the states are done, so no later pass calls a state that declares its objects again. A machine without
// states for deletions has a finalizer only on objects that have declared others.
//
// # Suspension
//
// For an object with the annotation of a [machine.Suspension], no Step is called until the suspension ends. The machine
// writes only its finalizer and the condition Suspended, which has the reason. An annotation that can't be parsed
// suspends the object, too, and is an error.
//
// # Events, metrics and traces
//
// [Result.Event] adds an event for the users of the object to a result, [Options.StuckAfter] reports objects that stay
// in a state for too long, and [Options.OnStep] is called around each step.
//
// [Machine.Overview] returns the graph with the numbers of the objects in each state and of the transitions, and
// [Machine.Positions] where each object is. They need about 200 bytes of memory for each object. The controller reports
// deleted objects to the machine, so nothing needs to be wired. Packages contrib/prometheus and contrib/otel make
// metrics and spans of them.
//
// # Errors
//
// [Machine.Check] finds mistakes in the machine, such as states that can't be reached. Reconcile returns them as
// [controller.Terminal] errors, and calls no Step. The error of a Step is written to the conditions, and the controller
// logs it and retries. A panic of a Step is an error of the run; the status is not written.
//
// # Concurrency
//
// A [Machine] and its groups are built in one goroutine: [Add], [OnDelete] and [NewGroup] must not be called after the
// machine is in use. Then the methods of the machine and [Send] are safe for concurrent use. Passes of different
// objects take place at the same time, so the same state has steps in several goroutines: what they share, such as
// [Options].Env, must be safe for concurrent use.
//
// All steps of a pass, also those of child machines, are called one after the other in the goroutine of the pass. A
// [Ctx] belongs to the Step: a goroutine that the Step starts must not use it, and it is not valid after the Step has
// returned. A controller makes one pass of an object at a time. If passes of two programs overlap, such as those of an
// old and a new leader, the server rejects the write of the one that has read the older state: it fails with
// [core.ErrConflict], and the next one begins with the newer state.
//
// # Permissions
//
// The controller needs the verb patch for the kind and for its status, get for the kind, and the permissions of package
// inventory for the kinds that states declare.
package fsm
