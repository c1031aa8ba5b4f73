// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/abi"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/watcher"
)

// decoder turns the items of a watch into events. The zero value is the state before the first item.
type decoder struct {
	seen bool // the host sends the versions that the guest has observed; otherwise those of objects are in order

	begun, listing bool
	version        string // the newest
}

// item calls yield with the events of an item. It returns false if yield does, and an error if the item is not valid.
func (d *decoder) item(data []byte, flags abi.Flags, yield func(watcher.Event) bool) (bool, error) {
	if flags&abi.FlagSyncBegin != 0 || !d.begun {
		d.begun, d.listing = true, true
		if !yield(watcher.Event{Type: watcher.Init}) {
			return false, nil
		}
	}
	before := d.version
	for len(data) > 0 {
		var ev watcher.Event
		var err error
		if ev, data, err = d.change(data); err != nil {
			return true, err
		}
		if ev.Type != 0 && !yield(ev) {
			return false, nil
		}
	}
	switch version := (watcher.Event{Head: wire.Head{ResourceVersion: d.version}}); {
	case flags&abi.FlagSynced != 0 && d.listing:
		d.listing = false
		version.Type = watcher.InitDone
		return yield(version), nil
	case !d.listing && d.version != before:
		version.Type = watcher.Bookmark
		return yield(version), nil
	}
	return true, nil
}

// change reads a change and returns the data after it. The event has no type if there is nothing to do.
func (d *decoder) change(data []byte) (ev watcher.Event, rest []byte, err error) {
	head, rest, ok := abi.CutFrame(data)
	if !ok {
		return ev, nil, fmt.Errorf("the host sent a change that is not complete: %w", abi.Invalid)
	}
	object, rest, ok := abi.CutFrame(rest)
	if !ok {
		return ev, nil, fmt.Errorf("the host sent an object that is not complete: %w", abi.Invalid)
	}
	var c abi.Change
	if err := wire.UnmarshalJSON(head, &c); err != nil {
		return ev, nil, fmt.Errorf("the host sent a change that is not valid: %w", err)
	}
	ev = watcher.Event{
		Head: wire.Head{
			Ref: core.ObjectRef{Namespace: c.Namespace, Name: c.Name},
			UID: types.UID(c.UID), ResourceVersion: c.ResourceVersion,
		},
		Object: wire.NewPacked(wire.JSON, object),
		Merged: c.Merged,
	}
	switch {
	case c.Type == abi.ChangeSeen:
		if _, err := strconv.ParseUint(c.ResourceVersion, 10, 64); err == nil {
			d.version = c.ResourceVersion // which is lower after a restore of etcd
		}
		return watcher.Event{}, rest, nil
	case c.Type != abi.ChangeSet && c.Type != abi.ChangeGone:
		return watcher.Event{}, rest, nil // of a later version of the interface
	case c.Name == "":
		return ev, nil, fmt.Errorf("the host sent a change without a name: %w", abi.Invalid)
	case c.Type == abi.ChangeGone:
		ev.Type, ev.Object = watcher.Delete, wire.Packed{}
	case len(object) == 0:
		return ev, nil, fmt.Errorf("the host sent %s without the object: %w", ev.Head.Ref, abi.Invalid)
	case d.listing:
		ev.Type = watcher.InitApply
	default:
		ev.Type = watcher.Apply
	}
	if !d.seen {
		d.observe(c.ResourceVersion)
	}
	return ev, rest, nil
}

// observe records a version, unless it is older than another one.
func (d *decoder) observe(version string) {
	now, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return
	}
	if before, err := strconv.ParseUint(d.version, 10, 64); err != nil || now > before {
		d.version = version
	}
}
