// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package life is the life of a moose as a state machine: it is tagged, roams, eats and sleeps, and is released when it
// has its weight.
package life

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// Name is the name of the machine. Each moose has it as a finalizer.
const Name = "animals.example.com/moose"

// nap is how long a moose sleeps after a meal.
const nap = time.Second

// meal is the maximum weight of a meal, in kilograms.
const meal = 40

// New returns the machine. OnStep may be nil.
func New(c *kube.Client, onStep fsm.StepHook) *fsm.Machine[v1.Moose] {
	m := fsm.New[v1.Moose](c, Name, &fsm.Options{Durable: true, OnStep: onStep})
	fsm.Add(m, Tagged{})
	fsm.Add(m, Roam{})
	fsm.Add(m, Eat{})
	fsm.Add(m, Sleep{})
	fsm.Add(m, Released{})
	fsm.OnDelete(m, Farewell{})
	return m
}

// Install installs the kind.
func Install(ctx context.Context, c *kube.Client) error {
	crd, err := kube.CRD[v1.Moose]()
	if err != nil {
		return err
	}
	return kube.InstallCRDs(ctx, c, []*unstructured.Unstructured{crd}, &kube.InstallOptions{FieldManager: "moose"})
}

// Run installs the kind, and runs the machine for all mooses until ctx ends.
func Run(ctx context.Context, c *kube.Client) error {
	if err := Install(ctx, c); err != nil {
		return err
	}
	return kube.NewController(kube.For[v1.Moose](kube.NewCache(c, nil)), nil).Run(ctx, New(c, nil).Reconcile)
}

type ctx = *fsm.Ctx[v1.Moose]

// The states, each with the states that may follow it.
type (
	// Tagged is a moose that gets a tag.
	Tagged     struct{}
	fromTagged interface{ fromTagged() }

	// Roam is a moose that looks for food.
	Roam     struct{}
	fromRoam interface{ fromRoam() }

	// Eat is a moose at a meal.
	Eat struct {
		Amount int32 `json:"amount"` // in kilograms
	}
	fromEat interface{ fromEat() }

	// Sleep is a moose after a meal.
	Sleep     struct{}
	fromSleep interface{ fromSleep() }

	// Released is a moose that has its weight.
	Released struct{}

	// Farewell is a moose that is being deleted.
	Farewell struct{}
)

func (Roam) fromTagged()   {}
func (Eat) fromRoam()      {}
func (Released) fromRoam() {}
func (Sleep) fromEat()     {}
func (Roam) fromSleep()    {}

// Step writes the number on the tag.
func (Tagged) Step(c ctx, to fsm.To[fromTagged]) fsm.Result[fromTagged] {
	c.Obj.Status.Tag = "tag-" + string(c.Obj.UID[:8])
	return to.Go(Roam{})
}

// Step decides whether the moose eats.
func (Roam) Step(c ctx, to fsm.To[fromRoam]) fsm.Result[fromRoam] {
	missing := c.Obj.Spec.Weight - c.Obj.Status.Weight
	if missing > 0 {
		return to.Go(Eat{Amount: min(missing, meal)})
	}
	return to.Go(Released{})
}

// Step adds the meal to the weight. The weight and the next state are one write, so no meal counts twice.
func (s Eat) Step(c ctx, to fsm.To[fromEat]) fsm.Result[fromEat] {
	c.Obj.Status.Weight += s.Amount
	return to.Go(Sleep{})
}

// Step waits until the nap is over.
func (Sleep) Step(c ctx, to fsm.To[fromSleep]) fsm.Result[fromSleep] {
	if rest := nap - time.Since(c.Since()); rest > 0 {
		return to.Stay("asleep", rest)
	}
	return to.Go(Roam{})
}

// OnSpecChange does not wake a moose when its weight is changed. In the other states, such a moose begins again.
func (s Sleep) OnSpecChange(c ctx, to fsm.To[fromSleep]) fsm.Result[fromSleep] { return s.Step(c, to) }

// Step ends the machine.
func (Released) Step(_ ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }

// Step logs the farewell, unless the pass is only a plan.
func (Farewell) Step(c ctx, to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	if !c.Planning() {
		kube.Logger(c).Info("farewell", "tag", c.Obj.Status.Tag, "weight", fmt.Sprint(c.Obj.Status.Weight, " kg"))
	}
	return fsm.Done(to)
}
