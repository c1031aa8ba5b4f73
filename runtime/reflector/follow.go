// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"

	"github.com/kube-go/sdk/core"
)

// followers are the functions that receive each change of a table, see [Store.Follow]. They are used with the table's
// writing held.
type followers struct {
	all     map[*func(Change)]struct{}
	changes []Change // to deliver when the table's mu is not held
}

// add adds a change of an object. synced is true if the Bookmark was added.
func (fs *followers) add(c Change, synced bool) {
	if len(fs.all) == 0 {
		return
	}
	c.Ref = detached(c.Ref)
	switch {
	case !c.New.Exists():
		c.Type = core.Deleted
	case !c.Old.Exists():
		c.Type, c.Initial = core.Added, !synced
	default:
		c.Type = core.Modified
	}
	fs.changes = append(fs.changes, c)
}

// markSynced adds the Bookmark.
func (fs *followers) markSynced() {
	if len(fs.all) > 0 {
		fs.changes = append(fs.changes, Change{Type: core.Bookmark})
	}
}

// deliver calls the followers with the changes. The caller holds t.writing.
func (t *table) deliver() {
	fs := &t.followers
	changes := fs.changes
	fs.changes = nil
	for _, c := range changes {
		for f := range fs.all {
			(*f)(c)
		}
	}
	if cap(changes) == 1 { // it is not from a list
		clear(changes)
		fs.changes = changes[:0]
	}
}

// follow calls f with the changes, see [Store.Follow], for readers of a form.
func (t *table) follow(ctx context.Context, form uint64, f func(Change)) error {
	if err := t.awaitForm(ctx, form); err != nil {
		return err
	}
	t.addFollower(ctx, &f)
	defer t.removeFollower(&f)
	err := t.await(ctx, &waiter{list: func() bool { return false }})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// addFollower calls f with the existing objects, and adds it to the followers. The watch continues meanwhile: it waits
// only for the changes that are left when all existing objects were delivered.
func (t *table) addFollower(ctx context.Context, f *func(Change)) {
	initial := t.subscribe(subscription{})
	defer t.unsubscribe(initial)
	deliver := func() {
		for ctx.Err() == nil {
			c, ok, _ := t.next(initial)
			if !ok {
				return
			}
			(*f)(c)
		}
	}
	deliver()
	t.writing.Lock()
	defer t.writing.Unlock()
	deliver()
	t.followers.all[f] = struct{}{}
}

func (t *table) removeFollower(f *func(Change)) {
	t.writing.Lock()
	defer t.writing.Unlock()
	delete(t.followers.all, f)
}
