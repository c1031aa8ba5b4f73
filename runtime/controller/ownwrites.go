// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/runtime/reflector"
)

const (
	// maxChain is the maximum number of versions of a chain.
	maxChain = 16
	// minPruned is the number of chains from which it is worth looking for those to remove.
	minPruned = 1000
	// maxUnobserved is the maximum number of objects whose writes are remembered for a feed, which may never be synced.
	maxUnobserved = 100_000
)

// ownWrite is a write of an object by a run of a key.
type ownWrite struct {
	key     Key
	ref     core.ObjectRef
	uid     types.UID
	base    uint64 // the version from which the write was made in one step, if known is true; 0 if it created the object
	known   bool
	version uint64
	deleted bool // the write has deleted the object; it has no version then
	removed bool // the run itself has deleted the object after this write
}

// step is the versions and UIDs of the two states of a change. Those of a state that does not exist are zero.
type step struct {
	old, new       uint64
	oldUID, newUID types.UID
}

// stepOf returns the step of a change. It returns false if a state can't be read.
func stepOf(c reflector.Change) (s step, ok bool) {
	if c.Old.Exists() {
		head, err := c.Old.Head()
		s.old, s.oldUID, ok = versionOf(head.ResourceVersion), head.UID, err == nil
		if !ok {
			return step{}, false
		}
	}
	if c.New.Exists() {
		head, err := c.New.Head()
		s.new, s.newUID, ok = versionOf(head.ResourceVersion), head.UID, err == nil && head.UID != ""
	}
	return s, ok
}

