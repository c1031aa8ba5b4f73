// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ControllerRef returns the owner reference that makes owner the controller of an object: garbage collection follows
// it, and a controller that owns the object's kind is told of its changes. Owner must have come from the server, since
// the reference carries its UID.
func ControllerRef(owner Object, res Resource) (metav1.OwnerReference, error) {
	ref, err := OwnerRef(owner, res)
	if err != nil {
		return metav1.OwnerReference{}, err
	}
	ref.Controller, ref.BlockOwnerDeletion = new(true), new(true)
	return ref, nil
}

// OwnerRef returns an owner reference to owner that only ties the lifetimes together.
func OwnerRef(owner Object, res Resource) (metav1.OwnerReference, error) {
	if err := res.Validate(); err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("owner reference: %w", err)
	}
	if owner.GetName() == "" || owner.GetUID() == "" {
		return metav1.OwnerReference{}, fmt.Errorf(
			"owner reference to %s %q: metadata.name and metadata.uid must be set; use an object that the server returned",
			res.Kind, RefOf(owner))
	}
	return metav1.OwnerReference{
		APIVersion: res.APIVersion(),
		Kind:       res.Kind,
		Name:       owner.GetName(),
		UID:        owner.GetUID(),
	}, nil
}
