// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-go/sdk/core/internal/apitest"
)

// snapshot returns the resources of a real API server on which every API is enabled.
func snapshot(t *testing.T) []Resource {
	t.Helper()
	data, err := os.ReadFile("internal/cmd/kindgen/discovery.json")
	if err != nil {
		t.Fatal(err)
	}
	var served []Resource
	if err := json.Unmarshal(data, &served); err != nil {
		t.Fatal(err)
	}
	return served
}

func TestTableHasTheServersResources(t *testing.T) {
	rows := map[string]Resource{}
	for _, row := range builtinKinds {
		if row.plural != "" {
			r := row.resource()
			rows[r.GroupVersionKind().String()] = r
		}
	}
	var missing []string
	compared := 0
	for _, want := range snapshot(t) {
		got, ok := rows[want.GroupVersionKind().String()]
		if !ok {
			missing = append(missing, want.String()+"/"+want.Version)
			continue
		}
		compared++
		if want.Kind == "CSINode" {
			want.Subresources = []string{"status"} // the server is older
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-server +table):\n%s", want.GroupVersionKind(), diff)
		}
	}
	wantMissing := []string{ // not in k8s.io/api, or removed from it
		"customresourcedefinitions.apiextensions.k8s.io/v1",
		"apiservices.apiregistration.k8s.io/v1",
		"podgroups.scheduling.k8s.io/v1alpha2",
		"workloads.scheduling.k8s.io/v1alpha2",
	}
	if diff := cmp.Diff(wantMissing, missing); diff != "" {
		t.Errorf("served kinds without a row (-want +got):\n%s", diff)
	}
	if compared < 80 {
		t.Errorf("only %d rows were compared", compared)
	}
}

func TestEveryTypeOfTheAPIHasARow(t *testing.T) {
	kinds := apitest.Kinds(t)
	for _, k := range kinds {
		row, ok := builtin(k.Type.PkgPath(), k.Type.Name())
		if !ok {
			t.Errorf("%v has no row", k.Type)
		} else if got := row.resource().GroupVersionKind(); row.plural != "" && got != k.GroupVersionKind {
			t.Errorf("%v: the table has %v, its scheme has %v", k.Type, got, k.GroupVersionKind)
		}
	}
	if diff := len(builtinKinds) - len(kinds); diff != 0 {
		t.Errorf("the table has %d rows without a type", diff)
	}
}

func TestTableIsOrdered(t *testing.T) {
	if !slices.IsSortedFunc(builtinKinds, func(a, b builtinKind) int { return strings.Compare(a.goType, b.goType) }) {
		t.Error("builtinKinds is not ordered by goType, so that binary search misses rows")
	}
}

func TestRowsAreValidOrHaveANote(t *testing.T) {
	for _, row := range builtinKinds {
		err := row.resource().Validate()
		if hasResource := err == nil; hasResource == (row.note != "") {
			t.Errorf("%s: Validate() = %v with note %q", row.goType, err, row.note)
		}
	}
}

// The table must be plain data, so that it needs no initialization: a row is found and expanded on demand.
func TestTableIsPlainData(t *testing.T) {
	for field := range reflect.TypeFor[builtinKind]().Fields() {
		if k := field.Type.Kind(); k != reflect.String && k != reflect.Bool {
			t.Errorf("builtinKind.%s is a %s; only strings and booleans need no initialization", field.Name, k)
		}
	}
	allocs := testing.AllocsPerRun(100, func() { builtin("k8s.io/api/core/v1", "Pod") })
	if allocs > 1 {
		t.Errorf("looking up a row allocates %v times, want at most once, for the key", allocs)
	}
}
