// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/scaffold"
)

// TestWindowsLineEndingsStay checks that a project with Windows line endings, as Git checks it out on Windows, gets the
// same changes as any other, and keeps its line endings.
func TestWindowsLineEndingsStay(t *testing.T) {
	changes := func(convert func([]byte) []byte) map[string]string {
		dir := t.TempDir()
		for _, f := range files(t, shop()) {
			name := filepath.Join(dir, f.Path)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, convert(f.Content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := scaffold.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.AddKind(&scaffold.Kind{Name: "Order"}); err != nil {
			t.Fatal(err)
		}
		if err := tree.AddVersion("Policy", "", "v2"); err != nil {
			t.Fatal(err)
		}
		if err := tree.AddWebhook("Policy", "", scaffold.Webhooks{Validate: true}); err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{}
		for _, c := range tree.Changes() {
			text := c.Content
			if !c.New {
				text = convert(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
				if !bytes.Equal(text, c.Content) {
					t.Errorf("%s has other line endings than before", c.Path)
				}
			}
			texts[c.Path] = string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		}
		if _, err := scaffold.Apply(dir, tree.Changes()); err != nil {
			t.Error(err)
		}
		return texts
	}
	want := changes(func(text []byte) []byte { return text })
	got := changes(func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes of a project with Windows line endings (-want +got):\n%s", diff)
	}
}
