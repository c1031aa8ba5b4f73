// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/manifests"
	"github.com/kube-go/sdk/derive/internal/structural"
)

func object() map[string]any {
	return map[string]any{
		"kind": "Door", "apiVersion": "doors.example.com/v1", "metadata": map[string]any{"name": "front"},
		"spec": map[string]any{
			"colour":  "red",
			"number":  int64(7),
			"numeric": "7",
			"truth":   "true",
			"text":    "one\ntwo",
			"empty":   map[string]any{},
			"none":    []any{},
			"null":    nil,
			"locks":   []any{map[string]any{"key": "a", "width": 1.5}, map[string]any{}, []any{"x", []any{"z"}}},
			"labels":  map[string]any{"a/b": "c", "yes": "no"},
		},
	}
}

func schema() *structural.Schema {
	text := &structural.Schema{Type: "string"}
	return &structural.Schema{Type: "object", Description: "A Door opens.", Properties: map[string]*structural.Schema{
		"kind": {Type: "string", Description: "not shown"},
		"spec": {Type: "object", Description: "Spec is what\n\nthe door is.", Properties: map[string]*structural.Schema{
			"colour": {Type: "string", Description: "Colour is seen."},
			"labels": {Type: "object", AdditionalProperties: text},
			"locks": {Type: "array", Items: &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
				"key": {Type: "string", Description: "Key opens it."},
			}}},
		}},
	}}
}

const want = `# A Door opens.
apiVersion: doors.example.com/v1
kind: Door
metadata:
  name: front
# Spec is what
#
# the door is.
spec:
  # Colour is seen.
  colour: red
  empty: {}
  labels:
    a/b: c
    "yes": "no"
  locks:
    - # Key opens it.
      key: a
      width: 1.5
    - {}
    - - x
      - - z
  none: []
  "null": null
  number: 7
  numeric: "7"
  text: "one\ntwo"
  truth: "true"
`

func TestSamplesAreWrittenForReaders(t *testing.T) {
	got, err := manifests.Render(object(), schema(), true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Render (-want +got):\n%s", diff)
	}
}

func TestSamplesReadBackAsTheyWere(t *testing.T) {
	for _, comments := range []bool{true, false} {
		text, err := manifests.Render(object(), schema(), comments)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if err := yaml.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		wanted := object()
		wanted["spec"].(map[string]any)["number"] = float64(7) // as JSON has it
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("with comments %t (-want +got):\n%s", comments, diff)
		}
	}
}

// FuzzStringsReadBack checks that any string, as a name or as a value, is read back unchanged.
func FuzzStringsReadBack(f *testing.F) {
	for _, text := range []string{"", "a", "no", "1e3", "0x1", "- a", "a: b", "# a", "'", "\"", "\t", "a\n", "\n", "~", "{", "é", "\u2028", "a\u0085b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, '\uFFFD') || len(text) > 100 {
			t.Skip("strings in JSON are UTF-8, and names in YAML have at most 1024 characters")
		}
		in := map[string]any{"kind": text, "list": []any{text, map[string]any{"a" + text: text}}}
		out, err := manifests.Render(in, &structural.Schema{}, true)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if err := yaml.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if diff := cmp.Diff(in, got); diff != "" {
			t.Errorf("(-want +got):\n%s\nin\n%s", diff, out)
		}
	})
}
