// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main adds a type that is not a state.
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

func main() {
	m := fsm.New[kind](nil, "example.com/moose", nil)
	fsm.Add(m, roam{}) // want: roam) does not satisfy fsm.State[K, E] (missing method Step)
}
