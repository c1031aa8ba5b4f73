// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestDocText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"lines are kept", "// A is\n// a text.", "A is\na text."},
		{"paragraphs are kept", "// A.\n//\n// B.", "A.\n\nB."},
		{"markers are not", "// A.\n// +optional\n// B.\n// +foreign:marker=1", "A.\nB."},
		{"directives are not", "// A.\n//\n//kube:subresource status\n//go:generate x", "A."},
		{"nor is what follows dashes", "// A.\n// ---\n// B.", "A."},
		{"nor are notes", "// A.\n// TODO: B.\n// C.", "A.\nC."},
		{"examples are kept", "// A.\n//\n//\t+optional\n//\tb", "A.\n\n\t+optional\n\tb"},
		{"and so is what is fenced", "// A.\n// ```\n// --- x\n// TODO\n// ```\n// B.", "A.\n```\n--- x\nTODO\n```\nB."},
		{"blocks lose their indent", "/*\n   A.\n   B.\n*/", "A.\nB."},
		{"nothing is nothing", "// +optional", ""},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", tt.in+"\npackage a\n", parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := docText(file.Doc); got != tt.want {
			t.Errorf("%s: docText = %q, want %q", tt.name, got, tt.want)
		}
	}
}
