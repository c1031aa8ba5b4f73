// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommittedTableIsUpToDate(t *testing.T) {
	want, err := generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../zz_generated.kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("zz_generated.kinds.go is stale; run go generate in core:\n%s", cmp.Diff(string(got), string(want)))
	}
}

// The markers are the only source for kinds that the snapshot's server does not serve. The test compares them with the
// server for the kinds that it serves.
func TestMarkersAgreeWithTheServer(t *testing.T) {
	dir, err := apiDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := parseAPI(dir)
	if err != nil {
		t.Fatal(err)
	}
	served, err := parseSnapshot(discovery)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	got := map[string]string{} // the differences
	for _, k := range kinds {
		for _, s := range served {
			if s.Group == k.Group && s.Version == k.Version && s.Kind == k.Kind {
				compared++
				if diff := difference(k, s); diff != "" {
					got[k.goType] = diff
				}
			}
		}
	}
	want := map[string]string{
		"core/v1.Binding":         "verbs", // it has no markers
		"core/v1.ComponentStatus": "verbs", // read-only
		"core/v1.Pod":             "subresources",
		"core/v1.Service":         "verbs",        // deletecollection was added late
		"storage/v1.CSINode":      "subresources", // the server is older than its status
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences between markers and server (-want +got):\n%s", diff)
	}
	if compared < 80 {
		t.Errorf("only %d kinds were compared", compared)
	}
}

func difference(k, s kind) string {
	var names []string
	differ := func(name string, a, b any) {
		if !cmp.Equal(a, b) {
			names = append(names, name)
		}
	}
	differ("plural", k.Plural, s.Plural)
	differ("scope", k.Namespaced, s.Namespaced)
	differ("singular", k.Singular, s.Singular)
	differ("verbs", k.Verbs, s.Verbs)
	differ("subresources", strings.Join(k.Subresources, ","), strings.Join(s.Subresources, ","))
	return strings.Join(names, ",")
}

func TestPluralFollowsTheRulesOfEnglish(t *testing.T) {
	for in, want := range map[string]string{
		"Pod":             "pods",
		"Endpoints":       "endpoints",
		"Ingress":         "ingresses",
		"NetworkPolicy":   "networkpolicies",
		"Gateway":         "gateways",
		"ComponentStatus": "componentstatuses",
		"Box":             "boxes",
		"Batch":           "batches",
		"Wish":            "wishes",
	} {
		if got := plural(in); got != want {
			t.Errorf("plural(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTrimKeepsWhatTheTableNeedsInOrder(t *testing.T) {
	in := `{"items":[{"metadata":{"name":"b.io"},"versions":[{"version":"v1","resources":[
		{"resource":"zs","responseKind":{"kind":"Z"},"scope":"Cluster","singularResource":"z","verbs":["watch","get"],
		 "subresources":[{"subresource":"status"},{"subresource":"scale"}]},
		{"resource":"as","responseKind":{"kind":"A"},"scope":"Namespaced","singularResource":"a","verbs":["get"],
		 "shortNames":["x"],"categories":["all"]}]}]}]}
		{"items":[{"metadata":{},"versions":[{"version":"v1","resources":[
		{"resource":"ps","responseKind":{"kind":"P"},"scope":"Namespaced","singularResource":"p","verbs":["get"]}]}]}]}`
	want := `[
{"Group":"","Version":"v1","Kind":"P","Plural":"ps","Namespaced":true,"Singular":"p","Verbs":["get"]},
{"Group":"b.io","Version":"v1","Kind":"A","Plural":"as","Namespaced":true,"Singular":"a","ShortNames":["x"],"Categories":["all"],"Verbs":["get"]},
{"Group":"b.io","Version":"v1","Kind":"Z","Plural":"zs","Namespaced":false,"Singular":"z","Verbs":["get","watch"],"Subresources":["scale","status"]}
]
`
	var out strings.Builder
	if err := trimDiscovery(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if err := trimDiscovery(strings.NewReader("{"), &out); err == nil {
		t.Error("trim accepted a truncated document")
	}
}

func TestMergeRequiresANoteForEveryTypeThatIsNotAKind(t *testing.T) {
	k := kind{goType: "x/v1.Odd", Group: "x", Version: "v1", Kind: "Odd"}
	if _, err := merge([]kind{k}, nil); err == nil || !strings.Contains(err.Error(), "x/v1.Odd") {
		t.Errorf("merge = %v, want an error that names x/v1.Odd", err)
	}
	k.note = "it is odd"
	if _, err := merge([]kind{k}, nil); err != nil {
		t.Errorf("merge = %v for a type with a note", err)
	}
}
