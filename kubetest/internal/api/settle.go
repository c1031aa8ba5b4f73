// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// consequence is a change that follows from the deletion of another object, or of the object itself.
type consequence struct {
	key       store.Key
	deletion  metav1.DeletionPropagation // delete the object with this policy
	owners    []types.UID                // remove these owner references
	finalizer string                     // remove this finalizer
	empty     bool                       // the namespace has no objects any more
}

// settle does at once what the garbage collector and the controllers of namespaces and definitions do in a cluster.
func (w *write) settle() {
	for {
		all := w.consequences(w.tx.Affected())
		if len(all) == 0 {
			return
		}
		for _, c := range all {
			w.effect(c)
		}
	}
}

// effect makes a change, unless an earlier one has removed the object.
func (w *write) effect(c consequence) {
	obj := w.tx.Get(c.key)
	if obj == nil {
		return
	}
	if c.deletion != "" {
		w.mark(c.key, obj, &metav1.DeleteOptions{PropagationPolicy: &c.deletion})
		return
	}
	obj = obj.DeepCopy()
	obj.SetOwnerReferences(without(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return slices.Contains(c.owners, r.UID)
	}))
	obj.SetFinalizers(without(obj.GetFinalizers(), func(f string) bool { return f == c.finalizer }))
	if c.empty {
		setNested(obj, []any{}, "spec", "finalizers")
	}
	w.replace(c.key, obj)
}

// without returns a list without some elements, and nil for an empty one, which is not shown in JSON.
func without[T any](list []T, remove func(T) bool) []T {
	if list = slices.DeleteFunc(list, remove); len(list) == 0 {
		return nil
	}
	return list
}

// consequences returns the changes of some objects that are due now. They can lead to further ones.
func (w *write) consequences(keys []store.Key) []consequence {
	var all []consequence
	for _, key := range keys {
		obj := w.tx.Get(key)
		dependents := slices.DeleteFunc(w.tx.Dependents(obj.GetUID()), isEvent)
		if obj.GetDeletionTimestamp() != nil {
			all = append(all, w.deleted(key, obj, dependents)...)
		} else if c := w.dependent(key, obj, len(dependents) > 0); c != nil && !isEvent(key) {
			all = append(all, *c)
		}
	}
	return all
}

// isEvent returns whether an object is an event, which the garbage collector ignores.
func isEvent(key store.Key) bool { return key.GroupResource == events() }

// deleted returns what follows from a deleted object.
func (w *write) deleted(key store.Key, obj *unstructured.Unstructured, dependents []store.Key) []consequence {
	var all []consequence
	content := w.contentOf(key, obj)
	for _, part := range content {
		if w.tx.Get(part).GetDeletionTimestamp() == nil {
			all = append(all, consequence{key: part, deletion: metav1.DeletePropagationBackground})
		}
	}
	for _, f := range obj.GetFinalizers() {
		switch {
		case f == metav1.FinalizerOrphanDependents:
			for _, d := range dependents {
				all = append(all, consequence{key: d, owners: []types.UID{obj.GetUID()}})
			}
			all = append(all, consequence{key: key, finalizer: f})
		case f == metav1.FinalizerDeleteDependents && !w.blocked(obj.GetUID(), dependents):
			all = append(all, consequence{key: key, finalizer: f})
		}
	}
	if len(content) == 0 && held(key, obj) || w.ends(key, obj) {
		all = append(all, consequence{key: key, empty: held(key, obj)})
	}
	return all
}

// contentOf returns the objects that are deleted with a namespace or a definition.
func (w *write) contentOf(key store.Key, obj *unstructured.Unstructured) []store.Key {
	var content []store.Key
	switch key.GroupResource {
	case namespaces():
		for part := range w.tx.All() {
			if part.Namespace == key.Name {
				content = append(content, part)
			}
		}
	case definitions():
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "plural")
		gr := schema.GroupResource{Group: group, Resource: plural}
		for _, custom := range w.tx.List(gr) {
			content = append(content, store.Key{GroupResource: gr, ObjectRef: core.RefOf(custom)})
		}
	}
	return content
}

// blocked returns whether dependents delay the foreground deletion of their owner.
func (w *write) blocked(owner types.UID, dependents []store.Key) bool {
	return slices.ContainsFunc(dependents, func(d store.Key) bool {
		return slices.ContainsFunc(w.tx.Get(d).GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
		})
	})
}

// dependent returns what follows for an object from owners that do not exist, or that are deleted in the foreground.
// Nothing follows while it can't be known whether an owner exists. The owners of the objects of Options may be
// invented.
func (w *write) dependent(key store.Key, obj *unstructured.Unstructured, owner bool) *consequence {
	var gone, waiting []types.UID
	refs := obj.GetOwnerReferences()
	for _, r := range refs {
		o, ok := w.owner(key.Namespace, r)
		switch {
		case w.invented[r.UID]:
		case !ok:
			return nil
		case o == nil:
			gone = append(gone, r.UID)
		case o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents):
			waiting = append(waiting, r.UID)
		}
	}
	switch {
	case len(gone)+len(waiting) == 0:
		return nil
	case len(gone)+len(waiting) < len(refs):
		return &consequence{key: key, owners: slices.Concat(gone, waiting)}
	case len(waiting) > 0 && owner:
		return &consequence{key: key, deletion: metav1.DeletePropagationForeground}
	default:
		return &consequence{key: key, deletion: metav1.DeletePropagationBackground}
	}
}

// owner returns the owner that a reference in a namespace names, or nil if it does not exist. It reports false if the
// garbage collector does not know whether it exists: the server does not have the kind, or an object without a
// namespace refers to one in a namespace.
func (w *write) owner(namespace string, r metav1.OwnerReference) (owner *unstructured.Unstructured, ok bool) {
	k := w.kinds.of(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	if k == nil || k.Namespaced && namespace == "" {
		return nil, false
	}
	key := store.Key{GroupResource: k.stored(), ObjectRef: core.ObjectRef{Name: r.Name}}
	if k.Namespaced {
		key.Namespace = namespace
	}
	if owner = w.tx.Get(key); owner == nil || owner.GetUID() != r.UID {
		return nil, true
	}
	return owner, true
}
