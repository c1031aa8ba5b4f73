// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
)

var recording = flag.Bool("record", false, "replace the responses in the scripts by those of the server of the kubeconfig")

// TestScripts checks that the scripts have the form in which they are recorded, or records them. Kubetest and the
// end-to-end tests run them.
func TestScripts(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"scripts/*.txt", "scripts/*/*.txt"} {
		matches, err := filepath.Glob(pattern)
		if err != nil || len(matches) == 0 {
			t.Fatalf("scripts %s: %v, %v", pattern, matches, err)
		}
		paths = append(paths, matches...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseScript(path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.name(), func(t *testing.T) {
			if *recording {
				rewrite(t, path, s)
			} else if diff := cmp.Diff(string(text), s.String()); diff != "" {
				t.Errorf("the script is not as -record writes it (-file +written):\n%s", diff)
			}
		})
	}
}

// rewrite replaces the responses in a script.
func rewrite(t *testing.T, path string, s *script) {
	t.Helper()
	c, err := client.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
			t.Error(err)
		}
	})
	s.run(t, c, mode{record: true, patience: time.Minute})
}
