// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Status is the part of an object's status that a machine writes. Embed it in the status of the kind, inline.
//
// +kubebuilder:object:generate=true
type Status struct {
	// Conditions are the states of the machine, and whether the object is ready.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// FSM is the current state of the machine.
	//
	// +optional
	FSM *Position `json:"fsm,omitempty"`

	// Inventory has the objects that were declared for this object and that may exist.
	//
	// +optional
	// +listType=atomic
	Inventory []Item `json:"inventory,omitempty"`
}

// Position is the state that an object is in.
//
// +kubebuilder:object:generate=true
type Position struct {
	// State is the name of the state.
	State string `json:"state"`

	// Data has the fields of the state. Only durable machines have it.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data *runtime.RawExtension `json:"data,omitempty"`

	// Since is when the state was entered.
	Since metav1.MicroTime `json:"since"`

	// Generation is the generation of the object that the last pass has observed.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Deleted is whether the states of the deletion are done, so that only the declared objects have to be deleted.
	//
	// +optional
	Deleted bool `json:"deleted,omitempty"`

	// Visits has, for each state, how often it was entered since the initial state. Only durable machines have it.
	//
	// +optional
	Visits map[string]int32 `json:"visits,omitempty"`

	// Children has the positions of the child machines that the state runs, by "GROUP.NAME".
	//
	// +optional
	Children map[string]Child `json:"children,omitempty"`

	// Version has the name of the machine, and identifies the states and transitions of the program that wrote the
	// position.
	//
	// +optional
	Version string `json:"version,omitempty"`

	// History has the last states before this one, the newest first.
	//
	// +optional
	// +listType=atomic
	History []Past `json:"history,omitempty"`
}

// Child is the state that a child machine is in. Its fields are those of a [Position].
//
// +kubebuilder:object:generate=true
type Child struct {
	// State is the name of the state.
	State string `json:"state"`

	// Data has the fields of the state. Only durable machines have it.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data *runtime.RawExtension `json:"data,omitempty"`

	// Since is when the state was entered.
	Since metav1.MicroTime `json:"since"`

	// Generation is the generation of the object that the last pass has observed.
	//
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Visits has, for each state, how often it was entered since the initial state. Only durable machines have it.
	//
	// +optional
	Visits map[string]int32 `json:"visits,omitempty"`
}

// Past is a state that an object was in.
//
// +kubebuilder:object:generate=true
type Past struct {
	// State is the name of the state.
	State string `json:"state"`

	// Since is when the state was entered.
	Since metav1.MicroTime `json:"since"`
}

// Item is an object that was declared for another object, its owner. See package runtime/inventory.
//
// +kubebuilder:object:generate=true
type Item struct {
	// Group is the group of the object's kind. It is empty for the core group.
	//
	// +optional
	Group string `json:"group,omitempty"`

	// Version is the version in which the object was declared.
	Version string `json:"version"`

	// Kind is the object's kind.
	Kind string `json:"kind"`

	// Namespace is the object's namespace. It is empty for cluster-scoped objects.
	//
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name is the object's name.
	Name string `json:"name"`

	// UID is the object's UID. It is empty until the object is known to exist.
	//
	// +optional
	UID types.UID `json:"uid,omitempty"`

	// Hash identifies the declaration that was last applied. It does not depend on the values of a Secret.
	//
	// +optional
	Hash string `json:"hash,omitempty"`

	// Part is the part of the work that has declared the object, such as the state of a machine.
	//
	// +optional
	Part string `json:"part,omitempty"`

	// Wave orders the objects: lower waves are applied first and deleted last.
	//
	// +optional
	Wave int32 `json:"wave,omitempty"`

	// Foreground is whether the object's dependents are deleted before the object.
	//
	// +optional
	Foreground bool `json:"foreground,omitempty"`
}
