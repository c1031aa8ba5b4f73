// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main adds a state of another kind.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/fsm"
)

type kind struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

type (
	ctx = *fsm.Ctx[kind]

	roam     struct{}
	fromRoam interface{ fromRoam() }

	eat     struct{}
	fromEat interface{ fromEat() }

	released struct{}
)

func (eat) fromRoam()     {}
func (released) fromEat() {}

type otherKind struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (roam) Step(_ *fsm.Ctx[otherKind], to fsm.To[fromRoam]) fsm.Result[fromRoam] {
	return to.Go(eat{})
}

func main() {
	m := fsm.New[kind](nil, "example.com/moose", nil)
	fsm.Add(m, roam{}) // want: (wrong type for method Step)
}
