// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/generate"
)

// what is one thing that is generated from the kinds of testdata and committed beside them.
type what struct {
	name string
	fn   func(context.Context, []string, *generate.Options) (*generate.Files, error)
}

func TestOutputsAreAsCommitted(t *testing.T) {
	outputs := []what{
		{"apply", generate.Apply},
		{"markdown", generate.Markdown},
		{"html", generate.HTML},
		{"schemas", generate.Schemas},
		{"samples", generate.Samples},
	}
	for _, name := range []string{"document", "zoo", "written", "beasts"} {
		for _, output := range outputs {
			t.Run(name+"/"+output.name, func(t *testing.T) {
				dir := filepath.Join("testdata", name)
				files, err := output.fn(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				if len(files.Files) == 0 || files.Packages == 0 || files.Kinds == 0 {
					t.Fatalf("made %d files of %d kinds in %d packages", len(files.Files), files.Kinds, files.Packages)
				}
				if *update {
					if _, err := files.Write(); err != nil {
						t.Fatal(err)
					}
				}
				for _, f := range files.Files {
					old, err := os.ReadFile(f.Path)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(string(old), string(f.Content)); diff != "" {
						t.Errorf("%s is not as committed; run go test -update if it should change:\n%s", f.Path, diff)
					}
				}
			})
		}
	}
}
