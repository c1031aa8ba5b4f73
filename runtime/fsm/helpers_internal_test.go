// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// animal is the kind of the tests.
type animal struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		machine.Status `json:",inline"`

		Weight int `json:"weight,omitempty"`
	} `json:"status"`
}

// DeepCopyObject copies an animal. Kinds usually have it.
func (a *animal) DeepCopyObject() runtime.Object {
	c := &animal{TypeMeta: a.TypeMeta, Status: a.Status}
	a.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	a.Status.Status.DeepCopyInto(&c.Status.Status)
	return c
}

func (*animal) KubeResource() core.Resource {
	return core.Resource{Group: "example.com", Version: "v1", Kind: "Animal", Plural: "animals", Namespaced: true}
}

// The states of the tests. Each calls its script.
type (
	start  struct{}
	work   struct{ Job string }
	rest   struct{}
	end    struct{}
	bury   struct{}
	buried struct{}

	fromStart interface{ fromStart() }
	fromWork  interface{ fromWork() }
	fromRest  interface{ fromRest() }
	fromBury  interface{ fromBury() }
)

func (work) fromStart()  {}
func (rest) fromWork()   {}
func (end) fromWork()    {}
func (work) fromRest()   {}
func (buried) fromBury() {}

func (start) Step(_ *Ctx[animal], to To[fromStart]) Result[fromStart] { return to.Go(work{"dig"}) }

func (w work) Step(c *Ctx[animal], to To[fromWork]) Result[fromWork] {
	switch {
	case c.Obj.Labels["fail"] != "":
		return to.Retry(errLabel(c.Obj.Labels["fail"]))
	case c.Obj.Labels["rest"] != "":
		return to.Go(rest{})
	case c.Obj.Labels["idle"] != "":
		return to.Idle(c.Obj.Labels["idle"], time.Hour)
	case c.Obj.Labels["wait"] != "":
		return to.Stay(c.Obj.Labels["wait"]+" for "+w.Job, time.Minute)
	}
	return to.Go(end{})
}

func (work) Verify(c *Ctx[animal]) error {
	if text := c.Obj.Labels["refuse"]; text != "" {
		return errLabel(text)
	}
	return nil
}

func (rest) Step(_ *Ctx[animal], to To[fromRest]) Result[fromRest] { return to.Go(work{"plough"}) }
func (rest) OnSpecChange(_ *Ctx[animal], to To[fromRest]) Result[fromRest] {
	return to.Stay("changed", 0)
}
func (rest) Deadline(*Ctx[animal]) time.Duration                         { return time.Hour }
func (rest) OnDeadline(_ *Ctx[animal], to To[fromRest]) Result[fromRest] { return to.Go(work{"late"}) }

func (end) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] { return Done(to) }

func (bury) Step(c *Ctx[animal], to To[fromBury]) Result[fromBury] {
	if c.Obj.Labels["idle"] != "" {
		return to.Idle("idle", time.Hour)
	}
	return to.Go(buried{})
}

func (buried) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] { return Done(to) }

type errLabel string

func (e errLabel) Error() string { return string(e) }

// newMachine returns a machine with the states of the tests.
func newMachine(t *testing.T, o *Options) *Machine[animal] {
	t.Helper()
	m := New[animal](fakeapi.New().Client(), "example.com/animal", o)
	Add(m, start{})
	Add(m, work{})
	Add(m, rest{})
	Add(m, end{})
	OnDelete(m, bury{})
	OnDelete(m, buried{})
	m.repeatable()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

// repeatable removes the methods that only a durable machine calls from the states of another one.
func (m *Machine[K]) repeatable() {
	for _, s := range m.states {
		if !m.opts.Durable {
			s.verify, s.onSpecChange = nil, nil
		}
	}
}

// pass is one pass of a machine for an object, without a server: it changes the object's status as the server would.
func (m *Machine[K]) pass(t *testing.T, obj *K, now time.Time) *walk[K] {
	t.Helper()
	c := &Ctx[K]{Context: t.Context(), Obj: obj}
	status, own := m.fields.of(obj)
	_, key := m.track(t.Context(), obj)
	sent, _ := m.signals.of(key)
	w := m.walk(c, own.FSM, sent, m.object(obj).GetGeneration(), m.object(obj).GetDeletionTimestamp() != nil, now, nil)
	own.Conditions = merge(own.Conditions, w.conditions(nil), m.owns, metav1.NewTime(now))
	own.FSM = &w.position
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, status); err != nil {
		t.Fatal(err)
	}
	return w
}
