// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main leaves a terminal state.
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

func (released) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return to.Go(roam{}) // want: roam does not implement fsm.Terminal (missing method terminal)
}

func main() {}
