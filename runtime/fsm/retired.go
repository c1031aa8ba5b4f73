// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"slices"
	"weak"
)

// retired are the numbers of the machines of a name that a controller does not use any more, since their clusters have
// left. They keep the counters of a program from falling. A retired is immutable, and does not keep the machines.
type retired[K any] struct {
	name  string
	parts []remainder[K]
}

// remainder is the numbers of a retired machine, which may be used again.
type remainder[K any] struct {
	machine  weak.Pointer[Machine[K]]
	overview *Overview
}

// Overview returns the sums of the numbers. No objects are in the states.
func (r *retired[K]) Overview() *Overview {
	sum := &Overview{Name: r.name, States: []StateOverview{}, Transitions: []TransitionOverview{}}
	for _, p := range r.parts {
		sum.count(p.overview)
	}
	return sum
}

// count adds the counters of another machine with the same name, and the states that are missing.
func (o *Overview) count(other *Overview) {
	for _, s := range other.States {
		i := slices.IndexFunc(o.States, func(own StateOverview) bool { return own.Name == s.Name })
		if i < 0 {
			i = len(o.States)
			o.States = append(o.States, StateOverview{GraphState: s.GraphState})
		}
		o.States[i].Failures += s.Failures
		o.States[i].Restarts += s.Restarts
	}
	for _, t := range other.Transitions {
		i := slices.IndexFunc(o.Transitions, func(own TransitionOverview) bool {
			return own.GraphTransition == t.GraphTransition
		})
		if i < 0 {
			i = len(o.Transitions)
			o.Transitions = append(o.Transitions, TransitionOverview{GraphTransition: t.GraphTransition})
		}
		o.Transitions[i].Taken += t.Taken
	}
}

// resume adds the machine to the owners of a controller, and removes what it has left there before.
func (m *Machine[K]) resume(owners []any) []any {
	if slices.Contains(owners, any(m)) {
		return owners
	}
	others, parts := m.split(owners)
	return append(m.join(others, parts), m)
}

// retire replaces the machine in the owners of a controller by its numbers.
func (m *Machine[K]) retire(owners []any) []any {
	others, parts := m.split(owners)
	return m.join(others, append(parts, remainder[K]{weak.Make(m), m.Overview()}))
}

// split returns the owners besides the machine, and the numbers of other retired machines of its name. Those that can't
// be used again are summed.
func (m *Machine[K]) split(owners []any) (others []any, parts []remainder[K]) {
	var ended *retired[K]
	for _, owner := range owners {
		r, ok := owner.(*retired[K])
		switch {
		case owner == any(m):
		case !ok || r.name != m.name:
			others = append(others, owner)
		default:
			ended = &retired[K]{name: r.name}
			for _, p := range r.parts {
				switch p.machine.Value() {
				case m:
				case nil:
					ended.parts = append(ended.parts, p)
				default:
					parts = append(parts, p)
				}
			}
		}
	}
	if ended != nil && len(ended.parts) > 0 {
		parts = append(parts, remainder[K]{overview: ended.Overview()})
	}
	return others, parts
}

// join adds the numbers of retired machines to owners.
func (m *Machine[K]) join(owners []any, parts []remainder[K]) []any {
	if len(parts) == 0 {
		return owners
	}
	return append(owners, &retired[K]{m.name, parts})
}
