// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 is a version of a kind that has two.
package v1

import (
	"github.com/kube-go/sdk/derive/generate/testdata/beasts/shared"
)

// BeastSpec is the spec.
//
//kube:resource group=beasts.example.com version=v1 kind=Beast categories=all,animals storage=true
//kube:diagram file=../machine.mmd title="Life"
type BeastSpec struct {
	Claws []shared.Claw `json:"claws,omitempty"`
}

// NewBeast is written by hand.
func NewBeast() *Beast { return &Beast{Spec: BeastSpec{Claws: []shared.Claw{{Length: 1}}}} }
