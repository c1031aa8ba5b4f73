// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// define returns a definition from a spec in YAML.
func define(t *testing.T, spec string) *definition {
	t.Helper()
	crd := map[string]any{}
	text := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: documents.docs.example.com}
` + spec
	if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
		t.Fatal(err)
	}
	d, err := read(&unstructured.Unstructured{Object: crd})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// oneVersion returns a definition with one version, which has the given schema.
func oneVersion(t *testing.T, schema string) *definition {
	t.Helper()
	return define(t, "spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "+schema+"}}]}")
}

func TestDroppedFieldsAndEnumValuesAreLosses(t *testing.T) {
	const title = `{type: object, properties: {spec: {type: object, properties: {title: {type: string}}}}}`
	tests := []struct {
		name          string
		before, after string
		want          []string
	}{
		{name: "the same", before: title, after: title},
		{
			name:   "a new field",
			before: title,
			after:  `{type: object, properties: {spec: {type: object, properties: {title: {type: string}, tags: {type: array}}}}}`,
		},
		{
			name:   "a missing field",
			before: title,
			after:  `{type: object, properties: {spec: {type: object, properties: {}}}}`,
			want:   []string{"version v1: field .spec.title"},
		},
		{
			name:   "a missing subtree is reported by its root",
			before: title,
			after:  `{type: object}`,
			want:   []string{"version v1: field .spec"},
		},
		{
			name:   "fields of list items and of map values",
			before: `{properties: {l: {items: {properties: {a: {}, b: {}}}}, m: {additionalProperties: {properties: {c: {}}}}}}`,
			after:  `{properties: {l: {items: {properties: {b: {}}}}, m: {additionalProperties: {}}}}`,
			want:   []string{"version v1: field .l[].a", "version v1: field .m[*].c"},
		},
		{
			name:   "a schema that preserves unknown fields keeps all fields",
			before: `{properties: {spec: {properties: {title: {}}}}}`,
			after:  `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}`,
		},
		{
			name: "a schema that preserves unknown fields drops those of its own properties",
			before: `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true,
				properties: {db: {properties: {size: {}, class: {}}}, cache: {properties: {size: {}}}}}}}`,
			after: `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true, properties: {db: {properties: {size: {}}}}}}}`,
			want:  []string{"version v1: field .spec.db.class"},
		},
		{
			name: "a list that preserves unknown fields preserves those of its items",
			before: `{properties: {l: {x-kubernetes-preserve-unknown-fields: true,
				items: {properties: {a: {}, b: {properties: {c: {}, d: {}}}}}}}}`,
			after: `{properties: {l: {x-kubernetes-preserve-unknown-fields: true, items: {properties: {b: {properties: {d: {}}}}}}}}`,
			want:  []string{"version v1: field .l[].b.c"},
		},
		{
			name:   "items and map values of a schema that preserves unknown fields",
			before: `{properties: {l: {items: {properties: {a: {}}}}, m: {additionalProperties: {properties: {a: {}}}}}}`,
			after:  `{properties: {l: {x-kubernetes-preserve-unknown-fields: true}, m: {x-kubernetes-preserve-unknown-fields: true}}}`,
		},
		{
			name:   "enum values of a schema that preserves unknown fields",
			before: `{properties: {mode: {enum: [a, b]}}}`,
			after:  `{x-kubernetes-preserve-unknown-fields: true, properties: {mode: {enum: [a]}}}`,
			want:   []string{"version v1: value b of .mode"},
		},
		{
			name:   "every object keeps apiVersion, kind and metadata",
			before: `{properties: {apiVersion: {}, kind: {}, metadata: {properties: {name: {}}}, spec: {}}}`,
			after:  `{properties: {spec: {}}}`,
		},
		{
			name:   "an embedded object keeps apiVersion, kind and metadata",
			before: `{properties: {template: {properties: {apiVersion: {}, kind: {}, metadata: {properties: {name: {}}}}}}}`,
			after:  `{properties: {template: {x-kubernetes-embedded-resource: true}}}`,
		},
		{
			name:   "an embedded object that becomes an ordinary one",
			before: `{properties: {template: {x-kubernetes-embedded-resource: true, properties: {spec: {}}}}}`,
			after:  `{properties: {template: {properties: {kind: {}, metadata: {}, spec: {}}}}}`,
			want: []string{
				"version v1: field .template.apiVersion", "version v1: fields of any name in .template.metadata",
			},
		},
		{
			name:   "an embedded object that preserves unknown fields instead",
			before: `{properties: {template: {x-kubernetes-embedded-resource: true}}}`,
			after:  `{properties: {template: {x-kubernetes-preserve-unknown-fields: true}}}`,
		},
		{
			name:   "a schema that no longer preserves unknown fields",
			before: `{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after:  `{properties: {spec: {properties: {title: {}}}}}`,
			want:   []string{"version v1: fields of any name in .spec"},
		},
		{
			name:   "a struct that became a map keeps its fields",
			before: `{properties: {spec: {properties: {title: {type: string}}}}}`,
			after:  `{properties: {spec: {additionalProperties: {type: string}}}}`,
		},
		{
			name:   "a map that became a struct",
			before: `{additionalProperties: {type: string}}`,
			after:  `{properties: {title: {}}}`,
			want:   []string{"version v1: keys of any name in the object"},
		},
		{
			name:   "a map of any values that became a struct",
			before: `{additionalProperties: true}`,
			after:  `{additionalProperties: false, properties: {title: {}}}`,
			want:   []string{"version v1: keys of any name in the object"},
		},
		{
			name:   "enum values that are no longer valid",
			before: `{properties: {mode: {enum: [a, b, 3]}, size: {enum: [1]}}}`,
			after:  `{properties: {mode: {enum: [a]}, size: {}}}`,
			want:   []string{"version v1: value b of .mode", "version v1: value 3 of .mode"},
		},
		{name: "a new enum", before: `{properties: {mode: {}}}`, after: `{properties: {mode: {enum: [a]}}}`},
		{
			name:   "a map of structs that became a map of any values",
			before: `{additionalProperties: {properties: {title: {}}}}`,
			after:  `{additionalProperties: true}`,
			want:   []string{"version v1: field [*].title"},
		},
		{
			name:   "a map of any values that became a map of structs",
			before: `{additionalProperties: true}`,
			after:  `{additionalProperties: {type: object, properties: {title: {}}}}`,
		},
		{
			name:   "an unknown field that became a struct",
			before: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true, properties: {
				db: {type: object, properties: {size: {}}}, name: {type: string}, ports: {type: array, items: {type: integer}},
				users: {type: array, items: {type: object, properties: {name: {}}}},
				options: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}`,
			want: []string{
				"version v1: fields of any name in .values.db", "version v1: fields of any name in .values.users",
			},
		},
		{
			name:   "unknown fields that became a map of structs",
			before: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true,
				additionalProperties: {type: object, properties: {size: {}}}}}}`,
			want: []string{"version v1: fields of any name in .values[*]"},
		},
		{
			name:   "unknown fields that became a map of strings",
			before: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after:  `{properties: {values: {x-kubernetes-preserve-unknown-fields: true, additionalProperties: {type: string}}}}`,
		},
		{
			name:   "unknown fields that became a map of any values",
			before: `{properties: {values: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after:  `{properties: {values: {x-kubernetes-preserve-unknown-fields: true, additionalProperties: true}}}`,
			want:   []string{"version v1: fields of any name in .values[*]"},
		},
		{
			name:   "a key of a map that became a struct with fewer fields",
			before: `{additionalProperties: {properties: {size: {}, user: {}}}}`,
			after:  `{x-kubernetes-preserve-unknown-fields: true, properties: {db: {type: object, properties: {size: {}}}}}`,
			want:   []string{"version v1: field .db.user"},
		},
		{
			name:   "unknown fields of list items that became a struct",
			before: `{properties: {l: {x-kubernetes-preserve-unknown-fields: true, items: {}}}}`,
			after: `{properties: {l: {x-kubernetes-preserve-unknown-fields: true,
				items: {properties: {db: {type: object, properties: {size: {}}}}}}}}`,
			want: []string{"version v1: fields of any name in .l[].db"},
		},
		{
			name:   "unknown fields stay unknown",
			before: `{x-kubernetes-preserve-unknown-fields: true, properties: {l: {x-kubernetes-preserve-unknown-fields: true}}}`,
			after:  `{x-kubernetes-preserve-unknown-fields: true}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := oneVersion(t, tt.before).lostIn(oneVersion(t, tt.after))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDroppedPartsOfVersionsAreLosses(t *testing.T) {
	const (
		v1      = "{name: v1, served: true, storage: true}"
		v1beta1 = "{name: v1beta1, served: true, storage: false}"
		hidden  = "{name: v1beta1, served: false, storage: false}"
		old     = "{name: v1beta1, served: true, storage: true}"
		v1Aside = "{name: v1, served: true, storage: false}"
	)
	tests := []struct {
		name          string
		before, after string
		want          []string
	}{
		{name: "a new version", before: "spec: {versions: [" + old + "]}", after: "spec: {versions: [" + v1 + "," + v1beta1 + "]}"},
		{
			name:   "a missing version",
			before: "spec: {versions: [" + v1 + "," + v1beta1 + "]}",
			after:  "spec: {versions: [" + v1 + "]}",
			want:   []string{"version v1beta1"},
		},
		{
			name:   "a version that is no longer served",
			before: "spec: {versions: [" + v1 + "," + v1beta1 + "]}",
			after:  "spec: {versions: [" + v1 + "," + hidden + "]}",
			want:   []string{"version v1beta1"},
		},
		{name: "a missing version that was not served", before: "spec: {versions: [" + v1 + "," + hidden + "]}", after: "spec: {versions: [" + v1 + "]}"},
		{
			name:   "a version of stored objects is reported once",
			before: "spec: {versions: [" + v1 + "," + v1beta1 + "]}\nstatus: {storedVersions: [v1, v1beta1]}",
			after:  "spec: {versions: [" + v1 + "]}",
			want:   []string{"version v1beta1, in which objects are stored"},
		},
		{
			name:   "storage goes back to an older version",
			before: "spec: {versions: [" + v1 + "," + v1beta1 + "]}",
			after:  "spec: {versions: [" + v1Aside + "," + old + "]}",
			want:   []string{"storage in version v1 instead of v1beta1"},
		},
		{
			name:   "a webhook that converts",
			before: "spec: {versions: [" + v1 + "," + v1beta1 + "], conversion: {strategy: Webhook}}",
			after:  "spec: {versions: [" + v1 + "," + v1beta1 + "]}",
			want:   []string{"conversion between versions by a webhook"},
		},
		{name: "a webhook with only one version", before: "spec: {versions: [" + v1 + "], conversion: {strategy: Webhook}}", after: "spec: {versions: [" + v1 + "]}"},
		{
			name: "subresources and selectable fields",
			before: "spec: {versions: [{name: v1, served: true, storage: true, subresources: {status: {}, scale: {}}, " +
				"selectableFields: [{jsonPath: .spec.a}, {jsonPath: .spec.b}]}]}",
			after: "spec: {versions: [{name: v1, served: true, storage: true, subresources: {scale: {}}, selectableFields: [{jsonPath: .spec.b}]}]}",
			want:  []string{"version v1: subresource status", "version v1: selectable field .spec.a"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := define(t, tt.before).lostIn(define(t, tt.after))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDowngradeErrorNamesAFewLosses(t *testing.T) {
	err := (&DowngradeError{Losses: strings.Split("a b c d e f g", " ")}).Error()
	if !strings.Contains(err, "a, b, c, d, e and 2 more; run the newer program, or set AllowDowngrade") {
		t.Errorf("Error() = %s", err)
	}
}

func TestDowngradeErrorOfStoredVersionsNamesTheirRemedy(t *testing.T) {
	err := (&DowngradeError{Losses: []string{"a"}, stored: []string{"v1alpha1", "v1beta1"}}).Error()
	const want = ": a; run the newer program, or, if it was removed on purpose, write all objects again in another " +
		"version, remove v1alpha1 and v1beta1 from status.storedVersions, and install it with AllowDowngrade"
	if !strings.HasSuffix(err, want) {
		t.Errorf("Error() = %s, want the end %s", err, want)
	}
}

func TestReadRejectsInvalidDefinitions(t *testing.T) {
	tests := []struct {
		name string
		in   *unstructured.Unstructured
		want string
	}{
		{name: "nothing", want: "is nil"},
		{
			name: "another kind",
			in:   &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}},
			want: "it is a ConfigMap of v1, not a CustomResourceDefinition of apiextensions.k8s.io/v1",
		},
		{
			name: "no name",
			in: &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			}},
			want: "metadata.name is empty",
		},
		{
			name: "a field of the wrong type",
			in:   &unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "spec": "none"}},
			want: "spec",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := read(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("read() = %v, want %q", err, tt.want)
			}
		})
	}
}
