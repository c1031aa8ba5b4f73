// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"path/filepath"
	"testing"
)

// TestRandomCRDsAreValid checks that kube-derive either rejects a random type or generates a definition that the server
// accepts.
func TestRandomCRDsAreValid(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	dir := t.TempDir()
	goAlone(t, "../../derive", "go", "test", "-vet=off", "-count=1", "-run", "^TestRandomTypesGiveCRDsOrErrors$",
		"./generate", "-crds", dir)
	made, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(made) < 100 {
		t.Fatalf("CRDs of random types = %v, %v, want at least 100", made, err)
	}
	for _, path := range made {
		takes(t, c, path)
	}
}
