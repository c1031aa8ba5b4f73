// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main declares a type that implements Terminal.
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

type never struct{}

func (roam) terminal(never) {}

var _ fsm.Terminal = roam{} // want: roam does not implement fsm.Terminal

func main() {}
