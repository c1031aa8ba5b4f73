// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ControllerRef returns the owner reference that makes owner the controller of an object: garbage collection deletes
// the object with its owner, and the owner's controller reconciles the owner when the object changes. Owner must come
// from the server, since the reference has its UID.
//
// Errors: an owner without a name or a UID; an [*UnknownKindError] for an owner whose kind is neither set in the object
// nor known for its type.
func ControllerRef(owner Object) (metav1.OwnerReference, error) {
	ref, err := OwnerRef(owner)
	if err != nil {
		return metav1.OwnerReference{}, err
	}
	ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	return ref, nil
}

// OwnerRef returns an owner reference to owner for garbage collection only.
//
// Errors: as [ControllerRef].
func OwnerRef(owner Object) (metav1.OwnerReference, error) {
	gvk := owner.GetObjectKind().GroupVersionKind()
	if gvk.Version == "" || gvk.Kind == "" {
		res, err := ResourceOfObject(owner)
		if err != nil {
			return metav1.OwnerReference{}, fmt.Errorf("owner reference: %w", err)
		}
		gvk = res.GroupVersionKind()
	}
	if owner.GetName() == "" || owner.GetUID() == "" {
		return metav1.OwnerReference{}, fmt.Errorf(
			"owner reference to %s %q: metadata.name and metadata.uid must be set; use an object that the server returned",
			gvk.Kind, RefOf(owner))
	}
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}, nil
}

// SetController makes owner the controller of obj, before obj is created or applied: it adds the [ControllerRef], or
// updates the existing one. An object has at most one controller. An owner in a namespace owns only objects in the same
// namespace.
func SetController(obj metav1.Object, owner Object) error {
	ref, err := ControllerRef(owner)
	if err != nil {
		return err
	}
	if in, ns := owner.GetNamespace(), obj.GetNamespace(); in != "" && ns != "" && ns != in {
		return fmt.Errorf(
			"owner reference to %s %q: the object lives in namespace %q; an owner in a namespace owns only what lives in the same",
			ref.Kind,
			RefOf(owner),
			ns,
		)
	}
	if o, ok := obj.(Object); ok && owner.GetNamespace() != "" && obj.GetNamespace() == "" {
		if res, err := ResourceOfObject(o); err == nil && !res.Namespaced {
			return fmt.Errorf("owner reference to %s %q: the object is cluster-scoped, and its owner lives in a namespace, so the "+
				"server would delete the object: give it an owner that is cluster-scoped", ref.Kind, RefOf(owner))
		}
	}
	if other := metav1.GetControllerOf(obj); other != nil && other.UID != ref.UID {
		return fmt.Errorf("owner reference to %s %q: the object is controlled by %s %q already; let that one go first",
			ref.Kind, RefOf(owner), other.Kind, other.Name)
	}
	refs := slices.Clone(obj.GetOwnerReferences())
	i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return r.UID == ref.UID })
	if i < 0 {
		refs = append(refs, ref)
	} else {
		refs[i] = ref
	}
	obj.SetOwnerReferences(refs)
	return nil
}
