// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// Mistaken states.
type (
	lonely struct{} // nothing leads to it

	stuck     struct{}
	fromStuck interface{ fromStuck() }

	round     struct{} // leads only to itself
	fromRound interface{ fromRound() }

	anywhere struct{}
	pointer  struct{}
	Ready    struct{}
	Stalled  struct{}
	list     []int

	lateOnly struct{} // lacks OnDeadline
	oddCheck struct{} // has a Verify of another type
	farCheck struct{} // has a Verify of the pointer
)

func (stuck) fromStart() {}
func (round) fromStart() {}
func (round) fromRound() {}

func (lonely) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]  { return Done(to) }
func (stuck) Step(_ *Ctx[animal], to To[fromStuck]) Result[fromStuck] { return to.Stay("", 0) }

func (round) Step(_ *Ctx[animal], to To[fromRound]) Result[fromRound]       { return to.Go(round{}) }
func (anywhere) Step(_ *Ctx[animal], to To[any]) Result[any]                { return to.Go(1) }
func (*pointer) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]      { return Done(to) }
func (Ready) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]         { return Done(to) }
func (Stalled) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]       { return Done(to) }
func (list) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]          { return Done(to) }
func (lateOnly) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]      { return Done(to) }
func (lateOnly) Deadline() time.Duration                                    { return 0 }
func (oddCheck) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]      { return Done(to) }
func (oddCheck) Verify() error                                              { return nil }
func (farCheck) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]      { return Done(to) }
func (*farCheck) Verify(*Ctx[animal]) error                                 { return nil }
func (parametric[T]) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] { return Done(to) }

type parametric[T any] struct{}

// TestCheckNamesMistakes checks the error of each mistake in a machine.
func TestCheckNamesMistakes(t *testing.T) {
	type m = *Machine[animal]
	for want, build := range map[string]func(m m){
		"the machine has no states: call Add":                              func(m) {},
		"state lonely is unreachable: no transition":                       func(m m) { Add(m, end{}); Add(m, lonely{}) },
		"state stuck is a dead end: no added state may":                    func(m m) { Add(m, start{}); Add(m, work{}); Add(m, end{}); Add(m, stuck{}) },
		"state round never ends: no transition leads from it":              func(m m) { Add(m, end{}); OnDelete(m, round{}) },
		"state end is added twice":                                         func(m m) { Add(m, end{}); OnDelete(m, end{}) },
		"state anywhere: the type parameter of its Result is interface {}": func(m m) { Add(m, anywhere{}) },
		"state *fsm.pointer is a pointer: add the struct":                  func(m m) { Add(m, &pointer{}) },
		"state fsm.list is not a struct":                                   func(m m) { Add(m, list{}) },
		"state Ready has the name of another condition":                    func(m m) { Add(m, Ready{}) },
		"state Stalled has the name of another condition":                  func(m m) { Add(m, Stalled{}) },
		"state fsm.parametric[int] has no name that a condition may have":  func(m m) { Add(m, parametric[int]{}) },
		"state lateOnly: its method Deadline does not have the type":       func(m m) { Add(m, lateOnly{}) },
		"state oddCheck: its method Verify does not have the type":         func(m m) { Add(m, oddCheck{}) },
		"state farCheck: its method Verify does not have the type":         func(m m) { Add(m, farCheck{}) },
		"state work has the method Verify or OnSpecChange, which only a durable machine calls": func(m m) {
			Add(m, work{})
		},
		"Options.Renamed has the state end, which exists": func(m m) {
			m.opts.Renamed = map[string]string{"end": ""}
			Add(m, end{})
		},
		"Options.Renamed has late for old, which is not a state": func(m m) {
			m.opts.Renamed = map[string]string{"old": "late"}
			Add(m, end{})
		},
	} {
		m := New[animal](fakeapi.New().Client(), "example.com/animal", nil)
		build(m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check returns %v, want %q", err, want)
		}
		if _, err := m.Reconcile(t.Context(), new(animal)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Reconcile returns %v, want %q", err, want)
		}
	}
}

// States with fields that can't be read again from the status.
type (
	rejected struct{ Cause error }
	listed   struct {
		Parts map[string][]*item
	}
	item struct {
		Next *item
		Meta struct{ Value any }
	}
	derived struct{ base }
	base    struct{ Name fmt.Stringer }
)

// States with fields that can be read again, or that are not stored.
type (
	storable struct {
		Object  runtime.RawExtension
		Time    *metav1.Time
		Self    *storable
		Ratio   opaque
		Skipped error `json:"-"`
		hidden  error
		embeddedError
	}
	embeddedError error
	opaque        struct{ Value any }
)

func (o *opaque) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.Value) }

func (rejected) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] { return Done(to) }
func (listed) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]   { return Done(to) }
func (derived) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal]  { return Done(to) }
func (s storable) Step(_ *Ctx[animal], to To[Terminal]) Result[Terminal] {
	if s.hidden != nil {
		return to.Retry(s.hidden)
	}
	return Done(to)
}

