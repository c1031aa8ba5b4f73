// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package deepcopy

import (
	"go/token"
	"go/types"
	"strconv"
	"testing"

	"golang.org/x/tools/go/packages"
)

func TestValuesOfTheStandardLibraryAreCopiedByAssignment(t *testing.T) {
	want := map[string]map[string]bool{
		"net/netip": {"Addr": true, "AddrPort": true, "Prefix": true},
		"time":      {"Time": true, "Duration": true},
		"net":       {"IP": false, "IPNet": false},
	}
	mode := packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile
	pkgs, err := packages.Load(&packages.Config{Context: t.Context(), Mode: mode}, "net/netip", "time", "net")
	if err != nil || len(pkgs) != len(want) {
		t.Fatal(pkgs, err)
	}
	for _, pkg := range pkgs {
		for name, want := range want[pkg.PkgPath] {
			if got := new(Writer).plain(pkg.Types.Scope().Lookup(name).Type()); got != want {
				t.Errorf("plain(%s.%s) = %v, want %v", pkg, name, got, want)
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
