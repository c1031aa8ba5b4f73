// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main makes a Result without a To.
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
	_ = fsm.Result[fromRoam]{outcome: 1} // want: cannot refer to unexported field outcome
}
