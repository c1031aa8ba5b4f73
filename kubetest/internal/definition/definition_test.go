// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/definition"
)

// gear is a definition with two versions.
const gear = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gear, plural: gears, shortNames: [g], categories: [all], listKind: Gears}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns: [{name: Teeth, type: integer, jsonPath: .spec.teeth, priority: 1}]
    selectableFields: [{jsonPath: .spec.teeth}, {jsonPath: .spec.id}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              id: {type: string}
              teeth: {type: integer}
              replicas: {type: integer}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items: {type: object, required: [port], properties: {port: {type: integer}, name: {type: string}}}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {replicas: {type: integer}}}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object}}
  - name: v1alpha1
    served: false
    storage: false
    schema: {openAPIV3Schema: {type: object}}
`

// admit returns a definition that is admitted after changes to it.
func admit(tb testing.TB, text string, others ...*unstructured.Unstructured) *unstructured.Unstructured {
	tb.Helper()
	crd, err := definition.Admit(parse(tb, text), nil, others)
	if err != nil {
		tb.Fatal(err)
	}
	return crd
}

func parse(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(body); err != nil {
		tb.Fatal(err)
	}
	return obj
}

func newDefinition(tb testing.TB, crd *unstructured.Unstructured) *definition.Definition {
	tb.Helper()
	d, err := definition.New(crd, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestVersionsDescribeTheKind(t *testing.T) {
	d := newDefinition(t, admit(t, gear))
	versions := d.Versions()
	if len(versions) != 2 || d.Storage() != versions[0] {
		t.Fatalf("Versions = %v, Storage = %v", versions, d.Storage())
	}
	v1, beta := versions[0], versions[1]
	want := core.Resource{
		Group: "example.com", Version: "v1", Kind: "Gear", Plural: "gears", Namespaced: true,
		Singular: "gear", ShortNames: []string{"g"}, Categories: []string{"all"},
		Verbs:        []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"},
		Subresources: []string{"status", "scale"},
	}
	if diff := cmp.Diff(want, v1.Resource); diff != "" {
		t.Errorf("Resource: -want +got:\n%s", diff)
	}
	if v1.ListKind != "Gears" || !v1.Status || beta.Status || beta.Scale != nil || v1.Deprecation != "" {
		t.Errorf("v1 = %+v, v1beta1 = %+v", v1, beta)
	}
	scale := &definition.Scale{SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas"}
	if diff := cmp.Diff(scale, v1.Scale); diff != "" {
		t.Errorf("Scale: -want +got:\n%s", diff)
	}
	if want := "example.com/v1beta1 Gear is deprecated; use example.com/v1 Gear"; beta.Deprecation != want {
		t.Errorf("Deprecation = %q, want %q", beta.Deprecation, want)
	}
}

func TestDefinitionWithoutAcceptedNamesIsNotServed(t *testing.T) {
	first := admit(t, gear)
	other := strings.NewReplacer("gears", "cogs", "[g]", "[c]", "kind: Gear,", "kind: Gear,").Replace(gear)
	d := newDefinition(t, admit(t, other, first))
	if v := d.Versions(); len(v) != 0 {
		t.Errorf("Versions of a definition with a used kind = %v, want none", v)
	}
}

func TestFieldsAreTextOfSelectableValues(t *testing.T) {
	v := newDefinition(t, admit(t, gear)).Versions()[0]
	obj := parse(t, `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a, namespace: b}, spec: {teeth: 5000000}}`)
	want := map[string]string{"metadata.name": "a", "metadata.namespace": "b", "spec.teeth": "5000000", "spec.id": ""}
	if diff := cmp.Diff(want, v.Fields(obj)); diff != "" {
		t.Errorf("Fields: -want +got:\n%s", diff)
	}
}

func TestSchemasMakeATypeConverter(t *testing.T) {
	meta := map[string]*spec.Schema{}
	for _, name := range []string{"ObjectMeta", "ListMeta"} {
		meta["io.k8s.apimachinery.pkg.apis.meta.v1."+name] = spec.MapProperty(nil)
	}
	schemas := newDefinition(t, admit(t, gear)).Schemas(meta)
	names := map[string]bool{}
	for name := range schemas {
		names[name] = true
	}
	want := map[string]bool{
		"com.example.v1.Gear": true, "com.example.v1beta1.Gear": true, "com.example.v1alpha1.Gear": true,
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": true,
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("Schemas: -want +got:\n%s", diff)
	}
	converter, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	const head = `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a}, spec: `
	template := `{template: {apiVersion: v1, kind: Pod, metadata: {name: x}}, ports: [{port: 1}]}}`
	if _, err := converter.ObjectToTyped(parse(t, head+template)); err != nil {
		t.Errorf("ObjectToTyped = %v", err)
	}
	_, err = converter.ObjectToTyped(parse(t, head+`{x: 1}}`))
	if err == nil || !strings.Contains(err.Error(), ".spec.x: field not declared in schema") {
		t.Errorf("ObjectToTyped with an unknown field = %v", err)
	}
}

func TestConvertNeedsAWebhook(t *testing.T) {
	crd := parse(t, gear)
	err := unstructured.SetNestedMap(crd.Object, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://example.com"},
		},
	}, "spec", "conversion")
	if err != nil {
		t.Fatal(err)
	}
	if crd, err = definition.Admit(crd, nil, nil); err != nil {
		t.Fatal(err)
	}
	versions := newDefinition(t, crd).Versions()
	obj := parse(t, `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a}}`)
	if got, err := versions[0].Convert(obj); err != nil || got.GetName() != "a" {
		t.Errorf("Convert to the same version = %v, %v", got, err)
	}
	_, err = versions[1].Convert(obj)
	const want = "conversion webhook for example.com/v1, Kind=Gear failed: set Options.Webhooks of kubetest, or use version v1 only"
	if !errors.Is(err, core.ErrInternal) || !strings.Contains(err.Error(), want) {
		t.Errorf("Convert to another version = %v, want %q", err, want)
	}
	obj.SetAPIVersion("example.com/v9")
	if _, err := versions[0].Convert(obj); !errors.Is(err, core.ErrInternal) {
		t.Errorf("Convert from an unknown version = %v, want an internal error", err)
	}
}

func TestInputIsNotChanged(t *testing.T) {
	crd := parse(t, gear)
	crd.SetResourceVersion("1")
	before := crd.DeepCopy()
	first, err := definition.Admit(crd, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := first.DeepCopy()
	second, err := definition.Admit(crd, first, []*unstructured.Unstructured{first})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := definition.AdmitStatus(second, first, nil); err != nil {
		t.Fatal(err)
	}
	d := newDefinition(t, first)
	obj := parse(t, `{apiVersion: example.com/v1, kind: Gear, metadata: {name: a}, spec: {x: 1}}`)
	original := obj.DeepCopy()
	if _, err := d.Versions()[1].Convert(obj); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]*unstructured.Unstructured{{before, crd}, {stored, first}, {original, obj}} {
		if diff := cmp.Diff(pair[0].Object, pair[1].Object); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	}
}
