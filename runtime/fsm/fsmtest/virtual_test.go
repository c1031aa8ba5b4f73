// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// The states of a durable shop: it hires for a while, and opens or, if nobody comes until the deadline, stays closed.
type (
	hire      struct{ Paid int }
	fromHire  interface{ fromHire() }
	train     struct{ Paid int }
	fromTrain interface{ fromTrain() }
)

const (
	hireFor  = 2 * time.Second
	trainFor = 3 * time.Second
)

func (train) fromHire()  {}
func (closed) fromHire() {}
func (open) fromTrain()  {}

// Step waits for the label or the deadline.
func (s hire) Step(c *fsm.Ctx[shop], to fsm.To[fromHire]) fsm.Result[fromHire] {
	if c.Obj.Labels["applicants"] == "" {
		return to.Stay("nobody comes", 0)
	}
	return to.Go(train{s.Paid + 1})
}

func (hire) Deadline(*fsm.Ctx[shop]) time.Duration { return hireFor }

func (hire) OnDeadline(_ *fsm.Ctx[shop], to fsm.To[fromHire]) fsm.Result[fromHire] {
	return to.Go(closed{})
}

// Step waits for a time, and creates a ConfigMap.
func (s train) Step(c *fsm.Ctx[shop], to fsm.To[fromTrain]) fsm.Result[fromTrain] {
	if rest := trainFor - time.Since(c.Since()); rest > 0 {
		return to.Stay("training", rest)
	}
	maps := client.Namespaced[corev1.ConfigMap](clientOf.Load(), c.Obj.Namespace)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("wage-", s.Paid)}}
	found, err := maps.GetOrNil(c, cm.Name, nil)
	if err == nil && found == nil {
		_, err = maps.Create(c, cm, nil)
	}
	if err != nil {
		return to.Retry(err)
	}
	return to.Go(open{})
}

// TestCrashInVirtualTime checks that Crash works in a bubble: waits and deadlines take no time, are not shortened and
// do not begin again after a crash, at whichever request.
func TestCrashInVirtualTime(t *testing.T) {
	for label, want := range map[string]struct {
		state  string
		states int
		takes  time.Duration
	}{"applicants": {"open", 3, trainFor}, "none": {"closed", 2, hireFor}} {
		synctest.Test(t, func(t *testing.T) {
			s := scenario(t, new(fsmtest.Coverage), map[string]string{label: "yes"})
			s.Machine = func(c *client.Client) *fsm.Machine[shop] {
				clientOf.Store(c)
				m := fsm.New[shop](c, "example.com/shop", &fsm.Options{Durable: true})
				fsm.Add(m, hire{})
				fsm.Add(m, train{})
				fsm.Add(m, open{})
				fsm.Add(m, closed{})
				return m
			}
			var began time.Time
			runs, create := 0, s.Create
			s.Create = func(tb testing.TB, c *client.Client) *shop {
				tb.Helper()
				runs, began = runs+1, time.Now()
				return create(tb, c)
			}
			s.Final = func(tb testing.TB, _ *client.Client, obj *shop) string {
				tb.Helper()
				if took := time.Since(began); took < want.takes || took > want.takes+time.Second {
					tb.Errorf("%s: the run has taken %v, want %v", label, took, want.takes)
				}
				if p := obj.Status.FSM; p.State != want.state || len(p.History) != want.states-1 {
					tb.Errorf("%s: the shop is %+v, want %s", label, p, want.state)
				}
				return obj.Status.FSM.State
			}
			fsmtest.Crash(t, s)
			if runs < 5 { // one without a crash, and two requests
				t.Errorf("%s: %d runs", label, runs)
			}
		})
	}
}
