// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package other has types that another package uses.
package other

type Name string

type Pair[A, B any] struct {
	First  A `json:"first"`
	Second B `json:"second,omitempty"`
}

type Base struct {
	Base string `json:"base"`
	Both int    `json:"both,omitempty"`
}

type hidden struct {
	Promoted bool `json:"promoted,omitempty"`
}

type Opaque struct {
	hidden
	unexported int
}

func (o Opaque) used() int { return o.unexported }
