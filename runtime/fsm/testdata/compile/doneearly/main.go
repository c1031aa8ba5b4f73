// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main ends in a state that is not terminal.
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

func (roam) Step(_ ctx, to fsm.To[fromRoam]) fsm.Result[fromRoam] {
	return fsm.Done(to) // want: cannot use to (variable of struct type fsm.To[fromRoam]) as fsm.To[fsm.Terminal]
}

func main() {}
