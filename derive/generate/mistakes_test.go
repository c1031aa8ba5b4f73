// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kube-go/sdk/derive/generate"
)

// Each archive in testdata/mistakes has sources and, in the file want, all that is wrong with them.
func TestMistakesAreReportedTogether(t *testing.T) {
	paths, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := newModule(t, archive)
			t.Setenv("CGO_ENABLED", "1") // otherwise the go command ignores files that import C
			before := tree(t, dir)
			_, err = generate.Run(t.Context(), []string{"./..."}, &generate.Options{Dir: dir})
			e, ok := errors.AsType[*generate.SourceError](err)
			if !ok {
				t.Fatalf("Run: %v, want a SourceError", err)
			}
			got := e.Error() + "\n"
			want := &archive.Files[len(archive.Files)-1]
			if want.Name != "want" {
				t.Fatalf("the last file of the archive is %s, not want", want.Name)
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("Run (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("Run changed files (-before +after):\n%s", diff)
			}
		})
	}
}
