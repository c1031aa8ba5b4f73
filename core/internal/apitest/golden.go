// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Golden is one object in both encodings, with every field of its kind set.
type Golden struct {
	Name     string // the version of Kubernetes that encoded it, and its kind
	Kind     Kind
	JSON     []byte // indented
	Protobuf []byte // with its envelope
}

// Goldens returns the objects that k8s.io/api has as test data: those of its own version, named HEAD, and those of
// earlier versions.
func Goldens(t testing.TB) []Golden {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatalf("find the sources of k8s.io/api: %v", err)
	}
	versions, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "testdata", "*", ""))
	if err != nil {
		t.Fatal(err)
	}
	var goldens []Golden
	for _, dir := range versions {
		for _, k := range Kinds(t) {
			base := filepath.Join(dir, cmp.Or(k.Group, "core")+"."+k.Version+"."+k.GroupVersionKind.Kind)
			json, err := os.ReadFile(base + ".json")
			if err != nil {
				continue // the kind did not exist in this version
			}
			protobuf, err := os.ReadFile(base + ".pb")
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(dir) + "/" + filepath.Base(base)
			goldens = append(goldens, Golden{Name: name, Kind: k, JSON: json, Protobuf: protobuf})
		}
	}
	if len(goldens) < len(Kinds(t)) {
		t.Fatalf("only %d objects found for %d kinds", len(goldens), len(Kinds(t)))
	}
	return goldens
}
