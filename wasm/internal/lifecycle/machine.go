// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/events"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// stalled is the type of the condition of objects that wait for a change by their users.
const stalled = "Stalled"

// maxError is the maximum length of an error in a status, in bytes. A guest chooses the text of its errors.
const maxError = 1024

type ctx = *fsm.Ctx[v1alpha1.WasmController]

// The states, each with the states that may follow it.
type (
	// Pulling reads the module from the registry or the file.
	Pulling     struct{}
	fromPulling interface{ fromPulling() }

	// Compiling passes the module to the host.
	Compiling     struct{}
	fromCompiling interface{ fromCompiling() }

	// Starting waits until the program of the module has started.
	Starting     struct{}
	fromStarting interface{ fromStarting() }

	// Running is a module that runs.
	Running     struct{}
	fromRunning interface{ fromRunning() }

	// BackOff is a module that the host starts again, after a failure or an error of the host.
	BackOff     struct{}
	fromBackOff interface{ fromBackOff() }

	// Quarantined is a module that can't run.
	Quarantined     struct{}
	fromQuarantined interface{ fromQuarantined() }

	// Stopped is an object that is suspended by its spec.
	Stopped     struct{}
	fromStopped interface{ fromStopped() }

	// Terminating is an object that is deleted.
	Terminating struct{}
)

func (Compiling) fromPulling()     {}
func (Stopped) fromPulling()       {}
func (Starting) fromCompiling()    {}
func (Quarantined) fromCompiling() {}
func (Running) fromStarting()      {}
func (BackOff) fromStarting()      {}
func (Quarantined) fromStarting()  {}
func (Starting) fromRunning()      {}
func (BackOff) fromRunning()       {}
func (Quarantined) fromRunning()   {}
func (Starting) fromBackOff()      {}
func (Running) fromBackOff()       {}
func (Quarantined) fromBackOff()   {}
func (Starting) fromQuarantined()  {}
func (Pulling) fromStopped()       {}

// newMachine returns the machine.
func newMachine(c *client.Client, name string, m *Modules) *fsm.Machine[v1alpha1.WasmController] {
	machine := fsm.New[v1alpha1.WasmController](c, name, &fsm.Options{
		Durable: true, Env: m, Conditions: []string{stalled}, Events: m.recorder,
	})
	fsm.Add(machine, Pulling{})
	fsm.Add(machine, Compiling{})
	fsm.Add(machine, Starting{})
	fsm.Add(machine, Running{})
	fsm.Add(machine, BackOff{})
	fsm.Add(machine, Quarantined{})
	fsm.Add(machine, Stopped{})
	fsm.OnDelete(machine, Terminating{})
	return machine
}

// Step reads the module. A program that starts again does so, too, since its host is empty.
func (Pulling) Step(c ctx, to fsm.To[fromPulling]) fsm.Result[fromPulling] {
	s, m := &c.Obj.Status, fsm.Env[*Modules](c)
	if c.Obj.Spec.Suspend {
		return to.Go(Stopped{})
	}
	// An object that was deleted without its finalizer may have had the same name.
	if !c.Planning() && m.hasOther(c.Obj) && !m.remove(nameOf(c.Obj)).done {
		return to.Stay("the module of a deleted object is being stopped", 0)
	}
	if err := m.check(&c.Obj.Spec); err != nil {
		s.LastError = shorten(err.Error())
		stall(c, "InvalidSpec", err.Error())
		return to.Stay(err.Error(), 0).Event(warning("InvalidSpec", err.Error()))
	}
	if c.Planning() {
		return to.Stay("the module must be read", 0)
	}
	r := m.pull(c.Obj)
	switch {
	case r.done:
		s.LastError = ""
		return to.Go(Compiling{}).Event(normal("Pulled", "read the module "+r.value))
	case r.err != nil:
		hindered(c, r)
		return to.Stay(s.LastError, r.wait)
	}
	return to.Stay("the module is being read", 0)
}

