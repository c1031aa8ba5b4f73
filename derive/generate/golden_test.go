// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/generate"
)

var update = flag.Bool("update", false, "rewrite the generated files in testdata")

// Each folder of testdata with Go files is a program whose generated files are committed. They are compiled and used by
// the other tests, too.
func TestGeneratedFilesAreAsCommitted(t *testing.T) {
	for _, name := range []string{"document", "zoo", "written", "beasts", "forms"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("testdata", name)
			files, err := generate.Run(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if len(files.Files) < 2 {
				t.Fatalf("Run made %d files, want a Go file and a CRD at least", len(files.Files))
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
			stale, err := files.Stale()
			if err != nil || len(stale) > 0 {
				t.Errorf("Stale() = %v, %v, want nothing", stale, err)
			}
		})
	}
}
