// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/internal/cel"
	"github.com/kube-go/sdk/derive/internal/definition"
)

// tests/e2e records the server's response for each validation rule, and package validation compares the responses with
// the results of this package. The tests here cover the remaining errors, and one example of each group of rules.

// good is a valid definition that the tests modify.
const good = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {a: {type: string}, n: {type: integer}}}
`

func jsonOf(t *testing.T, text string) []byte {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRead(t *testing.T) {
	const a = "a: {type: string}"
	ruled := func(rule string) string {
		return fmt.Sprintf("a: {type: string, x-kubernetes-validations: [{rule: %q}]}", rule)
	}
	for _, tt := range []struct {
		name     string
		old, new string
		want     []string // field and a substring of the message
	}{
		{"a valid definition", "", "", nil},
		{"another kind", "kind: CustomResourceDefinition", "kind: ConfigMap", []string{`kind: is ConfigMap of "apiextensions.k8s.io/v1"`}},
		{"an unknown field", "scope: Namespaced", "scope: Namespaced\n  scop: Cluster", []string{`: unknown field "spec.scop"`}},
		{"a field of another type", "served: true", "served: 5", []string{": decode the definition: "}},
		{"a name of another kind", "plural: things", "plural: others", []string{`metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group`}},
		{"no storage version", "storage: true", "storage: false", []string{"spec.versions: Invalid value", "status.storedVersions: Invalid value: null: must have at least one stored version"}},
		{"an unknown type", a, "a: {type: text}", []string{
			`spec.validation.openAPIV3Schema.properties[spec].properties[a].type: Unsupported value: "text"`,
		}},
		{"no type", a, "a: {}", []string{"properties[a].type: Required value: must not be empty for specified object fields"}},
		{"a default that violates its schema", a, "a: {type: string, default: 5}", []string{"properties[a].default: Invalid value: \"integer\":  in body must be of type string"}},
		{"a rule that does not compile", a, ruled("self >"), []string{"properties[a].x-kubernetes-validations[0].rule: Invalid value"}},
		{"a rule that is too expensive", a, ruled("self.matches(self) && [1,2,3,4,5,6,7,8,9].all(x, [1,2,3,4,5,6,7,8,9].all(y, self.contains(self)))"), []string{
			"properties[a].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget",
		}},
		{"a webhook without HTTPS", "scope:", "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'http://a'}}}\n  scope:", []string{
			`spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme`,
		}},
		{"a status subresource with a root that is not an object", "openAPIV3Schema:\n        type: object", "openAPIV3Schema:\n        type: array", []string{
			`only "object" is allowed as the type at the root`, "must be object",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(good, tt.old) {
				t.Fatalf("definition does not contain %q", tt.old)
			}
			_, problems := definition.Read(jsonOf(t, strings.Replace(good, tt.old, tt.new, 1)), cel.NewEnvironment())
			for _, want := range tt.want {
				found := false
				for _, p := range problems {
					found = found || strings.Contains(p.Field+": "+p.Message, want)
				}
				if !found {
					t.Errorf("Read() = %[2]v, want %[1]q", want, problems)
				}
			}
			if len(tt.want) == 0 && len(problems) > 0 {
				t.Errorf("Read() = %v, want no problems", problems)
			}
		})
	}
}

func TestReadSetsDefaults(t *testing.T) {
	def, problems := definition.Read(jsonOf(t, good), cel.NewEnvironment())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := []string{def.Spec.Names.Singular, def.Spec.Names.ListKind, def.Spec.Conversion.Strategy}
	if diff := cmp.Diff([]string{"thing", "ThingList", "None"}, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestReadOfOversizedDefinition(t *testing.T) {
	const limit = 3 << 19
	sized := func(n int) []byte {
		body := jsonOf(t, good)
		const at = `"type":"object"`
		text := `"description":"` + strings.Repeat("x", n-len(body)-len(`"description":"",`)) + `",` + at
		return []byte(strings.Replace(string(body), at, text, 1))
	}
	if _, problems := definition.Read(sized(limit), cel.NewEnvironment()); len(problems) > 0 {
		t.Errorf("Read of the maximum size = %v, want no problems", problems)
	}
	_, problems := definition.Read(sized(limit+1), cel.NewEnvironment())
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "has 1572865 bytes, but API servers store at most 1572864 bytes") {
		t.Errorf("Read of the maximum size plus one byte = %v", problems)
	}
}

// FuzzRead checks that no input causes a panic, and that all problems have a message.
func FuzzRead(f *testing.F) {
	body, err := yaml.YAMLToJSON([]byte(good))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(body))
	f.Add(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{},"default":[]}}},{}]}}`)
	env := cel.NewEnvironment()
	f.Fuzz(func(t *testing.T, text string) {
		if def, problems := definition.Read([]byte(text), env); def == nil && len(problems) == 0 {
			t.Errorf("Read(%q) returns an empty message", text)
		}
	})
}
