// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// state is a registered state, without its type.
type state[K any] struct {
	name    string
	typ     reflect.Type
	edges   reflect.Type // the interface of the next states
	deletes bool         // the state belongs to the deletion
	targets []int        // the next states
	steps   steps

	step         handler[K]
	onSpecChange handler[K] // or nil
	onDeadline   handler[K] // or nil
	deadline     func(value any, c *Ctx[K]) time.Duration
	verify       func(value any, c *Ctx[K]) error // or nil
}

// handler calls a method of a value of the state.
type handler[K any] func(value any, c *Ctx[K]) outcome

// isTerminal reports whether no other state follows.
func (s *state[K]) isTerminal() bool { return s.edges == reflect.TypeFor[Terminal]() }

// States is a [Machine], or a [Group] of child machines. [Add] adds a state to either.
type States[K any] interface{ charted() *chart[K] }

// Add adds a state to a machine or a group; zero is any value of its type. The first state of a machine is the initial
// one. The other type parameters are inferred from the state's Step. Mistakes are reported by [Machine.Check].
func Add[S State[K, E], K, E any](m States[K], zero S) { register(m.charted(), zero, false) }

// OnDelete adds a state of the deletion to the machine, which then keeps a finalizer of its name on each object. A
// deleted object begins at the first of these states, whichever state it was in. When they are done, the declared
// objects are deleted, also those that these states have declared, and then the finalizer is removed. The status
// records that the states are done, so no later pass calls a state that declares its objects again.
//
// No transition leads from the states of [Add] to those of OnDelete, or back. A machine without states for deletions
// has a finalizer only on objects that have declared others, and on those that a [machine.Suspension] has kept, also
// after its end.
func OnDelete[S State[K, E], K, E any](m *Machine[K], zero S) { register(&m.chart, zero, true) }

// The optional methods of a state.
type (
	verifier[K any]       interface{ Verify(c *Ctx[K]) error }
	specChanger[K, E any] interface {
		OnSpecChange(c *Ctx[K], to To[E]) Result[E]
	}
	deadliner[K, E any] interface {
		Deadline(c *Ctx[K]) time.Duration
		OnDeadline(c *Ctx[K], to To[E]) Result[E]
	}
)

func register[S State[K, E], K, E any](m *chart[K], zero S, deletes bool) {
	s := &state[K]{typ: reflect.TypeFor[S](), edges: reflect.TypeFor[E](), deletes: deletes}
	s.name = s.typ.Name()
	s.step = func(value any, c *Ctx[K]) outcome { return value.(S).Step(c, To[E]{}).outcome }
	optional := map[string]bool{} // whether the optional methods have the right types
	if _, ok := any(zero).(verifier[K]); ok {
		optional["Verify"] = true
		s.verify = func(value any, c *Ctx[K]) error { return value.(verifier[K]).Verify(c) }
	}
	if _, ok := any(zero).(specChanger[K, E]); ok {
		optional["OnSpecChange"] = true
		s.onSpecChange = func(value any, c *Ctx[K]) outcome {
			return value.(specChanger[K, E]).OnSpecChange(c, To[E]{}).outcome
		}
	}
	if _, ok := any(zero).(deadliner[K, E]); ok {
		optional["Deadline"], optional["OnDeadline"] = true, true
		s.deadline = func(value any, c *Ctx[K]) time.Duration { return value.(deadliner[K, E]).Deadline(c) }
		s.onDeadline = func(value any, c *Ctx[K]) outcome {
			return value.(deadliner[K, E]).OnDeadline(c, To[E]{}).outcome
		}
	}
	if err := s.mistake(optional); err != nil {
		m.problems = append(m.problems, err)
		return
	}
	if m.find(s.name) >= 0 {
		m.wrong("state %s is added twice", s.name)
		return
	}
	m.states = append(m.states, s)
}

// mistake returns what is wrong with the type of a state.
func (s *state[K]) mistake(optional map[string]bool) error {
	switch {
	case s.typ.Kind() == reflect.Pointer:
		return fmt.Errorf("state %v is a pointer: add the struct, and declare its methods on the struct", s.typ)
	case s.typ.Kind() != reflect.Struct:
		return fmt.Errorf("state %v is not a struct", s.typ)
	case s.name == readyType || s.name == suspendedType || s.name == stalledType:
		return fmt.Errorf("state %s has the name of another condition of the machine", s.name)
	case len(validation.IsQualifiedName(s.name)) > 0:
		return fmt.Errorf("state %v has no name that a condition may have: declare a type that is not generic", s.typ)
	case s.edges.Kind() != reflect.Interface || s.edges.NumMethod() == 0:
		return fmt.Errorf("state %s: the type parameter of its Result is %v, want an interface with a method", s.name, s.edges)
	}
	// These calls, with constant names, do not make the linker keep all methods of all types. Those of a reflect.Type do.
	v := reflect.New(s.typ)
	for _, method := range []struct {
		name  string
		value reflect.Value
	}{
		{"Verify", v.MethodByName("Verify")},
		{"OnSpecChange", v.MethodByName("OnSpecChange")},
		{"Deadline", v.MethodByName("Deadline")},
		{"OnDeadline", v.MethodByName("OnDeadline")},
	} {
		if method.value.IsValid() && !optional[method.name] {
			return fmt.Errorf("state %s: its method %s does not have the type in the documentation of package fsm, "+
				"is declared on the pointer, or belongs to another method that is missing", s.name, method.name)
		}
	}
	return nil
}

// unreadable returns the first field of the state whose type is an interface, also in other structs, and the type, or
// nil. The type of all other values is known when they are decoded.
func (s *state[K]) unreadable() (field string, typ reflect.Type) {
	return interfaceIn(s.typ, "", map[reflect.Type]bool{})
}

// interfaceIn returns the path and the type of the first interface in the JSON of a type, or nil. A type that has been
// visited before has none.
func interfaceIn(t reflect.Type, path string, visited map[reflect.Type]bool) (string, reflect.Type) {
	p := reflect.PointerTo(t)
	if visited[t] || p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "", nil
	}
	visited[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return path, t
	case reflect.Array, reflect.Map, reflect.Pointer, reflect.Slice:
		return interfaceIn(t.Elem(), path, visited)
	case reflect.Struct:
		for f := range t.Fields() {
			inline := f.Anonymous && f.Type.Kind() != reflect.Interface // encoding/json reads its exported fields
			if !f.IsExported() && !inline || f.Tag.Get("json") == "-" {
				continue
			}
			if at, typ := interfaceIn(f.Type, strings.TrimPrefix(path+"."+f.Name, "."), visited); typ != nil {
				return at, typ
			}
		}
	}
	return "", nil
}
