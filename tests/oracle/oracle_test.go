// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
)

func TestX(t *testing.T) {
	pats := bytes.Fields([]byte(os.Getenv("PATS")))
	var ps []string
	for _, p := range pats {
		ps = append(ps, string(p))
	}
	files, err := generate.CRDs(t.Context(), ps, &generate.Options{Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range files.Warnings {
		t.Log("warning", w)
	}
	var g genall.Generator = crd.Generator{AllowDangerousTypes: new(true), GenerateEmbeddedObjectMeta: new(true), OmitToolVersion: new(true)}
	gs := genall.Generators{&g}
	rt, err := gs.ForRoots(ps...)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var errs bytes.Buffer
	rt.ErrorWriter = &errs
	rt.OutputRules = genall.OutputRules{Default: genall.OutputToDirectory(dir)}
	t.Log("had errors", rt.Run(), errs.String())
	seen := map[string]bool{}
	for _, f := range files.Files {
		name := filepath.Base(f.Path)
		seen[name] = true
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		var a, b any
		yaml.Unmarshal(want, &a)
		yaml.Unmarshal(f.Content, &b)
		for _, d := range differ("", a, b) {
			t.Errorf("%s: %s", name, d)
		}
	}
	es, _ := os.ReadDir(dir)
	for _, e := range es {
		if !seen[e.Name()] {
			t.Errorf("missing %s", e.Name())
		}
	}
}
