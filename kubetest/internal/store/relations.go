// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// relations finds objects without a search of all objects.
type relations struct {
	known      index // by UID
	dependents index // by the UID of an owner
	deleted    set   // have a deletion timestamp
}

type (
	index map[types.UID]set
	set   map[Key]struct{}
)

func newRelations() relations {
	return relations{known: make(index), dependents: make(index), deleted: make(set)}
}

// set replaces the state of an object. Both may be nil.
func (r *relations) set(key Key, from, to *unstructured.Unstructured) {
	if from != nil {
		r.known.remove(from.GetUID(), key)
		for _, owner := range from.GetOwnerReferences() {
			r.dependents.remove(owner.UID, key)
		}
		delete(r.deleted, key)
	}
	if to == nil {
		return
	}
	r.known.add(to.GetUID(), key)
	for _, owner := range to.GetOwnerReferences() {
		r.dependents.add(owner.UID, key)
	}
	if to.GetDeletionTimestamp() != nil {
		r.deleted[key] = struct{}{}
	}
}

func (x index) add(uid types.UID, key Key) {
	if x[uid] == nil {
		x[uid] = make(set)
	}
	x[uid][key] = struct{}{}
}

func (x index) remove(uid types.UID, key Key) {
	delete(x[uid], key)
	if len(x[uid]) == 0 {
		delete(x, uid)
	}
}

// sorted returns the keys in a fixed order.
func (s set) sorted() []Key { return slices.SortedFunc(maps.Keys(s), Compare) }

// ByUID returns the object with a UID, or nil.
func (tx *Tx) ByUID(uid types.UID) *unstructured.Unstructured {
	for key := range tx.store.relations.known[uid] {
		return tx.Get(key)
	}
	return nil
}

// Dependents returns the objects that name the object with a UID as an owner, in a fixed order.
func (tx *Tx) Dependents(uid types.UID) []Key { return tx.store.relations.dependents[uid].sorted() }

// Affected returns the objects that may have to change because of the changes of the transaction, in a fixed order: the
// changed objects, their dependents, and all deleted objects.
func (tx *Tx) Affected() []Key {
	affected := maps.Clone(tx.store.relations.deleted)
	for _, c := range tx.changes {
		if c.New != nil {
			affected[c.Key] = struct{}{}
		}
		for _, obj := range []*unstructured.Unstructured{c.Old, c.New} {
			if obj != nil {
				maps.Copy(affected, tx.store.relations.dependents[obj.GetUID()])
			}
		}
	}
	maps.DeleteFunc(affected, func(key Key, _ struct{}) bool { return tx.Get(key) == nil })
	return affected.sorted()
}
