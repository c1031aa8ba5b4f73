// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// A guest arrives when an annotation permits it, and gives up at the deadline.
type (
	expect     struct{}
	fromExpect interface{ fromExpect() }
	arrive     struct{}
	giveUp     struct{ Why string }
	fromGiveUp interface{ fromGiveUp() }
	absent     struct{ Why string }
)

func (arrive) fromExpect() {}
func (giveUp) fromExpect() {}
func (absent) fromGiveUp() {}

func (expect) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromExpect]) fsm.Result[fromExpect] {
	if parked(c, "expect") {
		return to.Stay("not yet here", 0)
	}
	return to.Go(arrive{})
}

func (expect) Deadline(*fsm.Ctx[v1.Moose]) time.Duration { return time.Second }

func (expect) OnDeadline(_ *fsm.Ctx[v1.Moose], to fsm.To[fromExpect]) fsm.Result[fromExpect] {
	return to.Go(giveUp{"it is late"})
}

func (arrive) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func (s giveUp) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromGiveUp]) fsm.Result[fromGiveUp] {
	c.Obj.Status.Tag = s.Why
	return to.Go(absent(s))
}

func (s absent) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Failed(to, s.Why)
}

func newGuest(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	m := fsm.New[v1.Moose](c, "animals.example.com/guest", o)
	fsm.Add(m, expect{})
	fsm.Add(m, arrive{})
	fsm.Add(m, giveUp{})
	fsm.Add(m, absent{})
	return m
}

// TestDeadlinesHoldAcrossKills checks that a state is left at its deadline without any change, also if the program was
// killed while it waited: the time begins when the state is entered, not when the program starts. The guest has failed
// then, which ends a wait for it, until its spec changes.
func TestDeadlinesHoldAcrossKills(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	options := fsm.Options{Durable: true}
	k := r.keep(t, options, newGuest)
	r.create(t, "early", 1, nil)
	r.create(t, "late", 1, map[string]string{"park": "expect"})
	entered := r.await(t, "late", func(moose *v1.Moose) error {
		if moose.Status.FSM != nil && moose.Status.FSM.State == "absent" {
			return nil // the machine is so slow that the deadline has passed
		}
		return inState("expect")(moose)
	}).Status.FSM
	k.kill(t)
	k = r.keep(t, options, newGuest)
	if s := r.await(t, "early", isReady).Status; s.FSM.State != "arrive" || s.Tag != "" {
		t.Errorf("the early guest is %+v, %+v", s, s.FSM)
	}
	started := kube.StatusCondition[v1.Moose]("Ready", metav1.ConditionFalse)
	r.await(t, "late", started)
	_, err := kube.Await(limit(t), r.mooses, "late", kube.Ready, nil)
	if err == nil || !strings.Contains(err.Error(), "condition Stalled is True: Failed: absent: it is late") {
		t.Errorf("the wait for the late guest ends with %v", err)
	}
	s := r.await(t, "late", inState("absent")).Status
	if s.FSM.State != "absent" || s.Tag != "it is late" || len(s.FSM.History) != 2 || s.FSM.Visits["expect"] != 1 {
		t.Fatalf("the late guest is %+v, %+v", s, s.FSM)
	}
	gaveUp, waited := s.FSM.History[0], s.FSM.History[1]
	if entered.State == "expect" && !waited.Since.Equal(&entered.Since) {
		t.Errorf("the guest has waited since %v, want %v", waited.Since, entered.Since)
	}
	if d := gaveUp.Since.Sub(waited.Since.Time); d < (expect{}).Deadline(nil) {
		t.Errorf("the guest has given up after %v, before the deadline", d)
	}
	k.kill(t)
	r.steady(t, options, newGuest)

	k = r.keep(t, options, newGuest)
	defer k.kill(t)
	r.annotate(t, "late", "park", nil)
	patch := kube.MergePatch(map[string]any{"spec": map[string]any{"weight": 2}})
	if _, err := r.mooses.Patch(limit(t), "late", patch, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.Await(limit(t), r.mooses, "late", kube.Ready, nil); err != nil {
		t.Error(err)
	}
}
