// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsmtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kube-go/sdk/runtime/fsm"
	"github.com/kube-go/sdk/runtime/fsm/fsmtest"
)

// TestRegisteredFindsStatesThatWereNotAdded checks which types of a package are reported.
func TestRegisteredFindsStatesThatWereNotAdded(t *testing.T) {
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
func (*byPointer) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
func (moved) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
func (sold) Step(c *fsm.Ctx[shop], to fsm.To[fromSold]) fsm.Result[fromSold]          { return to.Go(moved{}) }
func (burnt) Step(c *fsm.Ctx[shop], to fsm.To[fromOpen]) fsm.Result[fromOpen]         { return to.Go(moved{}) }
`
	wantReports(t, source, []reports{
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
	})
}

// TestRegisteredKnowsEmbeddedStructs checks states that embed structs with the methods of their edges.
func TestRegisteredKnowsEmbeddedStructs(t *testing.T) {
	const source = `package shop

type (
	build     struct{}
	anywhere  struct{}
	pointed   struct{}
	opened    struct{ anywhere }
	open      struct{ opened }
	forgotten struct{ *anywhere }
	remote    struct{ other.State }
	byPointer struct{ pointed }
	lent      struct{ *pointed }
	copied    struct{ build }
	fromBuild interface{ fromBuild() }
)

func (anywhere) fromBuild() {}
func (*pointed) fromBuild() {}

func (build) Step(c *fsm.Ctx[shop], to fsm.To[fromBuild]) fsm.Result[fromBuild] { return to.Go(open{}) }
func (opened) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
func (forgotten) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
func (byPointer) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
func (lent) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) fsm.Result[fsm.Terminal] { return fsm.Done(to) }
`
	wantReports(t, source, []reports{
		{[]string{"build", "open", "opened", "byPointer", "lent"}, []string{
			"*byPointer can't follow the state build: declare fromBuild on the struct, not on the pointer",
			"forgotten may follow the state build, but is not added to the machine",
		}},
		{[]string{"copied", "open", "opened", "forgotten", "lent"}, []string{
			"*byPointer may follow the state copied, but is not added to the machine",
		}},
	})
}

// TestRegisteredFailsInTheFolderOfAnotherPackage checks a folder without the states of the machine.
func TestRegisteredFailsInTheFolderOfAnotherPackage(t *testing.T) {
	dir := t.TempDir()
	const source = "package shop\n\nfunc (other) Step(c *fsm.Ctx[shop], to fsm.To[fsm.Terminal]) {}\n"
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &failures{TB: t}
	fsmtest.Registered(f, &fsm.Graph{States: []fsm.GraphState{{Name: "build"}, {Name: "open"}}}, dir)
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "has the method Step of no state of the machine") {
		t.Errorf("Registered reports %q", f.errors)
	}
}

// reports are the states of a graph, and what Registered reports.
type reports struct{ states, want []string }

// wantReports checks the reports for a package with a source.
func wantReports(t *testing.T, source string, cases []reports) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
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
