// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/kube"
)

// TestGeneratedSamplesAreValid checks that the server accepts the samples that kube-derive writes without any changes.
func TestGeneratedSamplesAreValid(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	for _, name := range []string{"zoo", "document", "written", "beasts"} {
		t.Run(name, func(t *testing.T) {
			o := &generate.Options{Dir: filepath.Join("../../derive/generate/testdata", name)}
			crds, err := generate.CRDs(t.Context(), []string{"./..."}, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, crd := range documentsOf(t, crds) {
				installKind(t, c, crd)
			}
			samples, err := generate.Samples(t.Context(), []string{"./..."}, o)
			if err != nil {
				t.Fatal(err)
			}
			mapper := kube.NewMapper(c, nil)
			for i, obj := range documentsOf(t, samples) {
				var res kube.Resource
				// The server lists a kind in discovery some time after it serves it.
				eventually(t, "the server lists "+obj.GetKind(), func(ctx context.Context) (err error) {
					res, err = mapper.ForObject(ctx, obj)
					return err
				})
				in := ""
				if res.Namespaced {
					in = ns
				}
				strict := &kube.CreateOptions{FieldValidation: metav1.FieldValidationStrict, DryRun: true}
				if _, err := kube.Dynamic(c, res).In(in).Create(limit(t), obj, strict); err != nil {
					t.Errorf("%s: %v", filepath.Base(samples.Files[i].Path), err)
				}
			}
		})
	}
}

// documentsOf decodes files that have one object each.
func documentsOf(t *testing.T, files *generate.Files) []*unstructured.Unstructured {
	t.Helper()
	var objs []*unstructured.Unstructured
	for _, f := range files.Files {
		for doc, err := range kube.Documents(bytes.NewReader(f.Content), nil) {
			obj := &unstructured.Unstructured{}
			if err := errors.Join(err, doc.Decode(obj)); err != nil {
				t.Fatalf("%s: %v", f.Path, err)
			}
			objs = append(objs, obj)
		}
	}
	if len(objs) == 0 || len(objs) != len(files.Files) {
		t.Fatalf("%d objects in %d files, want one in each", len(objs), len(files.Files))
	}
	return objs
}
