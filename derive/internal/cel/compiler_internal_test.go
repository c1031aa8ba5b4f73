// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"strings"
	"sync"
	"testing"

	"github.com/kube-go/sdk/derive/internal/openapi"
)

// withText returns the schema of an object with a string and rules.
func withText(maxLength int64, rules ...openapi.Rule) *openapi.Schema {
	return &openapi.Schema{
		Type:        "object",
		Properties:  map[string]*openapi.Schema{"a": {Type: "string", MaxLength: &maxLength}},
		Validations: rules,
	}
}

func TestCompileSharesEqualPrograms(t *testing.T) {
	env := NewEnvironment()
	compile := func(s *openapi.Schema) Program {
		t.Helper()
		programs, err := env.Compile(s, TypeOf(s, false))
		if err != nil || programs[0].Err != nil {
			t.Fatalf("Compile = %v, %v", programs, err)
		}
		return programs[0]
	}
	rule := openapi.Rule{Rule: "self.a.contains('x')"}
	first := compile(withText(5, rule))
	for _, tt := range []struct {
		name   string
		schema *openapi.Schema
		shared bool
	}{
		{"the same rule for the same type", withText(5, rule), true},
		{"another message", withText(5, openapi.Rule{Rule: rule.Rule, Message: "no x"}), true},
		{"another field", withText(5, openapi.Rule{Rule: rule.Rule, FieldPath: ".a"}), true},
		{"another bound, which changes the cost", withText(6, rule), false},
		{"another rule", withText(5, openapi.Rule{Rule: "self.a.contains('y')"}), false},
		{"a message expression", withText(5, openapi.Rule{Rule: rule.Rule, MessageExpression: "self.a"}), false},
		{"an optional oldSelf", withText(5, openapi.Rule{Rule: rule.Rule, OptionalOldSelf: new(true)}), false},
	} {
		got := compile(tt.schema)
		if shared := got.rule == first.rule; shared != tt.shared {
			t.Errorf("%s: shared = %v, want %v", tt.name, shared, tt.shared)
		}
		want := tt.schema.Validations[0]
		if got.source.Message != want.Message || got.source.FieldPath != want.FieldPath || got.path != strings.TrimPrefix(want.FieldPath, ".") {
			t.Errorf("%s: Compile = %+v at %q, want %+v", tt.name, got.source, got.path, want)
		}
		if (got.MaxCost == first.MaxCost) != (*tt.schema.Properties["a"].MaxLength == 5) {
			t.Errorf("%s: MaxCost = %d, MaxCost of the first program = %d", tt.name, got.MaxCost, first.MaxCost)
		}
	}
}

func TestCompileIsSafeForConcurrentUse(t *testing.T) {
	env := NewEnvironment()
	programs := make([]Program, 8)
	var wg sync.WaitGroup
	for i := range programs {
		wg.Go(func() {
			s := withText(5, openapi.Rule{Rule: "self.a != 'x'", MessageExpression: "'not ' + self.a"})
			list, err := env.Compile(s, TypeOf(s, false))
			if err != nil {
				t.Error(err)
				return
			}
			programs[i] = list[0]
		})
	}
	wg.Wait()
	for _, p := range programs {
		if p.rule == nil || p.rule != programs[0].rule || p.message != programs[0].message {
			t.Errorf("Compile = %+v, want %+v", p, programs[0])
		}
	}
}

func TestTypeSame(t *testing.T) {
	text := func() *openapi.Schema { return &openapi.Schema{Type: "string"} }
	list := func(of *openapi.Schema) *openapi.Schema {
		return &openapi.Schema{Type: "array", Items: &openapi.Items{Schema: of}}
	}
	of := func(name string, p *openapi.Schema) *openapi.Schema {
		return &openapi.Schema{Type: "object", Properties: map[string]*openapi.Schema{name: p}}
	}
	described := text()
	described.Description = "Text."
	for _, tt := range []struct {
		name string
		a, b *openapi.Schema
		want bool
	}{
		{"strings", text(), text(), true},
		{"descriptions are ignored", text(), described, true},
		{"a string and a number", text(), &openapi.Schema{Type: "integer"}, false},
		{"lists of equal types", list(of("a", text())), list(of("a", text())), true},
		{"lists of objects with different properties", list(of("a", text())), list(of("b", text())), false},
		{"objects with properties of different types", of("a", text()), of("a", &openapi.Schema{Type: "boolean"}), false},
		{"a list and its items", list(text()), text(), false},
		{"an object with and without properties", of("a", text()), &openapi.Schema{Type: "object"}, false},
	} {
		if got := TypeOf(tt.a, false).same(TypeOf(tt.b, false)); got != tt.want {
			t.Errorf("%s: same = %v, want %v", tt.name, got, tt.want)
		}
	}
}
