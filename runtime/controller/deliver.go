// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/applier"
	"github.com/kube-go/sdk/runtime/reflector"
)

// wrote records a write whose change the feed will deliver. If ignored, the write was made with [WithoutRun].
func (f *memberFeed) wrote(s *session, w ownWrite, ignored bool) {
	f.mu.Lock()
	observed := f.version.Load()
	check := f.unobserved.wrote(w, observed)
	if s.ignoresOwn(f) && (ignored || s.opts.IgnoreOwnWrites) {
		f.own.wrote(w, observed)
	}
	f.mu.Unlock()
	if check {
		f.addLost(s, []ownWrite{w})
	}
}

// ignoresOwn reports whether changes of a feed that only runs have made can be ignored.
func (s *session) ignoresOwn(f *memberFeed) bool {
	_, mapped := s.stages[f.source]
	return (s.opts.IgnoreOwnWrites || s.ignoring.Load()) && !mapped
}

// addLost adds the keys that have written objects that the feed does not contain, although it has observed the writes.
// Somebody has deleted the objects, and no change reports it.
func (f *memberFeed) addLost(s *session, list []ownWrite) {
	for _, w := range list {
		if !f.contains(w.ref, w.uid) {
			s.applier.Add(w.key, applier.Normal, &event{what: CauseDeleted, feed: f, ref: w.ref})
		}
	}
}

// deliver records that the feed has delivered a change. It adds the keys whose written objects have disappeared. It
// returns the step of the change if the change may be ignored.
func (f *memberFeed) deliver(s *session, c *reflector.Change) *step {
	ignores := s.ignoresOwn(f)
	f.mu.Lock()
	expected := len(f.unobserved.byRef[c.Ref]) > 0
	f.mu.Unlock()
	if !ignores && !expected {
		return nil
	}
	at, ok := stepOf(*c)
	if !ok {
		return nil
	}
	f.mu.Lock()
	lost := f.unobserved.changed(c.Ref, at)
	f.mu.Unlock()
	for _, key := range lost {
		s.applier.Add(key, applier.Normal, &event{what: CauseDeleted, feed: f, ref: c.Ref})
	}
	goes := c.Type == core.Deleted && f.source == s.sources[0] // and OnGone has to be called
	if !ignores || c.Initial || goes {
		return nil
	}
	return &at
}

// isOwn reports whether a run has no cause but writes of earlier runs of the key. The retry of a failed run is another
// cause. The writes of a run are recorded when it ends, which is before the next run begins.
func isOwn(item applier.Item[Key, *event]) bool {
	own := item.Cause.isOwn(item.Key)
	for _, e := range item.Others {
		own = e.isOwn(item.Key) && own // each cause is taken
	}
	return own && item.Dropped == 0
}

// isOwn reports whether the change consists only of writes by the runs of a key.
func (e *event) isOwn(key Key) bool {
	if e.step == nil {
		return false
	}
	e.feed.mu.Lock()
	defer e.feed.mu.Unlock()
	return e.feed.own.take(key, e.ref, *e.step)
}

// isOld reports whether a change is the existing state of an object, which has the priority of initial objects. An
// object that has changed since the subscription began, and before it was delivered, is delivered with its new state
// only: it is a change like those that follow.
func (f *memberFeed) isOld(c *reflector.Change) bool {
	if !c.Initial || f.began == 0 || f.version.Load() == f.began { // nothing has changed
		return c.Initial
	}
	head, err := c.New.Head()
	return err != nil || versionOf(head.ResourceVersion) <= f.began
}
