// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

type (
	files = map[string]string
	lists = map[string]map[string]string
)

// readFiles returns the packages of a repository with the given files.
func readFiles(t *testing.T, files files) map[string]*pkg {
	t.Helper()
	root := fstest.MapFS{}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	packages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func TestImportsMustBeAllowedForAReason(t *testing.T) {
	const (
		wire = `package wire

import (
	"fmt"

	"github.com/kube-go/sdk/core"
	"k8s.io/api/core/v1"
)
`
		remedy = ": remove the import, or add it to tools/arch/imports.go with a reason"
	)
	allowed := func() lists {
		return lists{"./core/wire": {"fmt": "prints", "./core": "names", "k8s.io/api/core/v1": "pods"}}
	}
	for _, tt := range []struct {
		name    string
		files   files
		allowed lists
		want    []string
	}{
		{
			name:    "every import is in the list",
			files:   files{"core/wire/a.go": wire},
			allowed: allowed(),
		},
		{
			name:    "imports of the standard library match std",
			files:   files{"client/a.go": "package client\n\nimport \"net/http\"\n"},
			allowed: lists{"./client": {"std": "IO"}},
		},
		{
			name:  "a list for all packages below a folder",
			files: files{"core/wire/a.go": wire},
			allowed: lists{
				"./core/...":  {"fmt": "prints", "./core/...": "names"},
				"./core/wire": {"k8s.io/api/core/v1": "pods"},
			},
		},
		{
			name:    "all imports are allowed",
			files:   files{"tests/a.go": wire, "tests/b/b.go": wire},
			allowed: lists{"./tests/...": {"all": "tests"}},
		},
		{
			name: "tests, testdata and ignored files may import anything",
			files: files{
				"core/a.go":          "package core\n",
				"core/a_test.go":     "package core\n\nimport \"os\"\n",
				"core/_b.go":         "not Go",
				"core/_c/c.go":       "package c\n",
				"core/testdata/d.go": "package d\n",
				".cache/e.go":        "package e\n",
			},
			allowed: lists{"./core": {}},
		},
		{
			name:    "an import that is in no list",
			files:   files{"core/wire/a.go": wire, "core/wire/b_windows.go": "package wire\n\nimport \"os\"\n"},
			allowed: allowed(),
			want:    []string{"core/wire/b_windows.go:3: ./core/wire may not import os" + remedy},
		},
		{
			name: "an import that only another package may use",
			files: files{
				"core/a.go":   "package core\n\nimport \"github.com/kube-go/sdk/client\"\n",
				"client/a.go": "package client\n",
				"kube/a.go":   "package kube\n\nimport \"github.com/kube-go/sdk/client\"\n",
			},
			allowed: lists{"./core": {}, "./client": {}, "./kube": {"./client": "names"}},
			want:    []string{"core/a.go:3: ./core may not import ./client" + remedy},
		},
		{
			name:    "a module of others is not the standard library",
			files:   files{"client/a.go": "package client\n\nimport \"k8s.io/api/core/v1\"\n"},
			allowed: lists{"./client": {"std": "IO"}},
			want: []string{
				"client/a.go:3: ./client may not import k8s.io/api/core/v1" + remedy,
				"tools/arch/imports.go: ./client does not import std: remove the entry",
			},
		},
		{
			name:    "a folder whose name starts with that of another",
			files:   files{"core/a.go": "package core\n\nimport \"github.com/kube-go/sdk/clientset\"\n"},
			allowed: lists{"./core": {"./client/...": "requests"}},
			want: []string{
				"core/a.go:3: ./core may not import ./clientset" + remedy,
				"tools/arch/imports.go: ./core does not import ./client/...: remove the entry",
			},
		},
		{
			name:    "a package without a list",
			files:   files{"core/wire/a.go": wire},
			allowed: lists{"./core/...": {"fmt": "prints"}},
			want: []string{
				"./core/wire has no list of imports: " +
					"add it to tools/arch/imports.go, with a reason for each import:\n" +
					"\t\t\"./core/wire\": {\n\t\t\t\"./core\": \"\",\n\t\t\t\"k8s.io/api/core/v1\": \"\",\n\t\t},",
			},
		},
		{
			name:    "an entry that nothing imports",
			files:   files{"core/wire/a.go": "package wire\n\nimport \"fmt\"\n"},
			allowed: lists{"./core/...": {"os": "files"}, "./core/wire": {"fmt": "prints", "./core": "names"}},
			want: []string{
				"tools/arch/imports.go: ./core/... does not import os: remove the entry",
				"tools/arch/imports.go: ./core/wire does not import ./core: remove the entry",
			},
		},
		{
			name:    "a list of a package that does not exist",
			files:   files{"core/wire/a.go": "package wire\n"},
			allowed: lists{"./core/wire": {}, "./core/yaml": {}},
			want:    []string{"tools/arch/imports.go: package ./core/yaml does not exist: remove its list"},
		},
		{
			name:    "an entry without a reason",
			files:   files{"core/wire/a.go": "package wire\n\nimport \"fmt\"\n"},
			allowed: lists{"./core/wire": {"fmt": ""}},
			want:    []string{"tools/arch/imports.go: ./core/wire has no reason to import fmt: add one"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, checkImports(readFiles(t, tt.files), tt.allowed)); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommentsOfPublicPackagesAreInDocGo(t *testing.T) {
	const commented, bare = "// Package core is here.\npackage core\n", "package core\n"
	for _, tt := range []struct {
		name  string
		files files
		want  []string
	}{
		{name: "one comment in doc.go", files: files{"core/doc.go": commented, "core/a.go": bare}},
		{name: "a licence is not a package comment", files: files{"core/doc.go": commented, "core/a.go": "// SPDX\n\n" + bare}},
		{name: "an internal package", files: files{"core/internal/tree/tree.go": commented}},
		{name: "a command", files: files{"derive/cmd/kube-derive/main.go": "// Command kube-derive.\npackage main\n"}},
		{name: "a package for tests", files: files{"tests/kinds/kinds.go": commented}},
		{
			name:  "no comment",
			files: files{"core/doc.go": bare},
			want:  []string{"./core has comments in []: write one in doc.go"},
		},
		{
			name:  "the comment is in another file",
			files: files{"core/a.go": commented},
			want:  []string{`./core has comments in ["a.go"]: write one in doc.go`},
		},
		{
			name:  "two comments",
			files: files{"core/a.go": commented, "core/doc.go": commented},
			want:  []string{`./core has comments in ["a.go" "doc.go"]: write one in doc.go`},
		},
		{name: "a long comment", files: files{"core/doc.go": strings.Repeat("// Long.\n", 60) + bare}},
		{
			name:  "a comment that is too long",
			files: files{"core/doc.go": strings.Repeat("// Long.\n", 61) + bare},
			want: []string{"./core/doc.go has 61 lines, at most 60 are allowed: move details to the comments of types and " +
				"functions, or to docs"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			complaints := checkComments(readFiles(t, tt.files), lists{"./tests/...": {"all": "tests"}})
			if diff := cmp.Diff(tt.want, complaints); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEachLawHasItsTests(t *testing.T) {
	const doc = `// Package a counts.
//
// # Guarantees
//
//   - It never
//     stops.
//
// # Errors
//
// None, which may have an entry.
//
//   - It is fast.
package a
`
	const other = `package a

// A counts.
//
// # Guarantees
//
//   - It is exact.
//
// # Forms
//
//   - A list without laws.
type A int

// B has a list without laws, too:
//   - B
type B int
`
	const test = "package a\n\nfunc TestItNeverStops(t *testing.T) {}\n"
	root := fstest.MapFS{
		"a/a.go": {Data: []byte(other)}, "a/doc.go": {Data: []byte(doc)}, "a/a_test.go": {Data: []byte(test)},
	}
	for _, tt := range []struct {
		name string
		laws map[string][]string
		want []string
	}{
		{name: "complete", laws: map[string][]string{"exact": {"TestItNeverStops"}, "never stops": {"TestItNeverStops"}, "fast": {"TestItNeverStops"}}},
		{
			name: "a law without a test",
			laws: map[string][]string{"exact": {"TestItNeverStops"}, "never stops": {"TestItNeverStops"}, "fast": nil},
			want: []string{`a has a law without a test: add an entry for "It is fast." (tools/arch/laws.go)`},
		},
		{
			name: "a test that does not exist",
			laws: map[string][]string{"exact": {"TestItNeverStops"}, "never stops": {"TestItNeverStops"}, "fast": {"TestFast"}},
			want: []string{
				`a has no TestFast, which states the law "fast": write it, or change the entry (tools/arch/laws.go)`,
			},
		},
		{
			name: "a law that does not exist",
			laws: map[string][]string{"It": {"TestItNeverStops"}, "slow": {"TestItNeverStops"}},
			want: []string{`a has no law with the words "slow": change the entry (tools/arch/laws.go)`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := checkLaws(root, map[string]map[string][]string{"a": tt.laws})
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
