// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"testing"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/fsm"
)

// A listener waits for a signal.
type (
	listen     struct{}
	fromListen interface{ fromListen() }
	heard      struct{ Text string }
)

func (heard) fromListen() {}

func (listen) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromListen]) fsm.Result[fromListen] {
	text, ok := fsm.Received[string](c)
	if !ok {
		return to.Stay("it is quiet", 0)
	}
	return to.Go(heard{text})
}

func (s heard) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	c.Obj.Status.Tag = s.Text
	return fsm.Done(to)
}

func newListener(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Durable = true
	m := fsm.New[v1.Moose](c, "animals.example.com/listener", o)
	fsm.Add(m, listen{})
	fsm.Add(m, heard{})
	return m
}

// TestSignalsStartPasses checks that a signal starts a pass of its object and of no other one, without any change of
// the object. A signal to a program that is killed before it stores the next state is lost, and can be sent again.
func TestSignalsStartPasses(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	key := func(name string) controller.Key {
		return controller.Key{Ref: kube.ObjectRef{Namespace: r.ns, Name: name}}
	}
	k := r.keep(t, fsm.Options{}, newListener)
	for _, name := range []string{"near", "far"} {
		r.create(t, name, 1, nil)
		r.await(t, name, inState("listen"))
	}
	fsm.Send(k.machine, key("near"), "hello")
	if moose := r.await(t, "near", isReady); moose.Status.Tag != "hello" || moose.Status.FSM.State != "heard" {
		t.Errorf("the status is %+v, %+v", moose.Status, moose.Status.FSM)
	}
	k.killer.at(1, false)
	fsm.Send(k.machine, key("far"), "lost")
	<-k.killer.dead
	if err := k.stop(); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	k = r.keep(t, fsm.Options{}, newListener)
	eventually(t, "the program has looked", r.looked(k))
	r.await(t, "far", inState("listen"))
	fsm.Send(k.machine, key("far"), "again")
	if moose := r.await(t, "far", isReady); moose.Status.Tag != "again" {
		t.Errorf("the status is %+v", moose.Status)
	}
	if moose := r.await(t, "near", isReady); moose.Status.Tag != "hello" {
		t.Errorf("the status of the other one is %+v", moose.Status)
	}
	k.kill(t)
	r.steady(t, fsm.Options{}, newListener)
}
