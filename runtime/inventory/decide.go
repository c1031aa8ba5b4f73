// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core/machine"
)

// whose is whom an existing object belongs to.
type whose int

const (
	nobodys whose = iota // it has neither a controller nor an annotation
	ours                 // it has the owner reference or the annotation of the owner
	formers              // it has the annotation of an object with the owner's name, but another UID
	others               // it has another controller, or the annotation of another owner
)

// state is the state of an existing object.
type state struct {
	uid      types.UID
	whose    whose
	deleting bool
	current  bool // it has every declared value; not used for removals
}

// action is the next change of an object.
type action int

const (
	keep   action = iota // nothing
	create               // apply it without a UID and without force
	apply                // apply it with the UID of the existing object and force
	remove               // delete it by the UID of the existing object
	forget               // remove its item from the inventory
	await                // it is being deleted
	refuse               // it belongs to somebody else
)

// decide returns what to do about a declared object. Item is the zero Item if the inventory has none. Live is nil if
// the object does not exist.
func decide(d *declared, item machine.Item, live *state) action {
	switch {
	case live == nil:
		return create
	case !accepts(d, item, live):
		return refuse
	case live.deleting:
		return await
	case live.whose == ours && live.current && item.Hash == d.hash:
		return keep
	}
	return apply
}

// accepts reports whether an existing object may be changed.
func accepts(d *declared, item machine.Item, live *state) bool {
	switch live.whose {
	case ours:
		return true
	case nobodys: // somebody may have removed the owner reference or the annotation of an object that is ours
		return d.Adopt || item.UID == live.uid
	case formers:
		return d.Adopt
	default:
		return false
	}
}

// decideRemoval returns what to do about an object that should not exist. Live is nil if it does not exist.
func decideRemoval(item machine.Item, live *state) action {
	switch {
	case live == nil:
		return forget
	case live.whose != ours && (live.whose != nobodys || live.uid != item.UID):
		return forget
	case live.deleting:
		return await
	}
	return remove
}
