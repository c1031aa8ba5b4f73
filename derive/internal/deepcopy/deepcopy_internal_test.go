// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package deepcopy

import (
	"go/importer"
	"go/token"
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
