// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package structural_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/derive/internal/structural"
)

func TestNearestEmbeddedPropertyWins(t *testing.T) {
	const defs = `"$defs":{
		"A":{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}},
		"B":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}},
		"AB":{"type":"object","allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]},
		"DeepA":{"type":"object","allOf":[{"$ref":"#/$defs/A"}]},
		"DeepB":{"type":"object","allOf":[{"$ref":"#/$defs/B"}]}}`
	for _, tt := range []struct {
		name      string
		allOf     string
		own       string
		want      string
		ambiguous []string
	}{
		{"two properties with the same depth are hidden", `A B`, ``, `{"type":"object","properties":{"y":{"type":"integer"}}}`, []string{"x"}},
		{
			"the property with the smaller depth wins regardless of the order", `DeepA B`, ``,
			`{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}}}`, nil,
		},
		{
			"a conflict inside an embedded struct is not reported again", `AB`, ``,
			`{"type":"object","properties":{"y":{"type":"integer"}}}`, nil,
		},
		{"two properties with the same depth in different structs", `DeepA DeepB`, ``, `{"type":"object","properties":{"y":{"type":"integer"}}}`, []string{"x"}},
		{
			"two hidden properties hide one with a greater depth", `AB DeepDeepA`, ``,
			`{"type":"object","properties":{"y":{"type":"integer"}}}`, nil,
		},
		{
			"the property of the struct itself wins", `A B`, `"properties":{"x":{"type":"boolean"}},`,
			`{"type":"object","properties":{"x":{"type":"boolean"},"y":{"type":"integer"}}}`, nil,
		},
		{
			"a property with a smaller depth wins over two hidden ones", `AB A`, ``,
			`{"type":"object","required":["x"],"properties":{"x":{"type":"string"},"y":{"type":"integer"}}}`, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var refs []string
			for name := range strings.FieldsSeq(tt.allOf) {
				refs = append(refs, `{"$ref":"#/$defs/`+name+`"}`)
			}
			more := strings.Replace(defs, `"AB"`, `"DeepDeepA":{"type":"object","allOf":[{"$ref":"#/$defs/DeepA"}]},"AB"`, 1)
			in := doc(t, `{"type":"object",`+tt.own+`"allOf":[`+strings.Join(refs, ",")+`],`+more+`}`)
			s, err := structural.Rewrite(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, []byte(tt.want)), encoded(t, s)); diff != "" {
				t.Errorf("Rewrite (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ambiguous, s.Ambiguous()); diff != "" {
				t.Errorf("Ambiguous (-want +got):\n%s", diff)
			}
		})
	}
}
