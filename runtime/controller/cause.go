// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// CauseType is the type of a [Cause].
type CauseType string

// The types of causes.
const (
	CauseInitial      CauseType = "initial" // the object existed when the source began
	CauseAdded        CauseType = "added"
	CauseModified     CauseType = "modified"
	CauseDeleted      CauseType = "deleted"
	CauseRetry        CauseType = "retry"         // the last run failed
	CauseRequeue      CauseType = "requeue"       // the last run returned RequeueAfter
	CauseExternal     CauseType = "external"      // see [On]
	CauseReconcileAll CauseType = "reconcile-all" // see [Controller.ReconcileAll]
	CauseResharded    CauseType = "resharded"     // another replica has given the object to this one, see [Runner.Shard]
)

// Cause is an event that caused a run.
type Cause struct {
	Type CauseType

	// Source is the resource of the changed object. It is the zero value if no object has changed.
	Source core.Resource

	// Object is the changed object: the reconciled one, or one that concerns it. It is the reconciled object if none has
	// changed.
	Object Key

	event *event
}

// event is the part of a cause that the applier keeps.
type event struct {
	what   CauseType
	feed   *memberFeed // of the changed object; nil if no object has changed
	ref    core.ObjectRef
	change *reflector.Change // if Options.RecordChanges is set
	step   *step             // of a change that may be ignored, see session.ignoresOwn
}

// cause returns the cause of the runs of a key.
func (e *event) cause(key Key) Cause {
	if e.feed == nil {
		return Cause{Type: e.what, Object: key, event: e}
	}
	return Cause{Type: e.what, Source: e.feed.feed.Resource(), Object: Key{e.feed.feed.Cluster(), e.ref}, event: e}
}

// String describes the cause for logs, such as "modified secrets prod/password".
func (c Cause) String() string {
	if c.Source.Kind == "" {
		return string(c.Type)
	}
	return fmt.Sprintf("%s %s %s", c.Type, c.Source, c.Object)
}

// ChangedFields returns the fields that differ between the old and the new state of the object as JSON pointers, such
// as "/spec/replicas", sorted. The resource version is not among them. They are computed when ChangedFields is called.
//
// Errors: an error if [Options.RecordChanges] is not set, or an object can't be decoded. For a cause that is not a
// modification, ChangedFields returns nil.
func (c Cause) ChangedFields() ([]string, error) {
	switch {
	case c.Type != CauseModified:
		return nil, nil
	case c.event == nil || c.event.change == nil:
		return nil, fmt.Errorf("changed fields of %s: the states were not kept: set Options.RecordChanges", c.Object)
	}
	before, after := c.event.feed.source.kind(), c.event.feed.source.kind()
	change := c.event.change
	if err := errors.Join(decode(change.Old, before, c.Source), decode(change.New, after, c.Source)); err != nil {
		return nil, err
	}
	before.SetResourceVersion("")
	after.SetResourceVersion("")
	diff, err := patch.DiffJSON(before, after, nil)
	if err != nil {
		return nil, fmt.Errorf("changed fields of %s: %w", c.Object, err)
	}
	fields := make([]string, len(diff))
	for i, op := range diff {
		fields[i] = op.Path
	}
	slices.Sort(fields)
	return slices.Compact(fields), nil
}

// event returns the cause of the runs for a change.
func (f *memberFeed) event(c *reflector.Change, record bool) *event {
	e := &event{what: CauseModified, feed: f, ref: c.Ref}
	switch {
	case c.Initial:
		e.what = CauseInitial
	case c.Type == core.Added:
		e.what = CauseAdded
	case c.Type == core.Deleted:
		e.what = CauseDeleted
	}
	if record {
		kept := *c
		e.change = &kept
	}
	return e
}

// runOf returns the description of a run.
func runOf(item applier.Item[Key, *event]) Run {
	r := Run{Key: item.Key, Priority: item.Priority, Waited: item.Waited, MoreCauses: item.Dropped}
	r.Causes = make([]Cause, 0, 1+len(item.Others))
	r.Causes = append(r.Causes, item.Cause.cause(item.Key))
	for _, e := range item.Others {
		r.Causes = append(r.Causes, e.cause(item.Key))
	}
	return r
}
