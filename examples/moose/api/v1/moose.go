// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "github.com/kube-go/sdk/core/machine"

// MooseSpec is what a moose is to become.
//
//kube:resource group=animals.example.com version=v1 kind=Moose plural=mooses
//kube:description A Moose is tagged, eats and sleeps until it has its weight, and is then released.
//kube:diagram file=../../life/machine.mmd
//kube:subresource status
//kube:printcolumn name=State jsonPath=.status.fsm.state
//kube:printcolumn name=Weight jsonPath=.status.weight
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
type MooseSpec struct {
	// Weight is the weight in kilograms at which the moose is released.
	// +kubebuilder:validation:Minimum=1
	Weight int32 `json:"weight"`
}

// MooseStatus is the state of a moose.
type MooseStatus struct {
	machine.Status `json:",inline"`

	// Tag is the number on the moose's ear.
	// +optional
	Tag string `json:"tag,omitempty"`

	// Weight is the current weight in kilograms.
	// +optional
	Weight int32 `json:"weight,omitempty"`
}
