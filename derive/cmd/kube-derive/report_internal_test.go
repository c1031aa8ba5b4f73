// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A kind that has another name leaves nothing of the old one behind.
func TestCommandRemovesWhatIsLeftOver(t *testing.T) {
	dir := newPackage(t)
	if code, _, stderr := call(t, dir); code != 0 {
		t.Fatal(stderr)
	}
	path := filepath.Join(dir, "document.go")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(src, []byte("kind=Document"), []byte("kind=Document plural=papers"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	const gone = "crds/docs.example.com_documents.yaml"
	for _, step := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{
			"verify names it",
			[]string{"--verify"},
			1, "",
			gone + ": out of date: its source no longer exists\ncrds/docs.example.com_papers.yaml: out of date\nzz_generated.kube.go: out of date\n" +
				"kube-derive: 3 files out of date; run kube-derive again without --verify\n",
		},
		{
			"a run removes it", nil, 0,
			"removed " + gone + ", because its source no longer exists\nwrote crds/docs.example.com_papers.yaml\nwrote zz_generated.kube.go\n" +
				"kube-derive: wrote 2 files, 0 already up to date\n", "",
		},
		{"verify agrees", []string{"--verify"}, 0, "kube-derive: 2 files up to date\n", ""},
	} {
		code, stdout, stderr := call(t, dir, step.args...)
		if code != step.code || stdout != step.stdout || stderr != step.stderr {
			t.Errorf("%s: run(%q) = %d\nstdout: %s\nstderr: %s", step.name, step.args, code, stdout, stderr)
		}
	}
}