// versionOf returns a resource version as a number, or 0 if it is not a number.
func versionOf(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// makeRoom forgets any one of the other objects if there are maxUnobserved.
func makeRoom[T any](byRef map[core.ObjectRef][]T, ref core.ObjectRef) {
	if _, known := byRef[ref]; known || len(byRef) < maxUnobserved {
		return
	}
	for other := range byRef {
		delete(byRef, other)
		return
	}
}

// unobserved is the writes of a controller's runs that a feed has not observed yet. Each method is one step. It reports
// which written object has disappeared without a change. This happens if it is deleted before the feed, which was
// disconnected, lists the objects again: neither the old nor the new list has the object. It also happens if the host
// of a WebAssembly module has merged the creation and the deletion.
type unobserved struct {
	byRef  map[core.ObjectRef][]ownWrite // the last write of each key
	merged uint64                        // the last version before which changes may be missing
}

// wrote records a write after the feed has observed a version. It reports whether the change may be missing, so that
// the caller must check whether the object still exists.
func (u *unobserved) wrote(w ownWrite, observed uint64) (check bool) {
	switch {
	case w.deleted || w.removed || w.known && w.base == w.version: // it has no object, or has written nothing
		return false
	case w.version <= u.merged:
		return true
	case w.version <= observed: // as a change
		return false
	}
	if u.byRef == nil {
		u.byRef = make(map[core.ObjectRef][]ownWrite)
	}
	u.remove(w.ref, func(o ownWrite) bool { return o.key == w.key })
	makeRoom(u.byRef, w.ref)
	u.byRef[w.ref] = append(u.byRef[w.ref], w)
	return false
}

// remove removes writes of an object.
func (u *unobserved) remove(ref core.ObjectRef, unwanted func(ownWrite) bool) {
	if rest := slices.DeleteFunc(u.byRef[ref], unwanted); len(rest) > 0 {
		u.byRef[ref] = rest
	} else {
		delete(u.byRef, ref)
	}
}

// changed records that the feed has delivered a change of an object. It returns the keys whose written object was
// replaced, although no change has it.
func (u *unobserved) changed(ref core.ObjectRef, s step) (lost []Key) {
	u.remove(ref, func(w ownWrite) bool {
		switch {
		case s.newUID == "":
			return s.oldUID == w.uid
		case s.new < w.version:
			return false
		case s.newUID != w.uid && s.oldUID != w.uid:
			lost = append(lost, w.key)
		}
		return true
	})
	return lost
}

// merge records a version before which changes may be missing. It returns the writes that the feed has observed unless
// their objects have disappeared.
func (u *unobserved) merge(version uint64) (check []ownWrite) {
	u.merged = version
	for ref := range u.byRef {
		u.remove(ref, func(w ownWrite) bool {
			if w.version > version {
				return false
			}
			check = append(check, w)
			return true
		})
	}
	return check
}

// ownSteps is the writes of a controller's runs that have to be recognized in the changes that a feed delivers. Each
// method is one step. A change counts as one of a key only if no other write lies between its two states. Changes by
// forgotten writes cause runs.
type ownSteps struct {
	byRef  map[core.ObjectRef][]*chain
	listed uint64 // the version of the last list
	most   int    // the number of objects from which chains are removed that the feed has observed
}

// chain is the successive writes of one object by the runs of one key.
type chain struct {
	key Key
	uid types.UID

	// versions are those before and after writes that nothing lies between, in order. The first write may have been made
	// from an unknown version; then the version after it is the first.
	versions []uint64

	deleted bool // by the last write; versions is empty if the key has made no other write
}

// last returns the version of the last write, or 0.
func (c *chain) last() uint64 {
	if len(c.versions) == 0 {
		return 0
	}
	return c.versions[len(c.versions)-1]
}

// wrote records a write after the feed has observed a version.
func (o *ownSteps) wrote(w ownWrite, observed uint64) {
	o.prune(observed)
	chains := o.byRef[w.ref]
	i := slices.IndexFunc(chains, func(c *chain) bool { return c.key == w.key })
	same := i >= 0 && chains[i].uid == w.uid
	switch {
	case w.deleted && same:
		chains[i].deleted = true
	case w.deleted:
		o.set(w.ref, i, &chain{key: w.key, uid: w.uid, deleted: true})
	case w.known && w.base == w.version: // nothing was written
	case w.version <= o.listed: // a restored server may have assigned the version again
	case same && w.version <= chains[i].last(): // the responses to two writes have overtaken each other
	case same && w.known && w.base == chains[i].last():
		c := chains[i]
		c.versions = append(c.versions[max(0, len(c.versions)+1-maxChain):], w.version)
		c.deleted = c.deleted || w.removed
	default:
		o.set(w.ref, i, w.chain())
	}
}

// chain returns the chain of a single write.
func (w ownWrite) chain() *chain {
	c := &chain{key: w.key, uid: w.uid, versions: []uint64{w.version}, deleted: w.removed}
	if w.known {
		c.versions = []uint64{w.base, w.version}
	}
	return c
}

// set replaces a chain of an object, or adds one if i is negative.
func (o *ownSteps) set(ref core.ObjectRef, i int, c *chain) {
	if i >= 0 {
		o.byRef[ref][i] = c
		return
	}
	if o.byRef == nil {
		o.byRef = make(map[core.ObjectRef][]*chain)
	}
	makeRoom(o.byRef, ref)
	o.byRef[ref] = append(o.byRef[ref], c)
}

// take reports whether a change of an object consists only of writes by the runs of a key. Writes before the change are
// forgotten: the caller passes the changes of a key in order.
func (o *ownSteps) take(key Key, ref core.ObjectRef, s step) (own bool) {
	chains := slices.DeleteFunc(o.byRef[ref], func(c *chain) bool {
		if c.key != key {
			return false
		}
		if s.newUID == "" {
			own = c.deleted && s.oldUID == c.uid
			return s.oldUID == c.uid
		}
		from, to := slices.Index(c.versions, s.old), slices.Index(c.versions, s.new)
		if own = s.newUID == c.uid && from >= 0 && from < to; own {
			c.versions = c.versions[to:]
		}
		return s.new >= c.last() && (!c.deleted || s.newUID != c.uid)
	})
	if len(chains) == 0 {
		delete(o.byRef, ref)
	} else {
		o.byRef[ref] = chains
	}
	return own
}

// list records that the feed has listed the objects. All earlier writes cause runs, since a restored server assigns
// versions again.
func (o *ownSteps) list(version uint64) {
	o.byRef, o.listed = nil, version
}

// prune removes the chains that the feed has observed if there are many. They remain if no change of the object is one
// for the key. If a change was not delivered yet, it causes a run.
func (o *ownSteps) prune(observed uint64) {
	if len(o.byRef) < o.most {
		return
	}
	for ref, chains := range o.byRef {
		chains = slices.DeleteFunc(chains, func(c *chain) bool { return c.last() <= observed })
		if len(chains) == 0 {
			delete(o.byRef, ref)
		} else {
			o.byRef[ref] = chains
		}
	}
	o.most = max(minPruned, 2*len(o.byRef))
}
