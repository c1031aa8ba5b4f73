// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/evolution"
	"github.com/kube-go/sdk/derive/validation"
)

// base is a definition that tests modify. SCHEMA is a placeholder for the schema of .spec.f.
const base = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing, shortNames: [th], categories: [all]}
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    selectableFields:
    - {jsonPath: .spec.color}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              f: SCHEMA
`

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return crd
}

// withField returns a definition with a schema of .spec.f, which is YAML in flow style.
func withField(t testing.TB, schema string) *unstructured.Unstructured {
	t.Helper()
	return parse(t, strings.Replace(base, "SCHEMA", schema, 1))
}

// briefly formats changes without Why.
func briefly(changes []evolution.Change) []string {
	lines := []string{}
	for _, c := range changes {
		head := strings.TrimPrefix(strings.TrimPrefix(c.ID(), "things.example.com"), "/v1.spec.f")
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s -> %s", c.Severity, head, c.Old, c.New)))
	}
	return lines
}

func TestCompareSchemas(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after string
		want          []string
	}{
		{"the same", `{type: string, maxLength: 3}`, `{type: string, maxLength: 3, description: better}`, nil},
		{"a removed field", `{type: object, properties: {a: {type: string}, b: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`, []string{`breaking .b:field "string" ->`}},
		{"an added field", `{type: object}`, `{type: object, properties: {a: {x-kubernetes-int-or-string: true}}}`, []string{`compatible .a:field  -> "integer or string"`}},
		{"a field that becomes an unknown field and is preserved", `{type: object, properties: {a: {type: string}}}`, `{type: object, x-kubernetes-preserve-unknown-fields: true}`, []string{`compatible :x-kubernetes-preserve-unknown-fields  -> true`, `compatible .a:field "string" ->`}},
		{"a field that becomes a key", `{type: object, properties: {a: {type: string}}}`, `{type: object, additionalProperties: {type: string}}`, []string{`compatible :additionalProperties  -> {"type":"string"}`}},
		{"a key that becomes a field", `{type: object, additionalProperties: {type: string}}`, `{type: object, properties: {a: {type: integer}}}`, []string{`breaking :additionalProperties {"type":"string"} ->`, `breaking .a:type "string" -> "integer"`}},
		{"an unknown field that becomes known", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}`, []string{`risky .a:field  -> "string"`}},
		{"unknown fields that are dropped", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object}`, []string{`breaking :x-kubernetes-preserve-unknown-fields true ->`}},
		{"boolean additionalProperties", `{type: object, additionalProperties: true}`, `{type: object, additionalProperties: false}`, []string{`breaking :x-kubernetes-preserve-unknown-fields true ->`}},
		{"a field whose schema is null", `{type: object, properties: {a: null}, anyOf: [null]}`, `{type: object, properties: {a: {type: string}}, anyOf: [null]}`, []string{`breaking .a:type "anything" -> "string"`}},
		{"unknown fields that are validated", `{type: object, additionalProperties: true}`, `{type: object, additionalProperties: {type: string}}`, []string{`breaking :additionalProperties  -> {"type":"string"}`}},
		{"keys whose values are narrowed", `{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: string, maxLength: 1}}`, []string{`breaking [*]:maxLength  -> 1`}},
		{"another type", `{type: string}`, `{type: integer}`, []string{`breaking :type "string" -> "integer"`}},
		{"fields below a changed type are not compared", `{type: object, properties: {a: {type: string}}}`, `{type: string, maxLength: 3}`, []string{`breaking :type "object" -> "string"`}},
		{"a wider type", `{type: integer}`, `{type: number}`, []string{`risky :type "integer" -> "number"`}},
		{"a narrower type", `{type: number}`, `{type: integer}`, []string{`breaking :type "number" -> "integer"`}},
		{"string becomes int-or-string", `{type: string}`, `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`, []string{`risky :x-kubernetes-int-or-string "string" -> "integer or string"`}},
		{"int-or-string removed", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`, `{type: string}`, []string{`breaking :x-kubernetes-int-or-string "integer or string" -> "string"`}},
		{"int-or-string with and without anyOf", `{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}`, `{x-kubernetes-int-or-string: true}`, nil},
		{"null becomes invalid", `{type: string, nullable: true}`, `{type: string}`, []string{`risky :nullable true ->`}},
		{"null becomes invalid in a map", `{type: object, additionalProperties: {type: string, nullable: true}}`, `{type: object, additionalProperties: {type: string}}`, []string{`risky [*]:nullable true ->`}},
		{"null becomes invalid in a list", `{type: array, items: {type: string, nullable: true}}`, `{type: array, items: {type: string}}`, []string{`breaking []:nullable true ->`}},
		{"null becomes valid", `{type: string}`, `{type: string, nullable: true}`, []string{`compatible :nullable  -> true`}},
		{"a new format", `{type: string}`, `{type: string, format: date-time}`, []string{`breaking :format  -> "date-time"`}},
		{"a removed format", `{type: string, format: uuid}`, `{type: string}`, []string{`compatible :format "uuid" ->`}},
		{"a format that servers don't validate", `{type: string}`, `{type: string, format: colour}`, []string{`compatible :format  -> "colour"`}},
		{"a wider integer", `{type: integer, format: int32}`, `{type: integer, format: int64}`, []string{`compatible :format "int32" -> "int64"`}},
		{"a narrower integer", `{type: integer, format: int64}`, `{type: integer, format: int32}`, []string{`breaking :format "int64" -> "int32"`}},
		{"values of an enum", `{type: string, enum: [a, b]}`, `{type: string, enum: [b, c]}`, []string{`compatible :enum  -> "c"`, `breaking :enum "a" ->`}},
		{"a new enum", `{type: string}`, `{type: string, enum: [b]}`, []string{`breaking :enum  -> ["b"]`}},
		{"a removed enum", `{type: integer, enum: [1]}`, `{type: integer}`, []string{`compatible :enum [1] ->`}},
		{"stricter bounds", `{type: string, maxLength: 80, minLength: 1}`, `{type: string, maxLength: 40, minLength: 2}`, []string{`breaking :maxLength 80 -> 40`, `breaking :minLength 1 -> 2`}},
		{"looser bounds", `{type: array, items: {type: string}, maxItems: 8, minItems: 2}`, `{type: array, items: {type: string}, maxItems: 9, minItems: 1}`, []string{`compatible :maxItems 8 -> 9`, `compatible :minItems 2 -> 1`}},
		{"a new bound and a removed bound", `{type: object, additionalProperties: {type: string}, maxProperties: 1}`, `{type: object, additionalProperties: {type: string}, minProperties: 1}`, []string{`compatible :maxProperties 1 ->`, `breaking :minProperties  -> 1`}},
		{"a minimum length of zero", `{type: string}`, `{type: string, minLength: 0}`, nil},
		{"equal numbers in different notations", `{type: number, maximum: 10}`, `{type: number, maximum: 1e1}`, nil},
		{"stricter bounds of numbers", `{type: number, maximum: 10, minimum: -1}`, `{type: number, maximum: 9.5, minimum: 0}`, []string{`breaking :maximum 10 -> 9.5`, `breaking :minimum -1 -> 0`}},
		{"a bound that becomes exclusive", `{type: number, maximum: 10}`, `{type: number, maximum: 10, exclusiveMaximum: true}`, []string{`breaking :maximum 10 -> 10 exclusively`}},
		{"a bound that becomes inclusive", `{type: number, minimum: 10, exclusiveMinimum: true}`, `{type: number, minimum: 10}`, []string{`compatible :minimum 10 exclusively -> 10`}},
		{"a divisor of the old multipleOf", `{type: integer, multipleOf: 4}`, `{type: integer, multipleOf: 2}`, []string{`compatible :multipleOf 4 -> 2`}},
		{"a divisor that is a fraction", `{type: number, multipleOf: 0.3}`, `{type: number, multipleOf: 0.1}`, []string{`compatible :multipleOf 0.3 -> 0.1`}},
		{"equal multipleOf in different notations", `{type: number, multipleOf: 10}`, `{type: number, multipleOf: 1e1}`, nil},
		{"another multipleOf", `{type: integer, multipleOf: 4}`, `{type: integer, multipleOf: 3}`, []string{`breaking :multipleOf 4 -> 3`}},
		{"a new multipleOf", `{type: integer}`, `{type: integer, multipleOf: 3}`, []string{`breaking :multipleOf  -> 3`}},
		{"a new pattern", `{type: string}`, `{type: string, pattern: ^a}`, []string{`breaking :pattern  -> "^a"`}},
		{"another pattern", `{type: string, pattern: ^a}`, `{type: string, pattern: ^ab}`, []string{`breaking :pattern "^a" -> "^ab"`}},
		{"a removed pattern", `{type: string, pattern: ^a}`, `{type: string}`, []string{`compatible :pattern "^a" ->`}},
		{"a field that becomes required", `{type: object, properties: {a: {type: string}}}`, `{type: object, required: [a], properties: {a: {type: string}}}`, []string{`breaking .a:required  -> true`}},
		{"a new required field", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string}}}`, []string{`compatible .a:field  -> "string"`, `breaking .a:required  -> true`}},
		{"a new required field with a default", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string, default: x}}}`, []string{`compatible .a:field  -> "string"`}},
		{"a field that becomes optional", `{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`, []string{`compatible .a:required true ->`}},
		{"a required field that is removed", `{type: object, required: [a], properties: {a: {type: string}}}`, `{type: object}`, []string{`breaking .a:field "string" ->`}},
		{"a required field that loses its default", `{type: object, required: [a], properties: {a: {type: string, default: x}}}`, `{type: object, required: [a], properties: {a: {type: string}}}`, []string{`risky .a:default "x" ->`, `breaking .a:required  -> true`}},
		{"a new default", `{type: integer}`, `{type: integer, default: 0}`, []string{`risky :default  -> 0`}},
		{"another default", `{type: integer, default: 1}`, `{type: integer, default: 2}`, []string{`risky :default 1 -> 2`}},
		{"a list that becomes a set", `{type: array, items: {type: string}}`, `{type: array, items: {type: string}, x-kubernetes-list-type: set}`, []string{`breaking :x-kubernetes-list-type "atomic" -> "set"`}},
		{"a list of type map that becomes atomic", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, required: [k], properties: {k: {type: string}}}}`, `{type: array, items: {type: object, required: [k], properties: {k: {type: string}}}}`, []string{`risky :x-kubernetes-list-type "map" -> "atomic"`}},
		{"the order of the keys of a list", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}`, `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [l, k], items: {type: object}}`, nil},
		{"other keys of a list", `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object}}`, `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}`, []string{`breaking :x-kubernetes-list-map-keys ["k"] -> ["k","l"]`}},
		{"an explicitly atomic list", `{type: array, items: {type: string}}`, `{type: array, items: {type: string}, x-kubernetes-list-type: atomic}`, nil},
		{"an atomic map", `{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}`, []string{`risky :x-kubernetes-map-type "granular" -> "atomic"`}},
		{"items of a list", `{type: array, items: {type: object, properties: {a: {type: string}}}}`, `{type: array, items: {type: object}}`, []string{`breaking [].a:field "string" ->`}},
		{"an embedded resource", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}`, []string{`breaking :x-kubernetes-embedded-resource  -> true`}},
		{"a kind that an embedded resource has anyway", `{type: object, x-kubernetes-embedded-resource: true, properties: {kind: {type: string}}}`, `{type: object, x-kubernetes-embedded-resource: true, properties: {a: {type: string}}}`, []string{`compatible .a:field  -> "string"`, `compatible .kind:field "string" ->`}},
		{"a kind of an embedded resource", `{type: object, x-kubernetes-embedded-resource: true, properties: {a: {type: string}}}`, `{type: object, x-kubernetes-embedded-resource: true, properties: {a: {type: string}, kind: {type: string}}}`, []string{`risky .kind:field  -> "string"`}},
		{"a removed embedded resource", `{type: object, x-kubernetes-embedded-resource: true, properties: {a: {type: string}}}`, `{type: object, properties: {a: {type: string}}}`, []string{`breaking :x-kubernetes-embedded-resource true ->`}},
		{"a new rule", `{type: integer}`, `{type: integer, x-kubernetes-validations: [{rule: self > 1}]}`, []string{`breaking :x-kubernetes-validations  -> "self > 1"`}},
		{"a rule with another message", `{type: integer, x-kubernetes-validations: [{rule: self > 1}]}`, `{type: integer, x-kubernetes-validations: [{rule: self > 1, message: more}]}`, nil},
		{"a removed rule", `{type: integer, x-kubernetes-validations: [{rule: self > 1}]}`, `{type: integer}`, []string{`compatible :x-kubernetes-validations "self > 1" ->`}},
		{"a transition rule that becomes valid for creates", `{type: integer, x-kubernetes-validations: [{rule: self == oldSelf}]}`, `{type: integer, x-kubernetes-validations: [{rule: self == oldSelf, optionalOldSelf: true}]}`, []string{`breaking :x-kubernetes-validations  -> "self == oldSelf"`}},
		{"alternatives", `{type: object, anyOf: [{required: [a]}, {required: [b]}]}`, `{type: object, anyOf: [{required: [b]}, {required: [c]}]}`, []string{`compatible :anyOf  -> {"required":["c"]}`, `breaking :anyOf {"required":["a"]} ->`}},
		{"new alternatives", `{type: object}`, `{type: object, anyOf: [{required: [b]}]}`, []string{`breaking :anyOf  -> [{"required":["b"]}]`}},
		{"removed alternatives", `{type: object, anyOf: [{required: [b]}]}`, `{type: object}`, []string{`compatible :anyOf [{"required":["b"]}] ->`}},
		{"another oneOf", `{type: object, oneOf: [{required: [b]}]}`, `{type: object, oneOf: [{required: [b]}, {required: [c]}]}`, []string{`breaking :oneOf [{"required":["b"]}] -> [{"required":["b"]},{"required":["c"]}]`}},
		{"a new oneOf", `{type: object}`, `{type: object, oneOf: [{required: [b]}]}`, []string{`breaking :oneOf  -> [{"required":["b"]}]`}},
		{"a removed oneOf", `{type: object, oneOf: [{required: [b]}]}`, `{type: object}`, []string{`compatible :oneOf [{"required":["b"]}] ->`}},
		{"another not", `{type: string, not: {enum: [a]}}`, `{type: string, not: {enum: [b]}}`, []string{`breaking :not {"enum":["a"]} -> {"enum":["b"]}`}},
		{"a new not", `{type: string}`, `{type: string, not: {enum: [b]}}`, []string{`breaking :not  -> {"enum":["b"]}`}},
		{"a removed not", `{type: string, not: {enum: [a]}}`, `{type: string}`, []string{`compatible :not {"enum":["a"]} ->`}},
		{"bounds in allOf", `{type: string, allOf: [{maxLength: 8}, {maxLength: 9}]}`, `{type: string, allOf: [{maxLength: 7}, {maxLength: 10}]}`, []string{`breaking :maxLength 8 -> 7`, `compatible :maxLength 9 -> 10`}},
		{"a schema added to allOf", `{type: string, allOf: [{maxLength: 8}]}`, `{type: string, allOf: [{maxLength: 8}, {pattern: a}]}`, []string{`breaking :allOf  -> {"pattern":"a"}`}},
		{"a schema removed from allOf", `{type: string, allOf: [{maxLength: 8}, {pattern: a}]}`, `{type: string, allOf: [{maxLength: 8}]}`, []string{`compatible :allOf {"pattern":"a"} ->`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := evolution.Compare(withField(t, tt.before), withField(t, tt.after))
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				tt.want = []string{}
			}
			if diff := cmp.Diff(tt.want, briefly(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			for _, c := range changes {
				if c.Why == "" {
					t.Errorf("%s has no reason", c)
				}
			}
			unchanged(t, withField(t, tt.before))
			unchanged(t, withField(t, tt.after))
		})
	}
}

// unchanged checks that the comparison of a definition with itself returns no changes.
func unchanged(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	if changes, err := evolution.Compare(crd, crd); err != nil || len(changes) > 0 {
		t.Errorf("Compare(crd, crd) = %v, %v, want no changes", changes, err)
	}
}

func TestCompareDefinitions(t *testing.T) {
	const second = "\n  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}"
	replace := func(pairs ...string) func(string) string {
		return func(s string) string {
			for i := 0; i < len(pairs); i += 2 {
				if !strings.Contains(s, pairs[i]) {
					panic("definition does not contain " + pairs[i])
				}
				s = strings.Replace(s, pairs[i], pairs[i+1], 1)
			}
			return s
		}
	}
	add := func(text string) func(string) string {
		return func(s string) string { return strings.TrimRight(s, "\n") + text + "\n" }
	}
	same := func(s string) string { return s }
	webhook := func(service string) func(string) string {
		return replace("strategy: None", "strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: a, name: "+service+"}}}")
	}
	for _, tt := range []struct {
		name          string
		before, after func(string) string
		want          []string
	}{
		{"the scope", same, replace("Namespaced", "Cluster"), []string{`breaking :scope "Namespaced" -> "Cluster"`}},
		{"the group", same, replace("group: example.com", "group: example.org"), []string{`breaking :group "example.com" -> "example.org"`}},
		{"the kind", same, replace("kind: Thing", "kind: Object"), []string{`breaking :names.kind "Thing" -> "Object"`}},
		{"other names", same, replace("ThingList", "Things", "singular: thing", "singular: object", "[th]", "[ob]", "[all]", "[]"), []string{
			`risky :names.categories "all" ->`, `risky :names.listKind "ThingList" -> "Things"`,
			`compatible :names.shortNames  -> "ob"`, `risky :names.shortNames "th" ->`, `risky :names.singular "thing" -> "object"`,
		}},
		{"names with defaults", replace("listKind: ThingList, ", "", "singular: thing, ", ""), same, []string{}},
		{"preserveUnknownFields of the definition", replace("scope:", "preserveUnknownFields: true\n  scope:"), same, []string{`breaking :preserveUnknownFields true ->`}},
		{"a removed version", add(second), same, []string{`breaking /v2:version "v2" ->`}},
		{"a removed version that was neither served nor stored", add(strings.Replace(second, "true", "false", 1)), same, []string{`compatible /v2:version "v2" ->`}},
		{"a new version without a field", same, add(second), []string{`compatible /v2:version  -> "v2"`, `breaking /v2.spec.f:field "string" ->`}},
		{"a new version with a field that is not stored", same, add(strings.Replace(second, "spec: {type: object}", "spec: {type: object, properties: {f: {type: string}, g: {type: string}}}", 1)), []string{`compatible /v2:version  -> "v2"`, `risky /v2.spec.g:conversion  -> "string"`}},
		{"a new field in a version that is not stored", add(second), add(strings.Replace(second, "spec: {type: object}", "spec: {type: object, properties: {g: {type: string}}}", 1)), []string{`risky /v2.spec.g:conversion  -> "string"`, `compatible /v2.spec.g:field  -> "string"`}},
		{"a field that was not stored before", add(strings.Replace(second, "spec: {type: object}", "spec: {type: object, properties: {g: {type: string}}}", 1)), add(strings.Replace(second, "spec: {type: object}", "spec: {type: object, properties: {g: {type: string}}}", 1)), []string{}},
		{"a new version with conversion", same, func(s string) string { return add(second)(replace("None", "Webhook")(s)) }, []string{`risky :conversion "None" -> "Webhook"`, `compatible /v2:version  -> "v2"`}},
		{"another webhook", webhook("b"), webhook("c"), []string{
			`risky :conversion.webhook.clientConfig {"service":{"namespace":"a","name":"b","port":443}} -> {"service":{"namespace":"a","name":"c","port":443}}`,
		}},
		{"the same webhook with injected fields", webhook("b"), webhook("b, port: 443}, caBundle: abc, other: {x: y"), []string{}},
		{"another version of ConversionReview", webhook("b"), func(s string) string { return strings.Replace(webhook("b")(s), "[v1]", "[v1beta1]", 1) }, []string{
			`compatible :conversion.webhook.conversionReviewVersions  -> "v1beta1"`, `risky :conversion.webhook.conversionReviewVersions "v1" ->`,
		}},
		{"removed conversion of one version", replace("None", "Webhook"), same, []string{`compatible :conversion "Webhook" -> "None"`}},
		{"removed conversion of several versions", func(s string) string { return add(second)(replace("None", "Webhook")(s)) }, add(second), []string{`breaking :conversion "Webhook" -> "None"`}},
		{"a version that becomes unserved", same, replace("served: true", "served: false"), []string{`breaking /v1:served true -> false`}},
		{"a version that becomes served", replace("served: true", "served: false"), same, []string{`compatible /v1:served false -> true`}},
		{"a version that becomes served and differs from the storage version", add(strings.Replace(second, "true", "false", 1)), add(second), []string{`compatible /v2:served false -> true`, `breaking /v2.spec.f:field "string" ->`}},
		{"a deprecated version", same, replace("storage: true", "storage: true\n    deprecated: true"), []string{`compatible /v1:deprecated  -> true`}},
		{"a version that becomes undeprecated", replace("storage: true", "storage: true\n    deprecated: true"), same, []string{`compatible /v1:deprecated true ->`}},
		{"the storage version", add(second), func(s string) string {
			return replace("storage: true", "storage: false", "served: true, storage: false", "served: true, storage: true")(add(second)(s))
		}, []string{`risky :storage "v1" -> "v2"`, `risky :conversion  -> "string"`}},
		{"a storage version that is missing in storedVersions", add(second), func(s string) string {
			return add("\nstatus: {storedVersions: [v2]}")(replace("storage: true", "storage: false", "served: true, storage: false", "served: true, storage: true")(add(second)(s)))
		}, []string{`breaking :storage "v1" -> "v2"`, `risky :conversion  -> "string"`}},
		{"a removed status subresource", same, replace("status: {}\n      ", ""), []string{`breaking /v1:subresources.status {} ->`}},
		{"a new status subresource", replace("status: {}\n      ", ""), same, []string{`breaking /v1:subresources.status  -> {}`}},
		{"a removed scale subresource", same, replace("      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}\n", ""), []string{`breaking /v1:subresources.scale {"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"} ->`}},
		{"another scale", same, replace(".spec.replicas", ".spec.count"), []string{`risky /v1:subresources.scale {"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"} -> {"specReplicasPath":".spec.count","statusReplicasPath":".status.replicas"}`}},
		{"a column", same, replace("name: Size", "name: Width"), []string{`compatible /v1:column  -> {"name":"Width","type":"integer","jsonPath":".spec.size"}`, `risky /v1:column {"name":"Size","type":"integer","jsonPath":".spec.size"} ->`}},
		{"the path of a column", same, replace("jsonPath: .spec.size", "jsonPath: .spec.width"), []string{`risky /v1:column {"name":"Size","type":"integer","jsonPath":".spec.size"} -> {"name":"Size","type":"integer","jsonPath":".spec.width"}`}},
		{"the first column", replace("    additionalPrinterColumns:\n    - {name: Size, type: integer, jsonPath: .spec.size}\n", ""), same, []string{`compatible /v1:column  -> {"name":"Size","type":"integer","jsonPath":".spec.size"}`, `risky /v1:column {"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"} ->`}},
		{"the implicit column", replace("    additionalPrinterColumns:\n    - {name: Size, type: integer, jsonPath: .spec.size}\n", ""), replace("{name: Size, type: integer, jsonPath: .spec.size}", "{name: Age, type: date, jsonPath: .metadata.creationTimestamp}"), []string{}},
		{"a selectable field", same, replace("jsonPath: .spec.color", "jsonPath: .spec.colour"), []string{`breaking /v1.spec.color:selectableField ".spec.color" ->`, `compatible /v1.spec.colour:selectableField  -> ".spec.colour"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(base, "SCHEMA", "{type: string}", 1)
			changes, err := evolution.Compare(parse(t, tt.before(text)), parse(t, tt.after(text)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, briefly(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			unchanged(t, parse(t, tt.before(text)))
			unchanged(t, parse(t, tt.after(text)))
		})
	}
}

