// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
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

// TestRowsAreThoseOfTheServer checks that rows have the columns that the server defines for display, in lists, reads of
// one object and watches, of a built-in and of a custom kind.
func TestRowsAreThoseOfTheServer(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	installDocuments(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := maps.Create(t.Context(), configMap(name, "1"), nil); err != nil {
			t.Fatal(err)
		}
	}
	rows := maps.Rows()
	check := func(what string, row *kube.Row, cells ...any) {
		t.Helper()
		var columns []string
		for _, col := range row.Columns {
			columns = append(columns, col.Name)
		}
		if diff := cmp.Diff([]string{"Name", "Data", "Age"}, columns); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", what, diff)
		}
		if row.Namespace != ns || row.Name != cells[0] || row.UID == "" || row.Kind != "ConfigMap" || row.APIVersion != "v1" {
			t.Errorf("%s: the metadata is that of %s %s %s/%s", what, row.APIVersion, row.Kind, row.Namespace, row.Name)
		}
		if diff := cmp.Diff(cells, row.Cells[:2]); diff != "" {
			t.Errorf("%s: cells (-want +got):\n%s", what, diff)
		}
	}
	row, err := rows.Get(t.Context(), "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	check("Get", row, "b", int64(1))
	var names strings.Builder
	for row, err := range rows.All(t.Context(), &kube.ListOptions{Limit: 2, FieldSelector: "metadata.name!=kube-root-ca.crt"}) {
		if err != nil {
			t.Fatal(err)
		}
		check("All", row, row.Name, int64(1))
		names.WriteString(row.Name)
	}
	if names.String() != "abc" {
		t.Errorf("All yielded %s", names.String())
	}

	var seen []string
	selected := &kube.WatchOptions{FieldSelector: "metadata.name=b"}
	for ev, err := range kube.Watch(limit(t), rows, selected) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(ev.Type))
		switch {
		case ev.Type == kube.Bookmark && len(seen) == 2: // after the existing objects
			_, err = maps.Patch(t.Context(), "b", kube.MergePatch(map[string]any{"data": map[string]any{"more": "1"}}), nil)
		case ev.Type == kube.Bookmark:
			seen = seen[:len(seen)-1]
		case ev.Type == kube.Added:
			check("an existing object", ev.Object, "b", int64(1))
		case ev.Type == kube.Modified:
			check("a change", ev.Object, "b", int64(2))
			err = maps.Delete(t.Context(), "b", nil)
		case ev.Type == kube.Deleted:
			check("a deletion", ev.Object, "b", int64(2))
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == kube.Deleted {
			break
		}
	}
	if diff := cmp.Diff([]string{"ADDED", "BOOKMARK", "MODIFIED", "DELETED"}, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}

	docs := kube.Namespaced[v1.Document](c, ns)
	doc := &v1.Document{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.DocumentSpec{Title: "t"}}
	if _, err := docs.Create(t.Context(), doc, nil); err != nil {
		t.Fatal(err)
	}
	custom, err := docs.Rows().Get(t.Context(), "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	title := slices.IndexFunc(custom.Columns, func(c metav1.TableColumnDefinition) bool { return c.Name == "Title" })
	if title < 0 || custom.Cells[title] != "t" || custom.Kind != "Document" {
		t.Errorf("the row of a custom kind = %+v", custom)
	}
}
