// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural_test

import (
	"testing"

	"github.com/kube-go/sdk/derive/internal/structural"
)

func TestAt(t *testing.T) {
	text := &structural.Schema{Type: "string"}
	root := &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
		"metadata": {Type: "object"},
		"spec": {Type: "object", Properties: map[string]*structural.Schema{
			"name":   text,
			"a.b":    {Type: "integer"},
			"labels": {Type: "object", AdditionalProperties: text},
			"rows": {Type: "array", Items: &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
				"type": text, "size": {Type: "integer"},
			}}},
			"any": {PreserveUnknownFields: true},
		}},
	}}
	for _, tt := range []struct{ path, typ, err string }{
		{".spec", "object", ""},
		{".spec.name", "string", ""},
		{`.spec.a\.b`, "integer", ""},
		{`.spec['a.b']`, "integer", ""},
		{`.spec["name"]`, "string", ""},
		{".spec.labels.anything", "string", ""},
		{`.spec.labels['example.com/x']`, "string", ""},
		{".spec.rows[0].size", "integer", ""},
		{".spec.rows[*].type", "string", ""},
		{`.spec.rows[?(@.type=="a]b")].size`, "integer", ""},
		{".spec.any.thing[0].at.all", "", ""},
		{".metadata.generation", "integer", ""},
		{".metadata.labels.app", "string", ""},
		{".metadata.ownerReferences[0].name", "", ""},
		{".spec.nam", "", "path .spec.nam does not exist; did you mean .spec.name?"},
		{".status.x", "", "path .status does not exist"},
		{".metadata.nam", "", "path .metadata.nam does not exist; did you mean .metadata.name?"},
		{".spec.rows.size", "", `path .spec.rows is a list: select an item with [0] or [?(@.field=="value")]`},
		{".spec.name[0]", "", "path .spec.name is not a list, so it has no items"},
		{".spec.name.x", "", "path .spec.name.x does not exist"},
		{"spec", "", `path "spec" must begin with a dot`},
		{"", "", `path "" must begin with a dot`},
		{".spec.", "", `path ".spec." contains an empty name`},
		{".spec.rows[0", "", `path ".spec.rows[0" has an unclosed bracket`},
		{".spec.rows[0]size", "", `path ".spec.rows[0]size": expected a dot or a bracket before "size"`},
	} {
		s, err := root.At(tt.path)
		typ, msg := "", ""
		if s != nil {
			typ = s.Type
		}
		if err != nil {
			msg = err.Error()
		}
		if typ != tt.typ || msg != tt.err {
			t.Errorf("At(%s) = type %q, error %q; want type %q, error %q", tt.path, typ, msg, tt.typ, tt.err)
		}
	}
}

func FuzzAt(f *testing.F) {
	for _, seed := range []string{".a.b", ".a[0]", `.a['b']`, `.a[?(@.b=="]")].c`, `.a\.b`, ".", "[", ".a[", `.a["`} {
		f.Add(seed)
	}
	root := &structural.Schema{Type: "object", Properties: map[string]*structural.Schema{
		"a": {Type: "array", Items: &structural.Schema{PreserveUnknownFields: true}},
	}}
	f.Fuzz(func(t *testing.T, path string) {
		if s, err := root.At(path); s != nil && err != nil {
			t.Errorf("At(%q) = %v, %v, want either a schema or an error", path, s, err)
		}
	})
}