func TestRemovedVersionWithStoredObjectsIsBreaking(t *testing.T) {
	text := strings.Replace(base, "SCHEMA", "{type: string}", 1)
	changes, err := evolution.Compare(parse(t, text), parse(t, strings.Replace(text, "name: v1", "name: v2", 1)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(changes, func(c evolution.Change) bool { return c.ID() == "things.example.com/v1:version" })
	if i < 0 || !strings.Contains(changes[i].Why, "status.storedVersions") || changes[i].Severity != evolution.Breaking {
		t.Errorf("changes = %v, want a breaking change with status.storedVersions", changes)
	}
}

func TestWhyDescribesTheEffect(t *testing.T) {
	for _, tt := range []struct{ name, before, after, want string }{
		{"stored values that violate a stricter bound are accepted", `{type: string}`, `{type: string, maxLength: 1}`, "accepted until it changes"},
		{"a missing required field is an error when the object changes", `{type: object}`, `{type: object, required: [a], properties: {a: {type: string}}}`, "updates of any other field in .spec.f of a stored object"},
		{"null in a list is rejected", `{type: array, items: {type: string, nullable: true}}`, `{type: array, items: {type: string}}`, "null values are invalid"},
		{"stored values that violate a new rule are accepted", `{type: string}`, `{type: string, x-kubernetes-validations: [{rule: self != ""}]}`, "accepted until it changes"},
		{"stored values that violate a new transition rule are rejected", `{type: string}`, `{type: string, x-kubernetes-validations: [{rule: self == oldSelf}]}`, "even for stored objects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := evolution.Compare(withField(t, tt.before), withField(t, tt.after))
			if err != nil || !slices.ContainsFunc(changes, func(c evolution.Change) bool { return strings.Contains(c.Why, tt.want) }) {
				t.Errorf("Compare = %v, %v, want %q", changes, err, tt.want)
			}
		})
	}
}

// TestEmbeddedResourcesAreCheckedInEveryUpdate promises that the effect of a new embedded resource is that of a server,
// which rejects updates of a stored object that change other fields.
func TestEmbeddedResourcesAreCheckedInEveryUpdate(t *testing.T) {
	const before = `{type: object, x-kubernetes-preserve-unknown-fields: true`
	const key = `, x-kubernetes-embedded-resource: true}`
	changes, err := evolution.Compare(withField(t, before+"}"), withField(t, before+key))
	const want = "as is every update of a stored object without them"
	if err != nil || len(changes) != 1 || !strings.Contains(changes[0].Why, want) {
		t.Errorf("Compare = %v, %v, want one change, with %q", changes, err, want)
	}
	after := strings.NewReplacer("SCHEMA", before+key, "\n    - {jsonPath: .spec.color}", " []",
		"{specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}", "null").Replace(base)
	v, err := validation.New(parse(t, after), "v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	const object = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"%s},"spec":{"f":{"kind":"Pod"}}}`
	stored, updated := fmt.Appendf(nil, object, ""), fmt.Appendf(nil, object, `,"labels":{"a":"b"}`)
	if err := v.Update(updated, stored); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("Update of another field = %v, want an invalid error", err)
	}
}

func TestCompareRejectsInvalidDefinitions(t *testing.T) {
	good := withField(t, "{type: string}")
	change := func(f func(*unstructured.Unstructured)) *unstructured.Unstructured {
		crd := good.DeepCopy()
		f(crd)
		return crd
	}
	for _, tt := range []struct {
		name string
		crd  *unstructured.Unstructured
		want string
	}{
		{"nil", nil, "definition is nil"},
		{"another kind", change(func(u *unstructured.Unstructured) { u.SetKind("Pod") }), "object is a Pod of apiextensions.k8s.io/v1"},
		{"an old version", change(func(u *unstructured.Unstructured) { u.SetAPIVersion("apiextensions.k8s.io/v1beta1") }), "not a CustomResourceDefinition of apiextensions.k8s.io/v1"},
		{"no name", change(func(u *unstructured.Unstructured) { u.SetName("") }), "metadata.name is empty"},
		{"another name", change(func(u *unstructured.Unstructured) { u.SetName("others.example.com") }), "definitions of different kinds"},
		{"no versions", change(func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{} }), "spec.versions is empty"},
		{"a duplicate version", parse(t, strings.Replace(strings.Replace(base, "SCHEMA", "{}", 1), "  versions:\n", "  versions:\n  - name: v1\n", 1)), `spec.versions has duplicate version "v1"`},
		{"a spec that is a string", change(func(u *unstructured.Unstructured) { u.Object["spec"] = "text" }), "things.example.com: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, pair := range [][2]*unstructured.Unstructured{{good, tt.crd}, {tt.crd, good}} {
				if _, err := evolution.Compare(pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Compare = %v, want %q", err, tt.want)
				}
			}
		})
	}
}

func TestCompareAll(t *testing.T) {
	one, other := withField(t, "{type: string}"), withField(t, "{type: string}")
	other.SetName("others.example.com")
	got, err := evolution.CompareAll([]*unstructured.Unstructured{one}, []*unstructured.Unstructured{other})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`compatible others.example.com:definition  -> "others.example.com"`, `breaking :definition "things.example.com" ->`}
	if diff := cmp.Diff(want, briefly(got)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if _, err := evolution.CompareAll([]*unstructured.Unstructured{one, one}, nil); err == nil || err.Error() != "old definitions: things.example.com is defined twice: remove one of the definitions" {
		t.Errorf("CompareAll = %v", err)
	}
	if _, err := evolution.CompareAll(nil, []*unstructured.Unstructured{one, nil}); err == nil || err.Error() != "new definitions: definition 2 of 2: definition is nil" {
		t.Errorf("CompareAll = %v", err)
	}
}

func TestAccept(t *testing.T) {
	changes, err := evolution.Compare(
		withField(t, `{type: object, properties: {a: {type: string, maxLength: 8}, b: {type: string}}}`),
		withField(t, `{type: object, properties: {a: {type: string, maxLength: 4}, c: {type: string}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		patterns []string
		left     int
		wantErr  string
	}{
		{"no pattern", nil, 3, ""},
		{"the ID of a change", []string{"things.example.com/v1.spec.f.a:maxLength"}, 2, ""},
		{"wildcards do not remove compatible changes", []string{"*/v1.spec.*:*"}, 1, ""},
		{"two patterns for the same change", []string{"*:maxLength", "*.a:*"}, 2, ""},
		{"a pattern without a match", []string{"*:maxLength", "*:minLength"}, 0, `accept "*:minLength": the pattern does not match any risky or breaking change`},
		{"a compatible change", []string{"*.c:field"}, 0, `accept "*.c:field": the pattern does not match any risky or breaking change`},
		{"a prefix and a suffix that overlap", []string{"things.example.com/v1.spec.f.a:maxLength*maxLength"}, 0, "the pattern does not match"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left, err := evolution.Accept(changes, tt.patterns...)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("Accept = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || len(left) != tt.left {
				t.Errorf("Accept = %v, %v, want %d left", left, err, tt.left)
			}
		})
	}
}

