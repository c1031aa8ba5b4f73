// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

func TestDecoderAgreesWithTheOpenAPILibrary(t *testing.T) {
	data := Document(SchemasDocument)
	var want map[string]*spec.Schema
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	got, err := decodeSchemas(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("decodeSchemas() has %d definitions, want %d", len(got), len(want))
	}
	for name := range want {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("decodeSchemas()[%q] = %+v, want %+v", name, got[name], want[name])
		}
	}
}

func TestDecoderReportsWhatItDoesNotSupport(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"an unknown keyword", `{"a":{"type":"object","not":{}}}`, `keyword "not" is not supported`},
		{"a value of another type", `{"a":{"properties":{"b":1}}}`, "token is number, not {"},
		{"a document that ends early", `{"a":{`, "unexpected EOF"},
		{"no object", `[]`, "token is [, not {"},
		{"a null default", `{"a":{"default":null}}`, "at /a/default: null is not supported"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := decodeSchemas([]byte(test.in)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("decodeSchemas(%s) = %v, want %q", test.in, err, test.want)
			}
		})
	}
}

func TestGenerationTableNamesBuiltInKinds(t *testing.T) {
	known := map[string]bool{}
	for gvk := range models() {
		known[gvk.GroupKind().String()] = true
	}
	for kind := range desired() {
		if !known[kind.String()] {
			t.Errorf("%s is not built in", kind)
		}
	}
}

func BenchmarkSchemas(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeSchemas(Document(SchemasDocument)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSchemasUncompress(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Document(SchemasDocument)
	}
}
