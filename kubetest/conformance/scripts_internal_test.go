// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kube-go/sdk/client"
)

var record = flag.Bool("record", false, "replace the responses in the scripts by those of the server of KUBECONFIG")

// TestScripts runs the suite with the server of KUBECONFIG, or records it.
func TestScripts(t *testing.T) {
	if os.Getenv("KUBECONFIG") == "" {
		t.Skip("KUBECONFIG is not set")
	}
	c, err := client.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !*record {
		t.Run("RunControllers", func(t *testing.T) { RunControllers(t, c) }) // first, since Run leaves them work
		t.Run("Run", func(t *testing.T) { Run(t, c) })
		return
	}
	paths, err := filepath.Glob("scripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("scripts/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseScript(path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Cleanup(func() {
				if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
					t.Error(err)
				}
			})
			s.run(t, c, mode{record: true, patience: time.Minute})
		})
	}
}
