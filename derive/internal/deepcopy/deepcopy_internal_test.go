// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package deepcopy

import (
	"go/importer"
	"go/token"
	"go/types"
	"strconv"
	"testing"
)

func TestValuesOfTheStandardLibraryAreCopiedByAssignment(t *testing.T) {
	from := importer.ForCompiler(token.NewFileSet(), "source", nil)
	for path, names := range map[string]map[string]bool{
		"net/netip": {"Addr": true, "AddrPort": true, "Prefix": true},
		"time":      {"Time": true, "Duration": true},
		"net":       {"IP": false, "IPNet": false},
	} {
		pkg, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range names {
			if got := new(Writer).plain(pkg.Scope().Lookup(name).Type()); got != want {
				t.Errorf("plain(%s.%s) = %v, want %v", path, name, got, want)
			}
		}
	}
}

// TestTypeInManyPlacesIsWalkedOnce would not end if the type of each field were walked again.
func TestTypeInManyPlacesIsWalkedOnce(t *testing.T) {
	pkg := types.NewPackage("example.com/a", "a")
	field := func(name string, t types.Type) *types.Var { return types.NewField(token.NoPos, pkg, name, t, false) }
	var typ types.Type = types.Typ[types.String]
	for i := range 100 {
		both := types.NewStruct([]*types.Var{field("A", typ), field("B", typ)}, nil)
		typ = types.NewNamed(types.NewTypeName(token.NoPos, pkg, "T"+strconv.Itoa(i), nil), both, nil)
	}
	if !new(Writer).plain(typ) {
		t.Error("structs of strings are not plain")
	}
}
