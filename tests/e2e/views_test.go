// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/request"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// TestMetadataCanBeUsedAlone checks that the metadata of any kind can be read, changed and watched without the rest of
// the object.
func TestMetadataCanBeUsedAlone(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	installDocuments(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	docs := kube.Namespaced[v1.Document](c, ns)
	if _, err := maps.Create(t.Context(), configMap("web", "1"), nil); err != nil {
		t.Fatal(err)
	}
	doc := &v1.Document{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.DocumentSpec{Title: "t"}}
	if _, err := docs.Create(t.Context(), doc, nil); err != nil {
		t.Fatal(err)
	}
	t.Run("of a built-in kind", func(t *testing.T) { testMetadata(t, maps.Metadata(), "v1", "ConfigMap") })
	t.Run("of a custom kind", func(t *testing.T) { testMetadata(t, docs.Metadata(), "docs.example.com/v1", "Document") })
	kept, err := maps.Get(t.Context(), "web", nil)
	if err != nil || kept.Data["v"] != "1" {
		t.Errorf("after the changes: %v, %v; want the data unchanged", kept, err)
	}
	if err := docs.Metadata().Delete(t.Context(), "web", nil); err != nil {
		t.Error(err)
	}
}

func testMetadata(t *testing.T, meta *kube.API[metav1.PartialObjectMetadata], apiVersion, kind string) {
	t.Helper()
	check := func(what string, obj *metav1.PartialObjectMetadata, label string) {
		t.Helper()
		if obj.Name != "web" || obj.UID == "" || obj.Kind != kind || obj.APIVersion != apiVersion ||
			obj.Labels["by"] != label {
			t.Errorf("%s = %+v; want web of kind %s with label %q", what, obj, kind, label)
		}
	}
	got, err := meta.Get(t.Context(), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Get", got, "")
	got, err = meta.Patch(t.Context(), "web", kube.MergePatch([]byte(`{"metadata":{"labels":{"by":"patch"}}}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Patch", got, "patch")
	got, err = meta.Modify(t.Context(), "web", func(m *metav1.PartialObjectMetadata) error {
		m.Labels["by"] = "modify"
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Modify", got, "modify")
	got, err = meta.Apply(t.Context(), &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"by": "apply"}},
	}, &kube.ApplyOptions{FieldManager: "tests", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	check("Apply", got, "apply")
	named := &kube.ListOptions{FieldSelector: "metadata.name=web"}
	list, err := meta.List(t.Context(), named)
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("List = %v, %v", list, err)
	}
	check("List", list.Items[0], "apply")
	for ev, err := range meta.WatchOnce(limit(t), &request.WatchOptions{FieldSelector: named.FieldSelector}) {
		if err != nil {
			t.Fatal(err)
		}
		check("Watch", ev.Object, "apply")
		break
	}
	if _, err := meta.Update(t.Context(), got, nil); err == nil || !strings.Contains(err.Error(), "request not sent") {
		t.Errorf("Update of metadata: %v, want an error without a request", err)
	}
}

// TestTableHasTheColumnsOfTheServer checks that a table has the columns that the server defines for display.
func TestTableHasTheColumnsOfTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, name := range []string{"a", "b", "c"} {
		if _, err := maps.Create(t.Context(), configMap(name, "1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	table, err := maps.Table(t.Context(), &kube.ListOptions{FieldSelector: "metadata.name=b"})
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, col := range table.ColumnDefinitions {
		columns = append(columns, col.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Data", "Age"}, columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if len(table.Rows) != 1 || table.Rows[0].Cells[0] != "b" || table.Rows[0].Cells[1] != int64(1) {
		t.Fatalf("rows = %v, want one for b", table.Rows)
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(table.Rows[0].Object.Raw, &meta); err != nil || meta.Name != "b" {
		t.Errorf("the row's object is %s, %v", table.Rows[0].Object.Raw, err)
	}
	page, err := maps.Table(t.Context(), &kube.ListOptions{Limit: 2})
	if err != nil || len(page.Rows) != 2 || page.Continue == "" {
		t.Errorf("the first page = %v, %v, want two rows and a continue token", page, err)
	}
}
