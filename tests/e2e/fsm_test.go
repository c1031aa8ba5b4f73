// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestMooseIsReleased checks that a durable machine goes through its states, that what a state does counts once
// although the program restarts all the time, and that the deletion has its own states.
func TestMooseIsReleased(t *testing.T) {
	c := connect(t, nil)
	mooses := kube.Namespaced[v1.Moose](c, newNamespace(t, c))
	program := background(t, func(ctx context.Context) error { return life.Run(ctx, c) })
	const many = 5
	name := func(i int) string { return fmt.Sprintf("moose-%d", i) }
	eventually(t, "the kind is installed", func(ctx context.Context) error {
		_, err := mooses.Create(ctx, &v1.Moose{
			ObjectMeta: metav1.ObjectMeta{Name: name(0)}, Spec: v1.MooseSpec{Weight: 100},
		}, nil)
		return err
	})
	for i := 1; i < many; i++ {
		_, err := mooses.Create(limit(t), &v1.Moose{
			ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Spec: v1.MooseSpec{Weight: 100},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	ready := kube.StatusCondition[v1.Moose]("Ready", metav1.ConditionTrue)
	for i := range many {
		if err := program(); !errors.Is(err, errStopped) { // in any state
			t.Fatal(err)
		}
		program = background(t, func(ctx context.Context) error { return life.Run(ctx, c) })
		moose, err := kube.Await(limit(t), mooses, name(i), ready, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := moose.Status
		if s.Weight != 100 || s.Tag == "" || s.FSM.State != "Released" || s.FSM.Visits["Eat"] != 3 {
			t.Errorf("the status of %s is %+v, %+v", name(i), s, s.FSM)
		}
		var past []string
		for _, p := range s.FSM.History {
			past = append(past, p.State)
		}
		if want := []string{"Roam", "Sleep", "Eat", "Roam", "Sleep"}; !slices.Equal(past, want) {
			t.Errorf("the history of %s is %v, want %v", name(i), past, want)
		}
	}
	// A pass that changes nothing writes nothing.
	before, err := mooses.List(limit(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := program(); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) error { return life.Run(ctx, c) })
	last := &v1.Moose{ObjectMeta: metav1.ObjectMeta{Name: "last"}, Spec: v1.MooseSpec{Weight: 1}}
	if _, err := mooses.Create(limit(t), last, nil); err != nil { // its first pass follows those of the others
		t.Fatal(err)
	}
	if _, err := kube.Await(limit(t), mooses, "last", ready, nil); err != nil {
		t.Fatal(err)
	}
	for _, old := range before.Items {
		moose, err := mooses.Get(limit(t), old.Name, nil)
		if err != nil || moose.ResourceVersion != old.ResourceVersion {
			t.Errorf("%s has been written: %+v, %v", old.Name, moose, err)
		}
	}
	if err := kube.DeleteAndWait(limit(t), mooses, name(0), nil); err != nil {
		t.Error(err)
	}
	if _, err := mooses.Patch(limit(t), name(1), kube.MergePatch(map[string]any{"spec": map[string]any{"weight": 130}}), nil); err != nil {
		t.Fatal(err)
	}
	_, err = kube.Await(limit(t), mooses, name(1), func(m *v1.Moose) error {
		if m.Status.Weight != 130 {
			return fmt.Errorf("it weighs %d kg", m.Status.Weight)
		}
		return ready(m)
	}, nil)
	if err != nil {
		t.Error(err)
	}
}

// TestMooseSurvivesEachCrash kills the program of a moose before and after each of its writes, from its creation to its
// deletion. No meal is lost or counts twice, and all transitions are taken.
func TestMooseSurvivesEachCrash(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	coverage, mooses := new(fsmtest.Coverage), kube.Namespaced[v1.Moose](c, newNamespace(t, c))
	fsmtest.Crash(t, fsmtest.Scenario[v1.Moose]{
		Connect: atWrites(t, c),
		Machine: func(c *kube.Client) *fsm.Machine[v1.Moose] { return life.New(c, coverage.OnStep) },
		Create: func(tb testing.TB, _ *kube.Client) *v1.Moose {
			tb.Helper()
			moose, err := mooses.Create(tb.Context(), &v1.Moose{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}, Spec: v1.MooseSpec{Weight: 30},
			}, nil)
			if err != nil {
				tb.Fatal(err)
			}
			return moose
		},
		Between: func(tb testing.TB, _ *kube.Client, moose *v1.Moose) {
			tb.Helper()
			if moose.Status.FSM == nil || moose.Status.FSM.State != "Released" || moose.DeletionTimestamp != nil {
				return
			}
			if s := moose.Status; s.Weight != 30 || s.FSM.Visits["Eat"] != 1 || s.FSM.Visits["Sleep"] != 1 {
				tb.Errorf("the status is %+v, %+v", s, s.FSM)
			}
			if err := mooses.Delete(tb.Context(), moose.Name, nil); err != nil {
				tb.Error(err)
			}
		},
		Done: func(moose *v1.Moose) bool { return moose == nil },
	})
	coverage.Check(t, life.New(c, nil).Graph())
}