// TestTheStatesOfADurableMachineHaveNoInterfaces checks that Check refuses fields whose value a later pass could not
// read: each pass would begin at the initial state again, and would repeat steps that must happen once.
func TestTheStatesOfADurableMachineHaveNoInterfaces(t *testing.T) {
	type m = *Machine[animal]
	for want, build := range map[string]func(m m){
		"state rejected: its field Cause has the interface type error":               func(m m) { Add(m, rejected{}) },
		"state derived: its field base.Name has the interface type fmt.Stringer":     func(m m) { Add(m, derived{}) },
		"state rejected: its field Cause has the interface type error, whose":        func(m m) { OnDelete(m, rejected{}) },
		"state Calf.listed: its field Parts.Meta.Value has the interface type inter": func(m m) { NewGroup(m, "Calf", listed{}) },
		"": func(m m) { Add(m, storable{}) },
	} {
		for _, durable := range []bool{false, true} {
			m := New[animal](fakeapi.New().Client(), "example.com/animal", &Options{Durable: durable})
			build(m)
			if m.initial(false) < 0 {
				Add(m, end{})
			}
			if err := m.Check(); (err != nil) != (durable && want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("Check of a machine with durable=%t returns %v, want %q", durable, err, want)
			}
		}
	}
}

// Kinds that can't have a machine.
type (
	bare struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	plain struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status struct{ Phase string } `json:"status"`
	}
	text struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status string `json:"status"`
	}
	named struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status struct {
			machine.Status `json:"machine"`
		} `json:"status"`
	}
	shadowing struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status struct {
			machine.Status `json:",inline"`

			Conditions []metav1.Condition `json:"conditions,omitempty"`
		} `json:"status"`
	}
	ambiguous struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status struct {
			machine.Status `json:",inline"`
			barn           `json:",inline"`
		} `json:"status"`
	}
	barn struct {
		stock `json:",inline"`
	}
	stock struct {
		Inventory int `json:"inventory"`
	}
	indirect struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Status struct {
			Weight int `json:"weight"`
			common `json:",inline"`
		} `json:"status"`
	}
	common struct {
		Age            int `json:"age"`
		machine.Status `json:",inline"`
	}
)

