// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel_test

import (
	"strings"
	"testing"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/openapi"
)

func TestEscape(t *testing.T) {
	tests := []struct {
		name, in, want string
		ok             bool
	}{
		{"plain names are unchanged", "replicas", "replicas", true},
		{"dashes, dots and slashes are replaced by words", "a-b.c/d", "a__dash__b__dot__c__slash__d", true},
		{"two underscores are escaped", "a__b", "a__underscores__b", true},
		{"keywords are wrapped", "namespace", "__namespace__", true},
		{"names that begin with a digit are invalid", "1a", "", false},
		{"an empty name is invalid", "", "", false},
		{"names with other characters are invalid", "a b", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := cel.Escape(tt.in); got != tt.want || ok != tt.ok {
				t.Errorf("Escape(%q) = %q, %v, want %q, %v", tt.in, got, ok, tt.want, tt.ok)
			}
		})
	}
}

func nested() *openapi.Schema {
	text := &openapi.Schema{Type: "string"}
	return &openapi.Schema{Type: "object", Properties: map[string]*openapi.Schema{
		"a":   {Type: "object", Properties: map[string]*openapi.Schema{"b.c": text, "d": text}},
		"map": {Type: "object", AdditionalProperties: &openapi.SchemaOrBool{Allows: true, Schema: text}},
	}}
}

func TestFieldPath(t *testing.T) {
	tests := []struct{ name, in, want, wantErr string }{
		{"dots", ".a.d", "a.d", ""},
		{"brackets", ".a['b.c']", "a.b.c", ""},
		{"the key of a map", ".map['x y']", "map[x y]", ""},
		{"an escaped quote", `.map['it\'s']`, "map[it's]", ""},
		{"an empty path", "", "<nil>", ""},
		{"no dot", "a", "", "expected [ or . but got: a"},
		{"an unknown field", ".a.x", "", "does not refer to a valid field"},
		{"a field of a string", ".a.d.e", "", "does not refer to a valid field"},
		{"a path that ends with a dot", ".a.", "", "unexpected end of JSON path"},
		{"a path that ends with a bracket", ".a[", "", "unexpected end of JSON path"},
		{"an index", ".a[0]", "", "expected single quoted string but got 0"},
		{"an unclosed bracket", ".a['d'", "", "unexpected end of JSON path"},
		{"an invalid escape sequence", `.map['\x']`, "", `invalid escape char \x`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path, _, err := cel.FieldPath(tt.in, nested(), true)
			switch {
			case tt.wantErr != "":
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("FieldPath(%q) = %v, %v, want an error with %q", tt.in, path, err, tt.wantErr)
				}
			case err != nil || path.String() != tt.want:
				t.Errorf("FieldPath(%q) = %v, %v, want %q", tt.in, path, err, tt.want)
			}
		})
	}
	if _, _, err := cel.FieldPath(".a['d']", nested(), false); err == nil {
		t.Error("FieldPath accepts brackets with brackets = false")
	}
}

// FuzzFieldPath checks that each path either has a schema or is an error.
func FuzzFieldPath(f *testing.F) {
	for _, path := range []string{".a.d", ".a['b.c']", `.map['\'\\']`, ".a[", "..", "]", ".map.x", ".a['d']]"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, s, err := cel.FieldPath(text, nested(), true)
		if err == nil && s == nil {
			t.Errorf("FieldPath(%q) = %v, <nil>, want a schema", text, path)
		}
		if _, _, plain := cel.FieldPath(text, nested(), false); plain == nil && err != nil {
			t.Errorf("FieldPath(%q) is valid only without brackets: %v", text, err)
		}
	})
}

// TestLimits checks the cost limits of one evaluation and of all rules of an object.
func TestLimits(t *testing.T) {
	env := cel.NewEnvironment()
	many := &openapi.Schema{Type: "array", Items: &openapi.Items{Schema: &openapi.Schema{Type: "integer"}}, Validations: []openapi.Rule{
		{Rule: "self.all(x, self.all(y, self.all(z, x + y + z >= 0)))"},
	}}
	rules, err := env.Rules(many, false)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 200)
	for i := range list {
		list[i] = int64(i)
	}
	errs, left := rules.Check(nil, list, nil, nil, cel.Budget)
	if left >= 0 || len(errs) != 1 || !strings.Contains(errs[0].Detail, "call cost exceeds limit") {
		t.Errorf("Check = %v, %d", errs, left)
	}
	few := []any{int64(1), int64(2)}
	if errs, left = rules.Check(nil, few, nil, nil, 5); left >= 0 || len(errs) != 1 || !strings.Contains(errs[0].Detail, "out of cost budget") {
		t.Errorf("Check with a small budget = %v, %d", errs, left)
	}
	if errs, left = rules.Check(nil, few, nil, nil, cel.Budget); left <= 0 || len(errs) != 0 {
		t.Errorf("Check = %v, %d", errs, left)
	}
}
