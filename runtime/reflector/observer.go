// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import "github.com/kube-go/sdk/core/wire"

// Observer is notified of the progress of a store. Its functions are called with a lock of the store held: they must be
// fast, and must not use the store.
type Observer struct {
	// Seen is called when the store has observed a resource version. Required.
	Seen func(version string)

	// Listed, if it is not nil, is called when the store has read a list of all objects, before Seen is called with the
	// list's version. A restored server may assign versions again after a list. For a [Remote], whose host may list again
	// without sending a list, it is also called when a version is lower than the last one.
	Listed func(version string)

	// Merged, if it is not nil, is called before Seen if objects may have been created and deleted since the last version
	// without a change: when the store has read a list, and for each version that a [Remote] sends, since the host merges
	// changes, and may itself have been disconnected.
	Merged func(version string)

	// Gone is called with the last state of an object that no longer exists, or that was replaced by another object of the
	// same name. The state is valid until Gone returns. Required.
	Gone func(object wire.Packed)

	// Size, if it is not nil, is called with the memory of the objects and of their indexes, in bytes, when it has
	// changed, also while a list is read. The first call is that of Observe. The memory is an estimate: it has the bytes
	// of the objects as they are kept, and a constant for each.
	Size func(bytes int64)
}

// observe notifies o of the table's progress until stop is called.
func (t *table) observe(o Observer) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observers[&o] = struct{}{}
	if t.version != "" {
		o.Seen(t.version)
	}
	if o.Size != nil {
		o.Size(t.size())
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.observers, &o)
	}
}

// seen notifies the observers of the table's version. The caller holds t.mu.
func (t *table) seen() {
	for o := range t.observers {
		o.Seen(t.version)
	}
}

// listed notifies the observers of a list. The caller holds t.mu.
func (t *table) listed(version string) {
	for o := range t.observers {
		if o.Listed != nil {
			o.Listed(version)
		}
	}
}

// merged notifies the observers of a version before which changes may be missing. The caller holds t.mu.
func (t *table) merged(version string) {
	for o := range t.observers {
		if o.Merged != nil {
			o.Merged(version)
		}
	}
}

// sized notifies the observers of the memory of the table. The caller holds t.mu.
func (t *table) sized() {
	for o := range t.observers {
		if o.Size != nil {
			o.Size(t.size())
		}
	}
}

// gone notifies the observers of an object that no longer exists. The caller holds t.mu.
func (t *table) gone(object wire.Packed) {
	for o := range t.observers {
		o.Gone(object)
	}
}
