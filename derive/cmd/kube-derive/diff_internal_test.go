// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/evolution"
)

const titles = `# a comment
apiVersion: v1
kind: Namespace
metadata: {name: docs}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: documents.docs.example.com}
spec:
  group: docs.example.com
  scope: Namespaced
  names: {kind: Document, plural: documents}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          title: {type: string, maxLength: 80}
          body: {type: string}
`

// releases writes an old and a new directory of CRDs, in a git repository that has the old one as its first revision.
func releases(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed := strings.NewReplacer("maxLength: 80", "maxLength: 40", "body: {type: string}", "body: {type: string, default: none}\n          tags: {type: string}")
	write("crds/documents.yaml", titles)
	write("crds/README.md", "not: [yaml")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write("crds/documents.yaml", changed.Replace(titles))
	write("old/list.json", `{"kind": "CustomResourceDefinitionList", "apiVersion": "apiextensions.k8s.io/v1", "items": []}`)
	write("old/nested/documents.yml", titles)
	write("none.yaml", "kind: Namespace\n")
	write("broken.yaml", "kind: {{ .Values.kind }}\n")
	write("allowed.txt", "# agreed\n*.title:maxLength  # nobody has longer ones\n\n*.body:default\n")
	return dir
}

const (
	longer  = "breaking documents.docs.example.com/v1.title:maxLength: 80 → 40: writes with invalid values are rejected; an invalid stored value is accepted until it changes\n"
	other   = "risky documents.docs.example.com/v1.body:default: added: \"none\": objects without the field, including stored objects, are read with this value; readers can't detect that the field is absent\n"
	more    = "compatible documents.docs.example.com/v1.tags:field: added: \"string\": new field\n"
	summary = "kube-derive diff: "
)

func TestDiff(t *testing.T) {
	dir := releases(t)
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"directories", []string{"old", "crds"}, 1, other + more + longer, summary + "3 changes: 1 breaking, 1 risky, 1 compatible\n"},
		{"a file and a revision of it", []string{"git:HEAD:crds/documents.yaml", "crds/documents.yaml"}, 1, other + more + longer, summary + "3 changes: 1 breaking, 1 risky, 1 compatible\n"},
		{"a directory of a revision", []string{"git:HEAD:crds/", "crds"}, 1, other + more + longer, summary + "3 changes: 1 breaking, 1 risky, 1 compatible\n"},
		{"no change", []string{"git:HEAD:crds", "old/nested/documents.yml"}, 0, "", summary + "0 changes: 0 breaking, 0 risky, 0 compatible\n"},
		{"one is allowed", []string{"-allow", "*.title:*", "old", "crds"}, 1, other + more, summary + "2 changes: 0 breaking, 1 risky, 1 compatible; 1 more allowed\n"},
		{"all are allowed", []string{"old", "crds", "--allow", "*.title:*", "--allow=*:default"}, 0, more, summary + "1 change: 0 breaking, 0 risky, 1 compatible; 2 more allowed\n"},
		{"all are allowed by a file", []string{"--allow-file", "allowed.txt", "old", "crds"}, 0, more, summary + "1 change: 0 breaking, 0 risky, 1 compatible; 2 more allowed\n"},
		{"what is allowed is not there", []string{"--allow", "*.size:*", "old", "crds"}, 2, "", summary + "accept \"*.size:*\": the pattern does not match any risky or breaking change: correct or remove it\n"},
		{"only one of two", []string{"old"}, 2, "", summary + "specify OLD and NEW, and not 1 argument\nusage: kube-derive diff [flags] OLD NEW; see kube-derive diff -h\n"},
		{"another output", []string{"old", "crds", "--output", "xml"}, 2, "", summary + "-output is \"xml\", want text or json\nusage: kube-derive diff [flags] OLD NEW; see kube-derive diff -h\n"},
		{"nothing there", []string{"old", "nowhere"}, 2, "", summary + "read nowhere: lstat nowhere: no such file or directory\n"},
		{"no CRD in it", []string{"none.yaml", "crds"}, 2, "", summary + "read none.yaml: it has no CustomResourceDefinition\n"},
		{"a template", []string{"old", "broken.yaml"}, 2, "", summary + "read broken.yaml: error converting YAML to JSON: "},
		{"no such file in a revision", []string{"git:HEAD:nowhere", "crds"}, 2, "", summary + "read git:HEAD:nowhere: the revision has no such files\n"},
		{"no such revision", []string{"git:absent:crds", "crds"}, 2, "", summary + "read git:absent:crds: git ls-tree: fatal: Not a valid object name absent\n"},
		{"a revision that is a flag", []string{"git:--all:crds", "crds"}, 2, "", summary + "read git:--all:crds: write git:REVISION:PATH, such as git:main:config/crd\n"},
		{"no such file of patterns", []string{"--allow-file", "absent", "old", "crds"}, 2, "", "absent: no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := call(t, dir, append([]string{"diff"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("diff %q = %d\nstdout: %s\nstderr: %s\nwant %d\nstdout: %s\nstderr: %s", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

func TestDiffAsJSON(t *testing.T) {
	dir := releases(t)
	code, stdout, _ := call(t, dir, "diff", "--output", "json", "--allow-file", "allowed.txt", "old", "crds")
	var got []map[string]string
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{
		"severity": "compatible", "definition": "documents.docs.example.com", "version": "v1", "path": ".tags",
		"rule": "field", "new": `"string"`, "why": "new field",
	}}
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("exit code %d, changes (-want +got):\n%s", code, diff)
	}
	if _, stdout, _ = call(t, dir, "diff", "--output", "json", "old", "git:HEAD:crds"); stdout != "[]\n" {
		t.Errorf("no changes are %q, want an empty list", stdout)
	}
}

func TestDiffReadsStdin(t *testing.T) {
	from := &crdSource{stdin: strings.NewReader(titles)}
	crds, err := from.read(t.Context(), "-")
	if err != nil || len(crds) != 1 || crds[0].GetName() != "documents.docs.example.com" {
		t.Errorf("read(-) = %v, %v", crds, err)
	}
}

// FuzzParseCRDs holds that no file makes the command panic, whatever is compared.
func FuzzParseCRDs(f *testing.F) {
	f.Add(titles)
	f.Add("kind: List\nitems: [1, {kind: CustomResourceDefinition}]\n--- # next\n{}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		crds, err := parseCRDs([]byte(text))
		if err != nil {
			return // not an input of the function
		}
		if changes, err := evolution.CompareAll(crds, crds); err == nil && len(changes) > 0 {
			t.Errorf("compared with itself it has changed: %v", changes)
		}
	})
}
