// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// TestServerEnforcesTheMarkersOfAGoType checks that the server accepts the CustomResourceDefinition that kube-derive
// generates from a Go struct without changes, and that the markers of the struct have their effect.
func TestServerEnforcesTheMarkersOfAGoType(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	docs := kube.Namespaced[v1.Document](c, newNamespace(t, c))
	good := v1.DocumentSpec{Title: "Title", Body: "some words"}
	create := func(t *testing.T, name string, spec v1.DocumentSpec) *v1.Document {
		t.Helper()
		strict := &kube.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		doc, err := docs.Create(limit(t), v1.NewDocument("", name, spec), strict)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}

	t.Run("the server keeps every field of the definition", func(t *testing.T) {
		crds := kube.Dynamic(c, kube.CRDResource())
		want, err := kube.CRD[v1.Document]()
		if err != nil {
			t.Fatal(err)
		}
		got, err := crds.Get(limit(t), want.GetName(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range missing("", want.Object, got.Object) {
			t.Errorf("the server dropped or changed %s", path)
		}
		if diff := cmp.Diff(schemaOf(t, want), schemaOf(t, got)); diff != "" {
			t.Errorf("schema (-generated +server):\n%s", diff)
		}
		again, err := kube.CRD[v1.Document]()
		if err != nil {
			t.Fatal(err)
		}
		again.SetResourceVersion(got.GetResourceVersion())
		strict := &kube.UpdateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: true}
		if _, err := crds.Update(limit(t), again, strict); err != nil {
			t.Errorf("update with strict validation: %v", err)
		}
		for _, kind := range []string{"NonStructuralSchema", "NamesAccepted"} {
			conditions, _, err := unstructured.NestedSlice(got.Object, "status", "conditions")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range conditions {
				c := c.(map[string]any)
				if good := c["status"] == "True"; c["type"] == kind && good != (kind == "NamesAccepted") {
					t.Errorf("condition %v", c)
				}
			}
		}
	})
	t.Run("defaults are set", func(t *testing.T) {
		if doc := create(t, "defaults", good); doc.Spec.Format != v1.FormatMarkdown {
			t.Errorf("format = %q, want %q", doc.Spec.Format, v1.FormatMarkdown)
		}
	})
	for _, tc := range []struct {
		name  string
		spec  v1.DocumentSpec
		field string
		want  string
	}{
		{"an empty title", v1.DocumentSpec{}, "spec.title", "should be at least 1 chars long"},
		{
			"a title that is too long",
			v1.DocumentSpec{Title: strings.Repeat("x", 81)},
			"spec.title", "may not be more than 80",
		},
		{
			"an unknown format",
			v1.DocumentSpec{Title: "x", Format: "pdf"},
			"spec.format", `supported values: "text", "markdown", "html"`,
		},
	} {
		t.Run(tc.name+" is rejected", func(t *testing.T) {
			_, err := docs.Create(limit(t), v1.NewDocument("", "rejected", tc.spec), nil)
			se, ok := errors.AsType[*kube.StatusError](err)
			if !ok || !errors.Is(err, kube.ErrInvalid) {
				t.Fatalf("error = %v, want ErrInvalid", err)
			}
			causes := se.Status.Details.Causes
			if len(causes) != 1 || causes[0].Field != tc.field || !strings.Contains(causes[0].Message, tc.want) {
				t.Errorf("causes = %+v, want %s: %s", causes, tc.field, tc.want)
			}
		})
	}
	t.Run("an unknown field is rejected", func(t *testing.T) {
		res, err := core.ResourceOf[v1.Document]()
		if err != nil {
			t.Fatal(err)
		}
		doc := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "strange"},
			"spec":     map[string]any{"title": "x", "titel": "y"},
		}}
		strict := &kube.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		_, err = kube.Dynamic(c, res).In(docs.Namespace()).Create(limit(t), doc, strict)
		if !errors.Is(err, core.ErrBadRequest) || !strings.Contains(err.Error(), `unknown field "spec.titel"`) {
			t.Errorf("error = %v, want an error that names spec.titel", err)
		}
	})
	t.Run("the status is a subresource", func(t *testing.T) {
		doc := create(t, "status", good)
		doc.Spec.Title, doc.Status.Words = "changed", 5
		byMain, err := docs.Update(limit(t), doc, nil)
		if err != nil {
			t.Fatal(err)
		}
		if byMain.Spec.Title != "changed" || byMain.Status.Words != 0 || byMain.Generation != 2 {
			t.Errorf("after an update: %+v", byMain)
		}
		byMain.Spec.Title, byMain.Status.Words = "changed again", 5
		byMain.Status.Conditions = []metav1.Condition{{
			Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
		}}
		byStatus, err := docs.Status().Update(limit(t), byMain, nil)
		if err != nil {
			t.Fatal(err)
		}
		if byStatus.Spec.Title != "changed" || byStatus.Status.Words != 5 || byStatus.Generation != 2 {
			t.Errorf("after an update of the status: %+v", byStatus)
		}
		if !meta.IsStatusConditionTrue(byStatus.Status.Conditions, v1.ConditionReady) {
			t.Errorf("conditions = %+v, want Ready to be True", byStatus.Status.Conditions)
		}
	})
	t.Run("columns are served", func(t *testing.T) {
		columns, cells := table(t, c, docs, "status")
		if diff := cmp.Diff([]string{"Name", "Title", "Ready", "Age"}, columns); diff != "" {
			t.Errorf("columns (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]any{"status", "changed", "True"}, cells[:3]); diff != "" {
			t.Errorf("cells (-want +got):\n%s", diff)
		}
	})
}

// schemaOf returns the schema of a definition's first version.
func schemaOf(t *testing.T, crd *unstructured.Unstructured) any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) == 0 {
		t.Fatalf("versions of %s: %v, %v", crd.GetName(), versions, err)
	}
	return versions[0].(map[string]any)["schema"]
}

// missing returns the paths of the fields of want that are missing or different in got.
func missing(path string, want, got any) []string {
	var paths []string
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for key, value := range want {
			paths = append(paths, missing(path+"."+key, value, got[key])...)
		}
	case []any:
		got, _ := got.([]any)
		for i, value := range want {
			if i >= len(got) {
				return append(paths, path)
			}
			paths = append(paths, missing(path+"[]", value, got[i])...)
		}
	default:
		if want != got {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// table requests the table of one object, with the columns that kubectl get prints.
func table(t *testing.T, c *kube.Client, docs *kube.API[v1.Document], name string) (columns []string, cells []any) {
	t.Helper()
	r, err := request.Get(request.Target{Resource: docs.Resource(), Namespace: docs.Namespace(), Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
	resp, err := c.Do(limit(t), r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if len(table.Rows) != 1 {
		t.Fatalf("the table has %d rows, want 1: %s", len(table.Rows), text)
	}
	return columns, table.Rows[0].Cells
}
