// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/validation"
)

var crdDir = flag.String("crds", "", "write the CRDs of random types to this directory")

// Random types give either a definition that a server accepts, or a clear error with a place.
func TestRandomTypesGiveCRDsOrErrors(t *testing.T) {
	batch := 40
	if *crdDir != "" {
		batch = 300 // for TestRandomCRDsAreValid of the end-to-end tests, which runs without the race detector
	}
	archive := &txtar.Archive{}
	for seed := range batch {
		pkg := fmt.Sprintf("thing%d", seed)
		archive.Files = append(archive.Files, txtar.File{Name: pkg + "/types.go", Data: []byte(randomSource(uint64(seed), pkg))})
	}
	dir := newModule(t, archive)
	wrong := map[string]bool{}
	_, err := generate.CRDs(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
	e, ok := errors.AsType[*generate.SourceError](err)
	if !ok {
		t.Fatalf("CRDs: %v, want a SourceError", err)
	}
	for _, p := range e.Problems {
		if p.Position.Line == 0 || p.Message == "" {
			t.Errorf("%s: want a place, and what is wrong there", p)
		}
		wrong[filepath.Dir(p.Position.Filename)] = true
	}
	var patterns []string
	for seed := range batch {
		if pkg := fmt.Sprintf("thing%d", seed); !wrong[pkg] {
			patterns = append(patterns, "./"+pkg)
		}
	}
	if good := len(patterns); good < batch/4 || good > batch*9/10 {
		t.Errorf("%d of %d packages are good, which tests too little of the one or the other", good, batch)
	}
	files, err := generate.CRDs(t.Context(), patterns, &generate.Options{Dir: dir})
	if err != nil || len(files.Files) != len(patterns) {
		t.Fatalf("CRDs of the good ones: %v, want %d files", err, len(patterns))
	}
	for _, f := range files.Files {
		checkCRD(t, f)
		if *crdDir != "" {
			if err := os.WriteFile(filepath.Join(*crdDir, filepath.Base(f.Path)), f.Content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkCRD checks that a server would take a definition.
func checkCRD(t *testing.T, f generate.File) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(f.Content)
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	for _, p := range validation.Check(crd) {
		t.Errorf("%s: %s", filepath.Base(f.Path), p)
	}
}

// One seed is one package, so that what the fuzzer finds can be told from the seed alone.
func FuzzRandomTypes(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		dir := newModule(t, &txtar.Archive{Files: []txtar.File{{Name: "thing/types.go", Data: []byte(randomSource(seed, "thing"))}}})
		files, err := generate.CRDs(t.Context(), []string{"./thing"}, &generate.Options{Dir: dir})
		if e, ok := errors.AsType[*generate.SourceError](err); ok && len(e.Problems) > 0 && e.Problems[0].Position.Line > 0 {
			return
		}
		if err != nil {
			t.Fatalf("seed %d: %v, want a SourceError with a place", seed, err)
		}
		for _, f := range files.Files {
			checkCRD(t, f)
		}
	})
}
