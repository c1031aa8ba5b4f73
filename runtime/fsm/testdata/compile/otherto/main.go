// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main uses the To of another state.
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

func (eat) step(other fsm.To[fromRoam]) fsm.Result[fromEat] {
	return other.Go(eat{}) // want: as fsm.Result[fromEat] value in return statement
}

func main() {}