// Step waits until the host has compiled the module. A program that starts again may have other flags than the one that
// has entered the state, so the host may not be able to run the module any more: Pulling reports it.
func (Compiling) Step(c ctx, to fsm.To[fromCompiling]) fsm.Result[fromCompiling] {
	m := fsm.Env[*Modules](c)
	if m.check(&c.Obj.Spec) != nil {
		return to.Restart()
	}
	if c.Planning() {
		return to.Stay("the module must be compiled", 0)
	}
	r := m.set(c.Obj)
	switch {
	case !r.done && r.err == nil:
		return to.Stay("the module is being compiled", 0)
	case !r.done: // the module can't be read any more, or the host has an error of its own
		hindered(c, r)
		return to.Stay(c.Obj.Status.LastError, r.wait)
	}
	switch at := m.observe(c.Obj); {
	case at.rejected != nil:
		return to.Go(Quarantined{}).Event(warning("Rejected", at.rejected.Error()))
	case at.lost:
		return to.Restart()
	}
	return to.Go(Starting{}).Event(normal("Compiled", "compiled the module "+r.value))
}

// Step waits until the program has started.
func (Starting) Step(c ctx, to fsm.To[fromStarting]) fsm.Result[fromStarting] {
	at := follow(c)
	switch {
	case at.lost:
		return to.Restart()
	case at.quarantined():
		return to.Go(Quarantined{}).Event(at.event())
	case at.status.Phase == host.BackOff:
		return to.Go(BackOff{}).Event(at.event())
	case at.runs():
		return to.Go(Running{}).Event(normal("Started", "the module runs"))
	}
	return to.Stay("the module starts", checkAfter(c))
}

// Step looks after the module.
func (Running) Step(c ctx, to fsm.To[fromRunning]) fsm.Result[fromRunning] {
	at := follow(c)
	switch {
	case at.lost:
		return to.Restart()
	case at.quarantined():
		return to.Go(Quarantined{}).Event(at.event())
	case at.status.Phase == host.BackOff:
		return to.Go(BackOff{}).Event(at.event())
	case at.status.Phase == host.Starting:
		return to.Go(Starting{})
	case at.status.Blocked != nil:
		return to.Stay(shorten(at.status.Blocked.Error()), checkAfter(c))
	}
	return to.Idle("the module runs", checkAfter(c))
}

// Step waits until the host starts the module again.
func (BackOff) Step(c ctx, to fsm.To[fromBackOff]) fsm.Result[fromBackOff] {
	at := follow(c)
	switch {
	case at.lost:
		return to.Restart()
	case at.quarantined():
		return to.Go(Quarantined{}).Event(at.event())
	case at.runs():
		return to.Go(Running{}).Event(normal("Started", "the module runs again"))
	case at.status.Phase == host.Starting:
		return to.Go(Starting{})
	}
	return to.Stay(at.reason(), checkAfter(c))
}

// Step waits until the object or the file changes.
func (Quarantined) Step(c ctx, to fsm.To[fromQuarantined]) fsm.Result[fromQuarantined] {
	at := follow(c)
	switch {
	case at.lost:
		return to.Restart()
	case !at.quarantined():
		return to.Go(Starting{})
	}
	stall(c, "Quarantined", at.reason())
	return to.Stay(at.reason(), checkAfter(c))
}

// Step removes the module, and keeps the object stopped until its spec changes.
func (Stopped) Step(c ctx, to fsm.To[fromStopped]) fsm.Result[fromStopped] {
	s := &c.Obj.Status
	if !c.Obj.Spec.Suspend {
		return to.Go(Pulling{})
	}
	s.Failures, s.LastError = 0, ""
	if !c.Planning() && !fsm.Env[*Modules](c).remove(nameOf(c.Obj)).done {
		return to.Stay("the module is being stopped", 0)
	}
	return to.Stay("spec.suspend is true", 0)
}

