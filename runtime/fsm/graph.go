// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Graph is the states and transitions of a machine. Its JSON is meant for other programs. Callers of [Machine.Graph]
// share it and must not change it; its methods are safe for concurrent use.
type Graph struct {
	Name        string            `json:"name"`
	States      []GraphState      `json:"states"`
	Transitions []GraphTransition `json:"transitions"`
}

// GraphState is a state of a [Graph].
type GraphState struct {
	Name     string `json:"name"`
	Initial  bool   `json:"initial,omitempty"`  // the pass of an object, or of a deleted one, begins here
	Terminal bool   `json:"terminal,omitempty"` // no other state follows
	Deletes  bool   `json:"deletes,omitempty"`  // the state is one of [OnDelete]
	Group    string `json:"group,omitempty"`    // the name of the [Group], for the states of child machines
}

// GraphTransition is a transition that the types of a machine allow.
type GraphTransition struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func graphOf[K any](m *Machine[K]) *Graph {
	g := &Graph{Name: m.name, States: []GraphState{}, Transitions: []GraphTransition{}} // other programs expect lists
	for _, c := range append([]*chart[K]{&m.chart}, m.groups...) {
		for i, s := range c.states {
			g.States = append(g.States, GraphState{
				Name:     c.qualified(s),
				Initial:  i == c.initial(s.deletes),
				Terminal: s.isTerminal(),
				Deletes:  s.deletes,
				Group:    c.group,
			})
			for _, target := range s.targets {
				g.Transitions = append(g.Transitions, GraphTransition{c.qualified(s), c.qualified(c.states[target])})
			}
		}
	}
	return g
}

// qualified returns the name of a state in the whole machine.
func (m *chart[K]) qualified(s *state[K]) string {
	if m.group == "" {
		return s.name
	}
	return m.group + "." + s.name
}

// next returns the states that may follow a state.
func (g *Graph) next(name string) (all []string) {
	for _, t := range g.Transitions {
		if t.From == name {
			all = append(all, t.To)
		}
	}
	return all
}

// problems returns the mistakes in a graph: states that can't be reached, dead ends, and states in which a deletion
// never ends.
func (g *Graph) problems() (all []error) {
	if !slices.ContainsFunc(g.States, func(s GraphState) bool { return !s.Deletes && s.Group == "" }) {
		return []error{fmt.Errorf("the machine has no states: call Add")}
	}
	reached, leads := map[string]bool{}, map[string]bool{}
	for changed := true; changed; {
		changed = false
		for _, s := range g.States {
			next := g.next(s.Name)
			if s.Initial && !reached[s.Name] {
				reached[s.Name], changed = true, true
			}
			for _, to := range next {
				if reached[s.Name] && !reached[to] {
					reached[to], changed = true, true
				}
			}
			ends := s.Terminal || slices.ContainsFunc(next, func(to string) bool { return leads[to] })
			if ends && !leads[s.Name] {
				leads[s.Name], changed = true, true
			}
		}
	}
	for _, s := range g.States {
		switch {
		case !reached[s.Name]:
			all = append(all, fmt.Errorf("state %s is unreachable: no transition leads to it from the initial state", s.Name))
		case !s.Terminal && len(g.next(s.Name)) == 0:
			all = append(all, fmt.Errorf("state %s is a dead end: no added state may follow it; "+
				"use To[Terminal] for a last state", s.Name))
		case s.Deletes && !leads[s.Name]:
			all = append(all, fmt.Errorf("state %s never ends: no transition leads from it to a terminal state, "+
				"so deleted objects would remain", s.Name))
		}
	}
	return all
}

// version identifies the states and transitions.
func (g *Graph) version() string {
	h := fnv.New32a()
	for _, s := range g.States {
		fmt.Fprintf(h, "%s %t\n", s.Name, s.Deletes)
	}
	for _, t := range g.Transitions {
		fmt.Fprintf(h, "%s>%s\n", t.From, t.To)
	}
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

// Mermaid returns the graph as a Mermaid state diagram, see https://mermaid.js.org/syntax/stateDiagram.html. The states
// of [OnDelete] and of each group are a part of their own.
func (g *Graph) Mermaid() string {
	b := &strings.Builder{}
	b.WriteString("stateDiagram-v2\n")
	ids := g.ids()
	for i, part := range g.parts() {
		indent := "    "
		if part.title != "" {
			fmt.Fprintf(b, "    state \"%s\" as part%d {\n", part.title, i)
			indent += indent
		}
		for _, s := range part.states {
			id := ids[s.Name]
			if id != s.Name {
				fmt.Fprintf(b, "%sstate \"%s\" as %s\n", indent, s.Name, id)
			}
			if s.Initial {
				fmt.Fprintf(b, "%s[*] --> %s\n", indent, id)
			}
			for _, to := range g.next(s.Name) {
				fmt.Fprintf(b, "%s%s --> %s\n", indent, id, ids[to])
			}
			if s.Terminal {
				fmt.Fprintf(b, "%s%s --> [*]\n", indent, id)
			}
		}
		if part.title != "" {
			b.WriteString("    }\n")
		}
	}
	return b.String()
}

// keywords are the words that begin another statement of a state diagram, in lower case. Mermaid ignores the case.
const keywords = " accdescr acctitle class classdef click default direction href note scale state statediagram style "

// ids returns the identifiers of the states in a Mermaid diagram, by the names of the states. Dots and hyphens are
// replaced, and each identifier is unique, also among the parts.
func (g *Graph) ids() map[string]string {
	ids, used := make(map[string]string, len(g.States)), map[string]bool{}
	for i := range g.parts() {
		used[fmt.Sprint("part", i)] = true
	}
	for _, s := range g.States {
		id := strings.NewReplacer(".", "_", "-", "_").Replace(s.Name)
		for used[id] || strings.Contains(keywords, " "+strings.ToLower(id)+" ") {
			id += "_"
		}
		ids[s.Name], used[id] = id, true
	}
	return ids
}

// part is the states between which there are transitions.
type part struct {
	title  string // empty for those of the machine itself
	states []GraphState
}

// parts returns the states in order: those of the machine, of its deletion and of each group.
func (g *Graph) parts() []part {
	parts := []part{{}}
	at := map[string]int{"": 0}
	for _, s := range g.States {
		title := s.Group
		if s.Deletes {
			title = "deletion"
		}
		if _, ok := at[title]; !ok {
			at[title] = len(parts)
			parts = append(parts, part{title: title})
		}
		i := at[title]
		parts[i].states = append(parts[i].states, s)
	}
	return parts
}
