// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package openapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

func TestDecodeReportsUnknownFields(t *testing.T) {
	def, unknown, err := openapi.Decode([]byte(`{"spec":{"group":"g","gruop":"h","versions":[{"name":"v1","served":true,"Storage":true,"schema":{"openAPIV3Schema":{"type":"object","readOnly":true}}}]}}`))
	if err != nil || def.Spec.Group != "g" || def.Version("v1").Root().Type != "object" {
		t.Fatalf("Decode = %v, %v", def, err)
	}
	want := []string{
		`unknown field "spec.gruop"`, `miscased field "spec.versions[0].Storage"`, `unknown field "spec.versions[0].schema.openAPIV3Schema.readOnly"`,
	}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if def.Version("v2") != nil {
		t.Error("Version(v2) is not nil")
	}
}

// FuzzSchema checks that each schema that can be decoded can be encoded and decoded again without changes.
func FuzzSchema(f *testing.F) {
	for _, text := range []string{
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}},"additionalProperties":false}`,
		`{"items":[{"type":"string"}],"additionalProperties":{"type":"integer","minimum":1.5},"dependencies":{"a":["b"],"c":{"type":"string"}}}`,
		`{"x-kubernetes-validations":[{"rule":"self == oldSelf","optionalOldSelf":true}],"enum":[1,null,{"a":[2.5]}],"default":null}`,
		`{"items":true}`, `{"items":[],"dependencies":{"a":[],"b":null}}`, `{"additionalProperties":5}`, `[]`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s, again *openapi.Schema
		if wire.UnmarshalJSON(text, &s) != nil || s == nil {
			return
		}
		depth := 0
		s.Each(func(*openapi.Schema) { depth++ })
		if depth == 0 {
			t.Error("Each does not visit the schema itself")
		}
		body, err := wire.MarshalJSON(s)
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatal(err)
		}
		if err := wire.UnmarshalJSON(body, &again); err != nil {
			t.Fatalf("encoding of %s = %s: %v", text, body, err)
		}
		bodyAgain, err := wire.MarshalJSON(again)
		if err != nil || string(bodyAgain) != string(body) {
			t.Errorf("encoding of %s = %s, then %s, %v", text, body, bodyAgain, err)
		}
	})
}
