// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/kube-go/sdk/derive/generate"
)

// TestEveryMarkerOfControllerGenIsKnown checks that each marker of controller-gen is accepted in the same places, with
// the same arguments.
func TestEveryMarkerOfControllerGenIsKnown(t *testing.T) {
	registry := &markers.Registry{}
	for _, g := range []genall.Generator{crd.Generator{}, deepcopy.Generator{}, rbac.Generator{}, webhook.Generator{}} {
		if err := g.RegisterMarkers(registry); err != nil {
			t.Fatal(err)
		}
	}
	ours := map[string]generate.Marker{}
	for _, m := range generate.Markers() {
		ours[m.Name] = m
	}
	theirs := registry.AllDefinitions()
	if len(theirs) < 90 {
		t.Fatalf("controller-gen has %d markers, want about a hundred", len(theirs))
	}
	for _, name := range []string{"kubebuilder:ac:generate", "kubebuilder:ac:output:package"} { // their generator has many dependencies
		if ours[name].Name == "" {
			t.Errorf("+%s is unknown", name)
		}
	}
	meant := exceptedMarkers()
	for _, def := range theirs {
		m, ok := ours[def.Name]
		if !ok {
			t.Errorf("+%s is unknown", def.Name)
			continue
		}
		on := target(def.Target)
		if meant[def.Name+" on "+on] != "" {
			delete(meant, def.Name+" on "+on)
			continue
		}
		if !slices.Contains(m.On, on) {
			t.Errorf("+%s may stand on a %s, and not only on a %s", def.Name, on, strings.Join(m.On, " or "))
		}
		for name, arg := range def.Fields {
			i := slices.IndexFunc(m.Arguments, func(a generate.MarkerArgument) bool { return a.Name == name })
			switch {
			case i < 0:
				t.Errorf("+%s has the argument %q", def.Name, name)
			case arg.Optional && m.Arguments[i].Required:
				t.Errorf("+%s: the argument %q is optional", def.Name, name)
			case !arg.Optional && name != "" && !m.Arguments[i].Required:
				t.Errorf("+%s: the argument %q is required", def.Name, name)
			}
		}
	}
	for name := range meant {
		t.Errorf("%s: the exception is outdated: remove it", name)
	}
}

// TestEachMarkerOfDefinitionsIsCompared checks that package marks, whose definition both tools generate, has all
// markers for definitions, including those that no other compared API uses.
func TestEachMarkerOfDefinitionsIsCompared(t *testing.T) {
	var text strings.Builder
	paths, err := filepath.Glob("marks/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	used := map[string]bool{}
	for _, name := range regexp.MustCompile(`// \+([A-Za-z0-9:]+)`).FindAllStringSubmatch(text.String(), -1) {
		for parts := strings.Split(name[1], ":"); len(parts) > 0; parts = parts[:len(parts)-1] { // it may end with an argument
			used[strings.Join(parts, ":")] = true
		}
	}
	registry := &markers.Registry{}
	if err := (crd.Generator{}).RegisterMarkers(registry); err != nil {
		t.Fatal(err)
	}
	for _, def := range registry.AllDefinitions() {
		if !used[def.Name] {
			t.Errorf("+%s is in none of %s", def.Name, strings.Join(paths, ", "))
		}
	}
}

// exceptedMarkers are the intended differences, with the reason.
func exceptedMarkers() map[string]string {
	return map[string]string{
		"k8s:enum on field":    "controller-gen rejects it there",
		"groupName on package": "without a value it is the core group, which can have no CRDs",
		"default on field":     "its value is read as JSON; controller-gen registers it as an argument and parses it by hand",
	}
}

func target(t markers.TargetType) string {
	switch t {
	case markers.DescribesPackage:
		return "package"
	case markers.DescribesType:
		return "type"
	case markers.DescribesField:
		return "field"
	}
	return "?"
}
