// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package shared has what all versions of a kind use.
package shared

// Claw is a part of a beast.
type Claw struct {
	// Length is in centimetres.
	// +kubebuilder:validation:Minimum=1
	Length int `json:"length"`

	Colours []string `json:"colours,omitempty"`
}
