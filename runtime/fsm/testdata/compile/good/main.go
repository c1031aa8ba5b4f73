// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package main compiles: it shows that the errors of the other programs are due to their last declarations.
package main

import (
	"context"

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

func (roam) Step(_ ctx, to fsm.To[fromRoam]) fsm.Result[fromRoam]             { return to.Go(eat{}) }
func (eat) Step(_ ctx, to fsm.To[fromEat]) fsm.Result[fromEat]                { return to.Go(released{}) }
func (released) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

func main() {
	m := fsm.New[kind](nil, "example.com/moose", nil)
	fsm.Add(m, roam{})
	fsm.Add(m, eat{})
	fsm.OnDelete(m, released{})
	_, _ = m.Reconcile(context.Background(), new(kind))
}
