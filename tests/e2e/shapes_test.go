// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"path/filepath"
	"testing"
)

// TestRandomCRDs promises that what kube-derive makes of types that nobody has thought of is either refused or taken by
// the server.
func TestRandomCRDs(t *testing.T) {
	c := connect(t, nil)
	dir := t.TempDir()
	goAlone(t, "../../derive", "go", "test", "-count=1", "-run", "^TestRandomTypesGiveCRDsOrErrors$", "./generate", "-crds", dir)
	made, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(made) < 100 {
		t.Fatalf("CRDs of random types = %v, %v", made, err)
	}
	for _, path := range made {
		takes(t, c, path)
	}
}
