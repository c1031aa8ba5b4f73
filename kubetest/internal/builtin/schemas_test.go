// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"cmp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

func TestGroupsAreThoseOfTheServer(t *testing.T) {
	groups := builtin.Groups()
	if len(groups) < 20 || groups[0].Name != "" {
		t.Fatalf("Groups() has %d groups, the first is %q", len(groups), groups[0].Name)
	}
	for _, group := range groups {
		if strings.HasSuffix(group.Name, "example.com") {
			t.Errorf("group %s is not built in", group.Name)
		}
	}
}

func TestCallersMayChangeGroups(t *testing.T) {
	builtin.Groups()[0].Versions[0].Resources[0].Resource = "changed"
	if got := builtin.Groups()[0].Versions[0].Resources[0].Resource; got == "changed" {
		t.Error("a change of the result of Groups() changes the next result")
	}
}

func TestEveryResourceHasASchema(t *testing.T) {
	for _, group := range builtin.Groups() {
		for _, version := range group.Versions {
			own := schema.GroupVersion{Group: group.Name, Version: version.Version}
			for _, r := range version.Resources {
				checkModel(t, own, r.ResponseKind)
				for _, sub := range r.Subresources {
					checkModel(t, own, sub.ResponseKind)
				}
			}
		}
	}
}

// checkModel checks that a response kind has a definition. Options of streams have none.
func checkModel(t *testing.T, own schema.GroupVersion, kind *metav1.GroupVersionKind) {
	t.Helper()
	if kind == nil || strings.HasSuffix(kind.Kind, "Options") {
		return
	}
	gvk := schema.GroupVersionKind{
		Group: cmp.Or(kind.Group, own.Group), Version: cmp.Or(kind.Version, own.Version), Kind: kind.Kind,
	}
	name, ok := builtin.Model(gvk)
	if !ok || builtin.Schemas()[name] == nil {
		t.Errorf("Model(%s) = %q, %v", gvk, name, ok)
	}
}

func TestUnknownKindsHaveNoModel(t *testing.T) {
	if name, ok := builtin.Model(schema.GroupVersionKind{Group: "apps", Version: "v2", Kind: "Deployment"}); ok {
		t.Errorf("Model(apps/v2 Deployment) = %q", name)
	}
}

func TestSchemasWorkWithManagedFields(t *testing.T) {
	if _, err := managedfields.NewTypeConverter(builtin.Schemas(), false); err != nil {
		t.Errorf("NewTypeConverter() = %v", err)
	}
}

func TestSchemasHaveMergeKeys(t *testing.T) {
	name, _ := builtin.Model(pod)
	meta := strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: builtin.Schemas(), Schema: builtin.Schemas()[name]}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
		object(t, `{"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","ports":[{"containerPort":80}]}]}}`),
		object(t, `{"spec":{"containers":[{"name":"b","ports":[{"containerPort":81}]}]}}`), meta)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"spec":{"containers":[{"image":"x","name":"a"},` +
		`{"name":"b","ports":[{"containerPort":81},{"containerPort":80}]}]}}`
	if got := text(t, merged); got != want {
		t.Errorf("merged object is %s, want %s", got, want)
	}
}

func TestVersionIsAServerVersion(t *testing.T) {
	if got := builtin.Version(); !strings.HasPrefix(got, "v1.") {
		t.Errorf("Version() = %q", got)
	}
	if got := builtin.Document(builtin.VersionDocument); string(got) != builtin.Version()+"\n" {
		t.Errorf("Document(%q) = %q", builtin.VersionDocument, got)
	}
}
