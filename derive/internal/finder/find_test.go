// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package finder_test

import (
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/finder"
	"github.com/kube-go/sdk/derive/internal/load"
)

// Users can't change the markers of downloaded modules, so a mistake in them does not stop a run.
func TestMarkersOfDownloadedModulesAreWarnings(t *testing.T) {
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/test\n\ngo 1.26.0\n",
		"api.go": "package api\n\n" +
			"//kube:resource group=example.com version=v1 kind=Ship deprecated=true\ntype ShipSpec struct{}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var reported, warned []string
	report := func(_ token.Position, msg string) { reported = append(reported, msg) }
	warn := func(_ token.Position, msg string) { warned = append(warned, msg) }
	p, err := load.Load(t.Context(), &load.Config{Dir: dir, Patterns: []string{"."}, Report: report, Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	pkg := p.Roots[0]
	pkg.Strict, pkg.Foreign = false, true // as for a root of a downloaded module
	kinds := finder.Find(p, pkg, finder.All, report)
	want := []string{"//kube:resource: deprecated=true would be the text of a warning: write deprecated alone, or " +
		`deprecated="text"`}
	if diff := cmp.Diff(want, warned); diff != "" || len(reported) > 0 || len(kinds) != 1 {
		t.Errorf("Find = %v, reported %v; want one kind and no mistakes; warnings (-want +got):\n%s", kinds, reported, diff)
	}
}