func TestLongValuesAreShortened(t *testing.T) {
	long := `{type: string, pattern: "` + strings.Repeat("ä", 500) + `"}`
	changes, err := evolution.Compare(withField(t, `{type: string}`), withField(t, long))
	if err != nil || len(changes) != 1 || len(changes[0].New) > 130 || !strings.HasSuffix(changes[0].New, "ä…") {
		t.Errorf("Compare = %v, %v", changes, err)
	}
	// Values that differ only after the maximum length are still different.
	other := strings.Replace(long, `ä"`, `ö"`, 1)
	if changes, err = evolution.Compare(withField(t, long), withField(t, other)); err != nil || len(changes) != 1 {
		t.Errorf("Compare = %v, %v, want one change", changes, err)
	}
}

// FuzzCompare checks that no schema causes a panic, that the comparison of a schema with itself returns no changes, and
// that a change in one direction is also a change in the other direction.
func FuzzCompare(f *testing.F) {
	f.Add(`{"type":"string"}`, `{"type":"integer","enum":[1,null],"x-kubernetes-validations":[{"rule":"self>1"}]}`)
	f.Add(`{"type":"object","additionalProperties":true}`, `{"properties":{"a":{"items":{}}},"required":["a","b"]}`)
	f.Add(`{"maximum":1e400}`, `{"maximum":-0.0,"multipleOf":0,"allOf":[{}],"anyOf":[{}],"another not":{}}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		crds := make([]*unstructured.Unstructured, 2)
		for i, text := range []string{before, after} {
			var schema any
			if json.Unmarshal([]byte(text), &schema) != nil {
				return // not a valid input
			}
			crds[i] = withField(t, "{type: string}")
			versions, _, _ := unstructured.NestedSlice(crds[i].Object, "spec", "versions")
			versions[0].(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": schema}
			crds[i].Object["spec"].(map[string]any)["versions"] = versions
		}
		changes, err := evolution.Compare(crds[0], crds[1])
		back, errBack := evolution.Compare(crds[1], crds[0])
		if (err == nil) != (errBack == nil) {
			t.Errorf("Compare(before, after): %v, Compare(after, before): %v", err, errBack)
		}
		if (len(changes) == 0) != (len(back) == 0) {
			t.Errorf("Compare(before, after) = %v, Compare(after, before) = %v", changes, back)
		}
		if err == nil {
			unchanged(t, crds[0])
			unchanged(t, crds[1])
		}
	})
}
