// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/moose/api/v1"
	"github.com/kube-go/sdk/examples/moose/life"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/fsm"
)

// The states of a field in version 1 of the program: plough, sow, inspect, measure, grow, reap. Version 2 has renamed
// plough to harrow and sow to till, and has removed inspect. It has also removed measure, but does not declare it. Each
// state before measure has an output.
type (
	plough     struct{}
	fromPlough interface{ fromPlough() }
	sow        struct{ Seeds int32 }
	fromSow    interface{ fromSow() }
	inspect    struct{ Grade string }

	fromInspect interface{ fromInspect() }
	measure     struct{}
	fromMeasure interface{ fromMeasure() }
	grow        struct{ Days int32 }
	fromGrow    interface{ fromGrow() }
	reap        struct{}

	harrow     struct{}
	fromHarrow interface{ fromHarrow() }
	till       struct {
		Seeds int32
		Rows  int32 // is new
	}
	fromTill interface{ fromTill() }
)

func (sow) fromPlough()      {}
func (inspect) fromSow()     {}
func (measure) fromInspect() {}
func (grow) fromMeasure()    {}
func (reap) fromGrow()       {}
func (till) fromHarrow()     {}
func (grow) fromTill()       {}

// begun counts the passes of the initial state in the status, and declares the field.
func begun(c *fsm.Ctx[v1.Moose]) {
	c.Apply(output(c, "field", "1"))
	c.Obj.Status.Weight++
}

func (plough) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromPlough]) fsm.Result[fromPlough] {
	if parked(c, "plough") {
		c.Apply(output(c, "field", "1"))
		return to.Stay("parked", 0)
	}
	begun(c)
	return to.Go(sow{c.Obj.Spec.Weight - 1})
}

func (sow) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromSow]) fsm.Result[fromSow] {
	c.Apply(output(c, "seeds", "1"))
	if parked(c, "sow") {
		return to.Stay("parked", 0)
	}
	return to.Go(inspect{"good"})
}

func (inspect) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromInspect]) fsm.Result[fromInspect] {
	c.Apply(output(c, "report", "1"))
	if parked(c, "inspect") {
		return to.Stay("parked", 0)
	}
	return to.Go(measure{})
}

func (measure) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromMeasure]) fsm.Result[fromMeasure] {
	if parked(c, "measure") {
		return to.Stay("parked", 0)
	}
	return to.Go(grow{7})
}

func (s grow) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromGrow]) fsm.Result[fromGrow] {
	c.Obj.Status.Tag = fmt.Sprint(s.Days)
	if parked(c, "grow") {
		return to.Stay("parked", 0)
	}
	return to.Go(reap{})
}

func (reap) Step(_ *fsm.Ctx[v1.Moose], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] {
	return fsm.Done(to)
}

func (harrow) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromHarrow]) fsm.Result[fromHarrow] {
	begun(c)
	return to.Go(till{Seeds: 100, Rows: 10})
}

// Verify refuses fields without seeds, which version 1 allowed.
func (s till) Verify(*fsm.Ctx[v1.Moose]) error {
	if s.Seeds == 0 {
		return errors.New("it has no seeds")
	}
	return nil
}

func (s till) Step(c *fsm.Ctx[v1.Moose], to fsm.To[fromTill]) fsm.Result[fromTill] {
	c.Apply(output(c, "seeds", "1"))
	return to.Go(grow{s.Seeds + s.Rows})
}

func fieldMachine(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Durable = true
	return fsm.New[v1.Moose](c, "animals.example.com/field", o)
}

func fieldVersion1(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	m := fieldMachine(c, o)
	fsm.Add(m, plough{})
	fsm.Add(m, sow{})
	fsm.Add(m, inspect{})
	fsm.Add(m, measure{})
	fsm.Add(m, grow{})
	fsm.Add(m, reap{})
	return m
}

func fieldVersion2(c *kube.Client, o *fsm.Options) *fsm.Machine[v1.Moose] {
	o.Renamed = map[string]string{"plough": "harrow", "sow": "till", "inspect": ""}
	m := fieldMachine(c, o)
	fsm.Add(m, harrow{})
	fsm.Add(m, till{})
	fsm.Add(m, grow{})
	fsm.Add(m, reap{})
	return m
}

