// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestRegisteredFindsStatesThatWereNotAdded checks which types of a package are reported.
func TestRegisteredFindsStatesThatWereNotAdded(t *testing.T) {
	dir := t.TempDir()
	const source = `package shop

type (
	build      struct{}
	open       struct{}
	closed     struct{}
	byPointer  struct{}
	fromBuild  interface{ fromBuild() }
	fromClosed interface{ fromClosed() }
	fromOpen   interface {
		ends
		fromOpen()
	}
	ends     interface{ end }
	end      atEnd
	atEnd    interface{ isEnd() }
	fromSold interface {
		fmt.Stringer
		isEnd()
	}

	sold  struct{}
	burnt struct{}
	moved struct{}
)

func (burnt) isEnd()    {}
func (moved) isEnd()    {}
func (moved) fromOpen() {}

func (open) fromBuild()       {}
func (closed) fromBuild()     {}
func (*byPointer) fromBuild() {}
func (build) fromClosed()     {} // closed is not added, so this is not a transition

func (build) Step(c *fsm.Ctx[shop], to fsm.To[fromBuild]) fsm.Result[fromBuild]       { return to.Go(open{}) }
func (open) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal]  { return fsm.Done(to) }
func (closed) Step(c *fsm.Ctx[shop], to fsm.To[fromClosed]) fsm.Result[fromClosed]    { return to.Go(build{}) }
func (sold) Step(c *fsm.Ctx[shop], to fsm.To[fromSold]) fsm.Result[fromSold]          { return to.Go(moved{}) }
func (burnt) Step(c *fsm.Ctx[shop], to fsm.To[fromOpen]) fsm.Result[fromOpen]         { return to.Go(moved{}) }
`
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ states, want []string }{
		{[]string{"build", "Group.open"}, []string{
			"*byPointer may follow the state build, but is not added to the machine",
			"closed may follow the state build, but is not added to the machine",
		}},
		{[]string{"build", "open", "closed", "byPointer"}, []string{
			"*byPointer can't follow the state build: declare fromBuild on the struct, not on the pointer",
		}},
		{[]string{"open"}, nil},
		{[]string{"burnt"}, []string{"moved may follow the state burnt, but is not added to the machine"}},
		{[]string{"sold"}, nil}, // the methods of an interface of another package are not known
	} {
		g := new(fsm.Graph)
		for _, name := range tc.states {
			g.States = append(g.States, fsm.GraphState{Name: name})
		}
		f := &failures{TB: t}
		fsmtest.Registered(f, g, dir)
		if !slices.Equal(f.errors, tc.want) {
			t.Errorf("%v: Registered reports %q, want %q", tc.states, f.errors, tc.want)
		}
	}
}