// Step removes the module. The machine then removes the finalizer.
func (Terminating) Step(c ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	if !c.Planning() && !fsm.Env[*Modules](c).remove(nameOf(c.Obj)).done {
		return to.Stay("the module is being stopped", 0)
	}
	return fsm.Done(to)
}

// hindered reports that a module can't be read, or that the host has an error of its own. Each attempt has an event.
func hindered(c ctx, r result) {
	c.Obj.Status.LastError = shorten(r.err.Error())
	if !r.fresh {
		return
	}
	reason := "PullFailed"
	if _, ok := errors.AsType[hostFailure](r.err); ok {
		reason = "HostFailed"
	}
	fsm.Env[*Modules](c).recorder.Event(c.Obj, warning(reason, r.err.Error()))
}

// follow returns what the host does for the object, and copies it to the status.
func follow(c ctx) situation {
	at, s := fsm.Env[*Modules](c).observe(c.Obj), &c.Obj.Status
	if at.lost {
		return at
	}
	digest, failures := at.status.Digest, int32(at.status.Failures)
	if digest != "" && (entered(c) || digest != s.Digest || failures != s.Failures) {
		s.Stats = statsOf(at.status.Stats) // only now, so that counters do not cause writes
	}
	s.Digest, s.Failures, s.LastError = digest, failures, ""
	switch {
	case at.rejected != nil:
		s.LastError = shorten(at.rejected.Error())
	case at.status.Err != nil:
		s.LastError = shorten(at.status.Err.Error())
	}
	return at
}

// entered reports whether the pass has entered the current state.
func entered(c ctx) bool {
	stored := c.Obj.Status.FSM
	return stored == nil || !stored.Since.Time.Equal(c.Since())
}

// statsOf returns the counters of a module for its status.
func statsOf(s host.Stats) *v1alpha1.Stats {
	return &v1alpha1.Stats{
		Starts: int64(s.Starts), Calls: int64(s.Calls), Requests: int64(s.Requests), DroppedLogs: int64(s.Dropped),
		MemoryBytes: s.MemoryBytes, CacheBytes: s.CacheBytes,
	}
}

// runs reports whether the module has started. An unloaded one has.
func (s situation) runs() bool {
	return s.status.Phase == host.Running || s.status.Phase == host.Unloaded
}

// quarantined reports whether the module can't run.
func (s situation) quarantined() bool {
	return s.rejected != nil || s.status.Phase == host.Quarantined
}

// reason returns why the module does not run.
func (s situation) reason() string {
	switch {
	case s.rejected != nil && s.status.Digest != "":
		return shorten(fmt.Sprintf("the host can't run the module: %v; the previous module %s runs",
			s.rejected, s.status.Digest))
	case s.rejected != nil:
		return shorten(fmt.Sprintf("the host can't run the module: %v", s.rejected))
	}
	if s.status.Failures == 0 {
		return shorten(fmt.Sprint(s.status.Err)) // nil while the module is removed
	}
	return shorten(fmt.Sprintf("failed %d times; last error: %v", s.status.Failures, s.status.Err))
}

// event returns the event of a module that has failed.
func (s situation) event() events.Event {
	if s.quarantined() {
		return warning("Quarantined", s.reason())
	}
	return warning("BackOff", s.reason())
}

// checkAfter returns when the next pass takes place at the latest. The changes of files are not reported.
func checkAfter(c ctx) time.Duration {
	if c.Obj.Spec.File != "" {
		return fileCheck
	}
	return 0
}

// stall sets the condition of an object that waits for its users.
func stall(c ctx, reason, message string) {
	c.SetCondition(metav1.Condition{
		Type: stalled, Status: metav1.ConditionTrue, Reason: reason, Message: shorten(message),
	})
}

func normal(reason, note string) events.Event { return events.Event{Reason: reason, Note: note} }

func warning(reason, note string) events.Event {
	return events.Event{Type: events.Warning, Reason: reason, Note: shorten(note)}
}

// shorten returns the beginning of a text.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxError {
		return text
	}
	return strings.ToValidUTF8(text[:maxError-len("…")], "") + "…"
}