// TestNewRejectsWrongArguments checks the errors of names, conditions and kinds.
func TestNewRejectsWrongArguments(t *testing.T) {
	c := fakeapi.New().Client()
	tooLong := `" is too long: use one of at most 128 characters, with at most 55 after the slash`
	long, domain := strings.Repeat("a", 56), strings.Repeat("abcdefgh.", 8)+"example.com/"+strings.Repeat("b", 45)
	for want, check := range map[string]func() error{
		long + tooLong:                       New[animal](c, "example.com/"+long, nil).Check,
		domain + tooLong:                     New[animal](c, domain, nil).Check,
		`the name "animal" is not qualified`: New[animal](c, "animal", nil).Check,
		`the name "" is not qualified`:       New[animal](c, "", nil).Check,
		`Options.Conditions has "Ready", which the machine writes`: New[animal](c, "example.com/a", &Options{Conditions: []string{"Ready"}}).Check,
		`Options.Conditions has "no no", which is not`:             New[animal](c, "example.com/a", &Options{Conditions: []string{"no no"}}).Check,
		`Options.Conditions has "end", which the machine`: func() error {
			m := New[animal](c, "example.com/a", &Options{Conditions: []string{"end"}})
			Add(m, end{})
			return m.Check()
		},
		"the client is nil":                            New[animal](nil, "example.com/a", nil).Check,
		"fsm.bare has no field status":                 New[bare](c, "example.com/a", nil).Check,
		"does not embed machine.Status":                New[plain](c, "example.com/a", nil).Check,
		"fsm.text: the field Status is not a struct":   New[text](c, "example.com/a", nil).Check,
		`embeds machine.Status as the field "machine"`: New[named](c, "example.com/a", nil).Check,
		`has the field Conditions with the JSON name`:  New[shadowing](c, "example.com/a", nil).Check,
		`has the field Inventory with the JSON name`:   New[ambiguous](c, "example.com/a", nil).Check,
	} {
		if err := check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// TestTheLongestNamesAreValid checks that an object of a machine with the longest name can declare objects and be
// suspended.
func TestTheLongestNamesAreValid(t *testing.T) {
	for _, name := range []string{
		"example.com/" + strings.Repeat("a", 55), strings.Repeat("abcdefgh.", 8) + "example.com/" + strings.Repeat("b", 44),
	} {
		s := newStore(t, name)
		m := New[animal](s.server.Client(), name, nil)
		Add(m, end{})
		m.states[0].step = declareSecrets(m.states[0].step, "end")
		if got := s.pass(t, m, func(a *animal) { a.Annotations = map[string]string{"end": "hay"} }); got != "hay" {
			t.Errorf("a name of %d characters: the secrets are %q", len(name), got)
		}
		s.pass(t, m, func(a *animal) {
			err := machine.Suspend(a, name, machine.Suspension{Reason: "flood", By: "jane", WhenDeleted: machine.Wait})
			if err != nil {
				t.Errorf("a name of %d characters: %v", len(name), err)
			}
		})
	}
}

// TestAStatusIsFoundInAnEmbeddedStruct checks a machine.Status that is embedded in a struct that is embedded itself.
func TestAStatusIsFoundInAnEmbeddedStruct(t *testing.T) {
	f, err := fieldsOf(reflect.TypeFor[indirect]())
	obj := new(indirect)
	obj.Status.FSM = storedAt("here")
	if err != nil {
		t.Fatal(err)
	}
	if _, own := f.of(obj); own.FSM != obj.Status.FSM {
		t.Errorf("the status is %+v", own)
	}
}

// TestTheStatesOfADiagramHaveValidNames checks names that Mermaid would read as something else, or as another state.
func TestTheStatesOfADiagramHaveValidNames(t *testing.T) {
	g := &Graph{
		States: []GraphState{
			{Name: "Scale", Initial: true},
			{Name: "Scaled"},
			{Name: "Calf_young"},
			{Name: "part1"},
			{Name: "Note", Terminal: true},
			{Name: "db-Calf.young", Group: "db-Calf", Initial: true, Terminal: true},
			{Name: "Calf.young", Group: "Calf", Initial: true, Terminal: true},
		},
		Transitions: []GraphTransition{{"Scale", "Scaled"}, {"Scaled", "Note"}, {"Calf_young", "part1"}, {"part1", "Note"}},
	}
	want := `stateDiagram-v2
    state "Scale" as Scale_
    [*] --> Scale_
    Scale_ --> Scaled
    Scaled --> Note_
    Calf_young --> part1_
    state "part1" as part1_
    part1_ --> Note_
    state "Note" as Note_
    Note_ --> [*]
    state "db-Calf" as part1 {
        state "db-Calf.young" as db_Calf_young
        [*] --> db_Calf_young
        db_Calf_young --> [*]
    }
    state "Calf" as part2 {
        state "Calf.young" as Calf_young_
        [*] --> Calf_young_
        Calf_young_ --> [*]
    }
`
	if got := g.Mermaid(); got != want {
		t.Errorf("Mermaid returns\n%s\nwant\n%s", got, want)
	}
}

// TestTheJSONOfAGraphHasLists checks that programs that read a graph or an overview get a list also if it is empty.
func TestTheJSONOfAGraphHasLists(t *testing.T) {
	m := New[animal](fakeapi.New().Client(), "example.com/animal", nil)
	wantJSON(t, m.Graph(), `{"name":"example.com/animal","states":[],"transitions":[]}`)
	wantJSON(t, m.Overview(), `{"name":"example.com/animal","states":[],"transitions":[]}`)
	m = New[animal](fakeapi.New().Client(), "example.com/animal", nil)
	Add(m, end{})
	const state = `"name":"end","initial":true,"terminal":true`
	wantJSON(t, m.Graph(), `{"name":"example.com/animal","states":[{`+state+`}],"transitions":[]}`)
	wantJSON(t, m.Overview(), `{"name":"example.com/animal","states":[{`+state+`,"objects":0}],"transitions":[]}`)
}

func wantJSON(t *testing.T, v any, want string) {
	t.Helper()
	if data, err := json.Marshal(v); err != nil || string(data) != want {
		t.Errorf("JSON is\n%s, %v\nwant\n%s", data, err, want)
	}
}

// TestGraph checks the two forms of a graph.
func TestGraph(t *testing.T) {
	g := newMachine(t, nil).Graph()
	want := `stateDiagram-v2
    [*] --> start
    start --> work
    work --> rest
    work --> end
    rest --> work
    end --> [*]
    state "deletion" as part1 {
        [*] --> bury
        bury --> buried
        buried --> [*]
    }
`
	if got := g.Mermaid(); got != want {
		t.Errorf("Mermaid returns\n%s\nwant\n%s", got, want)
	}
	data, err := json.Marshal(g)
	want = `{"name":"example.com/animal","states":[{"name":"start","initial":true},{"name":"work"},{"name":"rest"},` +
		`{"name":"end","terminal":true},{"name":"bury","initial":true,"deletes":true},` +
		`{"name":"buried","terminal":true,"deletes":true}],"transitions":[{"from":"start","to":"work"},` +
		`{"from":"work","to":"rest"},{"from":"work","to":"end"},{"from":"rest","to":"work"},{"from":"bury","to":"buried"}]}`
	if string(data) != want || err != nil {
		t.Errorf("JSON is\n%s, %v\nwant\n%s", data, err, want)
	}
}
