// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/fsm"
)

// Replica is what the states of a replica's upgrade have in common.
type Replica struct {
	Index   int32           `json:"index"`
	Version string          `json:"version"`
	Last    bool            `json:"last,omitempty"` // the replica must get this version, however long it takes
	Timeout metav1.Duration `json:"timeout"`
}

// The states of the upgrade of a replica. Each replica has its own machine.
type (
	// Queue is a replica that waits for its turn.
	Queue struct {
		Replica `json:",inline"`
	}
	fromQueue interface{ fromQueue() }

	// Drain is a replica that gets no new clients.
	Drain struct {
		Replica `json:",inline"`
	}
	fromDrain interface{ fromDrain() }

	// Replace is a replica whose pod is being deleted.
	Replace struct {
		Replica `json:",inline"`
	}
	fromReplace interface{ fromReplace() }

	// Check is a replica whose new pod starts.
	Check struct {
		Replica `json:",inline"`
	}
	fromCheck interface{ fromCheck() }

	// Upgraded is a replica that serves with the new version.
	Upgraded struct {
		Index int32 `json:"index"`
	}

	// Broken is a replica that does not start with the new version.
	Broken struct {
		Reason string `json:"reason"`
	}
)

func (Drain) fromQueue()    {}
func (Check) fromQueue()    {}
func (Replace) fromDrain()  {}
func (Check) fromReplace()  {}
func (Upgraded) fromCheck() {}
func (Broken) fromCheck()   {}

// Step waits until all other replicas are available, so at most one is not.
func (s Queue) Step(c ctx, to fsm.To[fromQueue]) fsm.Result[fromQueue] {
	all, err := observe(c)
	switch {
	case err != nil:
		return to.Retry(err)
	case all[s.Index].version == s.Version:
		return to.Go(Check(s))
	case turn(all, s.Version) != s.Index:
		return to.Stay("it waits for its turn", time.Minute)
	}
	return to.Go(Drain(s))
}

// turn returns the index of the replica that is upgraded next. A replica that is not available comes first, since a
// second one must not be missing.
func turn(all []replica, version string) int32 {
	i := slices.IndexFunc(all, func(r replica) bool { return !r.available })
	if i < 0 {
		i = slices.IndexFunc(all, func(r replica) bool { return r.version != version })
	}
	return int32(i)
}

// Step takes the replica out of the service, and waits.
func (s Drain) Step(c ctx, to fsm.To[fromDrain]) fsm.Result[fromDrain] {
	r, err := read(c, s.Index)
	if err != nil {
		return to.Retry(err)
	}
	if rest := c.Obj.Spec.DrainTime.Duration - time.Since(c.Since()); rest > 0 && r.exists {
		c.Apply(server(c.Obj, s.Index, r.version, false))
		return to.Stay("its clients finish", rest)
	}
	return to.Go(Replace(s))
}

// Step deletes the pod, unless that has been done. The same pass can't declare it again.
func (s Replace) Step(c ctx, to fsm.To[fromReplace]) fsm.Result[fromReplace] {
	r, err := read(c, s.Index)
	switch {
	case err != nil:
		return to.Retry(err)
	case r.exists && r.version != s.Version:
		c.Delete(podOf(c.Obj, s.Index))
		return to.Stay("its old pod is being deleted", time.Minute)
	}
	return to.Go(Check(s))
}

// Step declares the new pod, and waits until it is available.
func (s Check) Step(c ctx, to fsm.To[fromCheck]) fsm.Result[fromCheck] {
	r, err := read(c, s.Index)
	switch {
	case err != nil:
		return to.Retry(err)
	case r.failed && s.Last:
		c.Delete(podOf(c.Obj, s.Index))
		return to.Stay("its pod has failed, and is replaced", time.Minute)
	case r.failed:
		return to.Go(Broken{Reason: "its pod has failed"})
	case !r.available && time.Since(c.Since()) >= s.Deadline(c) && !s.Last:
		return to.Go(Broken{Reason: fmt.Sprintf("its new pod is not available after %v", s.Timeout.Duration)})
	}
	c.Apply(server(c.Obj, s.Index, s.Version, true))
	if r.available {
		return to.Go(Upgraded{Index: s.Index})
	}
	return to.Stay("its new pod is not available", time.Minute)
}

// Deadline limits the start of the new pod.
func (s Check) Deadline(ctx) time.Duration { return s.Timeout.Duration }

// OnDeadline looks first: the pod may have become available while the program did not run.
func (s Check) OnDeadline(c ctx, to fsm.To[fromCheck]) fsm.Result[fromCheck] { return s.Step(c, to) }

// Step ends the machine of the replica.
func (Upgraded) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

// Step ends the machine of the replica.
func (Broken) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