// TestUpgradeMigratesPositions parks objects in the states of one version of a program. The next version, with renamed,
// removed and changed states, continues where the first one has stopped: no passed state is repeated, data is kept, and
// neither conditions nor outputs of former states are left.
func TestUpgradeMigratesPositions(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	if err := life.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
	r := newRanch(t, c)
	k := r.keep(t, fsm.Options{}, fieldVersion1)
	cases := []struct {
		name, parked string
		weight       int32
		before       []string // the outputs
		begun        int32    // how often the initial state was done in the end
		days         string   // the data in the end
		history      []string // the newest first
	}{
		{"initial", "plough", 43, []string{"field=1"}, 1, "110", []string{"grow", "till", "harrow"}},
		{"renamed", "sow", 43, []string{"field=1", "seeds=1"}, 1, "42", []string{"grow", "till", "plough"}},
		{"refused", "sow", 1, []string{"field=1", "seeds=1"}, 2, "110", []string{"grow", "till", "harrow", "till", "plough"}},
		{
			"removed", "inspect", 43,
			[]string{"field=1", "report=1", "seeds=1"},
			2, "110",
			[]string{"grow", "till", "harrow", "inspect", "sow"},
		},
		{
			"undeclared", "measure", 43,
			[]string{"field=1", "report=1", "seeds=1"},
			2, "110",
			[]string{"grow", "till", "harrow", "measure", "inspect"},
		},
		{
			"unchanged", "grow", 43,
			[]string{"field=1", "report=1", "seeds=1"},
			1, "7",
			[]string{"grow", "measure", "inspect", "sow", "plough"},
		},
		{
			"done", "reap", 43,
			[]string{"field=1", "report=1", "seeds=1"},
			1, "7",
			[]string{"grow", "measure", "inspect", "sow", "plough"},
		},
	}
	type stored struct {
		uids  map[string]string
		since metav1.MicroTime
	}
	before := map[string]stored{}
	for _, tc := range cases {
		r.create(t, tc.name, tc.weight, map[string]string{"park": tc.parked})
	}
	for _, tc := range cases {
		moose := r.await(t, tc.name, inState(tc.parked))
		s := stored{map[string]string{}, moose.Status.FSM.Since}
		for name, uid := range r.wantOutputs(t, "version 1", tc.name, tc.before...) {
			s.uids[name] = string(uid)
		}
		before[tc.name] = s
	}
	foreign := kube.MergePatch(map[string]any{"status": map[string]any{"conditions": append(
		r.await(t, "done", isReady).Status.Conditions,
		metav1.Condition{Type: "Foreign", Status: "True", Reason: "Other", LastTransitionTime: metav1.Now()},
	)}})
	if _, err := r.mooses.Status().Patch(limit(t), "done", foreign, &kube.PatchOptions{FieldManager: "other"}); err != nil {
		t.Fatal(err)
	}
	k.kill(t)

	k = r.keep(t, fsm.Options{}, fieldVersion2)
	for _, tc := range cases {
		moose := r.await(t, tc.name, func(moose *v1.Moose) error {
			switch {
			case slices.ContainsFunc(moose.Status.Conditions, isFormer):
				return fmt.Errorf("the conditions are %+v", moose.Status.Conditions)
			case tc.parked == "grow":
				return inState("grow")(moose)
			}
			return isReady(moose)
		})
		if tc.parked == "grow" {
			if since := moose.Status.FSM.Since; !since.Equal(new(before[tc.name].since)) {
				t.Errorf("%s has entered its state at %v, want %v", tc.name, since, before[tc.name].since)
			}
			r.annotate(t, tc.name, "park", nil)
			moose = r.await(t, tc.name, isReady)
		}
		if s := moose.Status; s.Weight != tc.begun || s.Tag != tc.days {
			t.Errorf("%s: the initial state was done %d times, want %d; the data is %s, want %s", tc.name, s.Weight, tc.begun, s.Tag, tc.days)
		}
		var history []string
		for _, past := range moose.Status.FSM.History {
			history = append(history, past.State)
		}
		if !slices.Equal(history, tc.history) {
			t.Errorf("%s: the history is %v, want %v", tc.name, history, tc.history)
		}
		got, want := map[string]metav1.ConditionStatus{}, map[string]metav1.ConditionStatus{
			"harrow": "True", "till": "True", "grow": "True", "reap": "True", "Ready": "True",
		}
		if tc.name == "done" {
			want["Foreign"] = "True"
		}
		for _, c := range moose.Status.Conditions {
			got[c.Type] = c.Status
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the conditions are %v, want %v", tc.name, got, want)
		}
		uids := r.wantOutputs(t, "version 2", tc.name, "field=1", "seeds=1")
		for name, uid := range uids {
			if was := before[tc.name].uids[name]; was != "" && was != string(uid) {
				t.Errorf("%s of %s was created again", name, tc.name)
			}
		}
		if n := len(moose.Status.Inventory); n != 2 {
			t.Errorf("the inventory of %s is %+v", tc.name, moose.Status.Inventory)
		}
	}
	k.kill(t)
	if !strings.Contains(k.log.String(), "measure") {
		t.Errorf("the removed state that Options.Renamed does not have was not logged:\n%s", &k.log)
	}
	r.steady(t, fsm.Options{}, fieldVersion2)
}

// isFormer reports whether a condition is that of a state which version 2 does not have.
func isFormer(c metav1.Condition) bool {
	return slices.Contains([]string{"plough", "sow", "inspect", "measure"}, c.Type)
}
