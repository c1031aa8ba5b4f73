// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// world is the controller with an API server in memory.
type world struct {
	docs *kube.API[v1.Document]
	maps *kube.API[corev1.ConfigMap]
	file string // of the document notes
}

// inBubble calls f with a controller that has reconciled some objects. In the bubble, time passes when all goroutines
// wait.
func inBubble(t *testing.T, f func(*testing.T, *world), objects ...kube.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := &world{file: filepath.Join(dir, "prod", "notes", "index.html")}
		if err := os.MkdirAll(filepath.Dir(w.file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := kubetest.Start(t, &kubetest.Options{
			Definitions: []func() (*unstructured.Unstructured, error){kube.CRD[v1.Document]}, Objects: objects,
		})
		c := s.Client(nil)
		w.docs, w.maps = kube.Namespaced[v1.Document](c, "prod"), kube.Namespaced[corev1.ConfigMap](c, "prod")
		kubetest.Run(t, func(ctx context.Context) error { return documents.Run(ctx, c, &documents.Options{Dir: dir}) })
		synctest.Wait()
		f(t, w)
	})
}

// status returns the status of the document notes.
func (w *world) status(t *testing.T) v1.DocumentStatus {
	t.Helper()
	doc, err := w.docs.Get(t.Context(), "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Status
}

// page returns the ConfigMap of the document notes.
func (w *world) page(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm, err := w.maps.Get(t.Context(), "notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

func notes(body string) *v1.Document {
	doc := v1.NewDocument("prod", "notes", v1.DocumentSpec{Title: "Notes", Body: body})
	doc.UID = "d1"
	return doc
}

// configMap returns a ConfigMap with the name of the page of notes.
func configMap(owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "notes", OwnerReferences: owners},
		Data:       map[string]string{"index.html": "old", "other": "value"},
	}
}

func TestForeignConfigMapsAreNotChanged(t *testing.T) {
	owned := metav1.OwnerReference{APIVersion: "docs.example.com/v1", Kind: "Document", Name: "notes", UID: "d1"}
	former := owned
	former.UID, former.Controller = "d0", new(true)
	for _, tt := range []struct {
		name   string
		stored *corev1.ConfigMap
	}{
		{"nobody controls it", configMap()},
		{"a former document of the name controls it", configMap(former)},
		{"the document owns it, but does not control it", configMap(owned)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				if _, err := os.Stat(w.file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the former file: %v, want it removed", err)
				}
				if cm := w.page(t); cm.Data["index.html"] != "old" {
					t.Errorf("data = %v, want it unchanged", cm.Data)
				}
				const message = "configmap notes exists and does not belong to this document: " +
					"delete the configmap, or use another name for the document"
				got := w.status(t)
				if c := got.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != "NameTaken" || c.Message != message {
					t.Errorf("condition = %+v, want NameTaken with the remedy", c)
				}
				if got.ConfigMap != "" || got.Words != 0 || got.ObservedGeneration != 1 {
					t.Errorf("status = %+v, want no published page", got)
				}
				if err := w.maps.Delete(t.Context(), "notes", nil); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Minute)
				synctest.Wait()
				if got := w.status(t); got.ConfigMap != "notes" {
					t.Errorf("status = %+v, want a published page a minute after the name is free", got)
				}
			}, notes("# one"), tt.stored)
		})
	}
}

func TestPagesArePublishedInOwnConfigMaps(t *testing.T) {
	owner, err := kube.ControllerRef(notes(""))
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]kube.Object{
		"it does not exist":        {notes("# one")},
		"the document controls it": {notes("# one"), configMap(owner)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				if got := w.status(t); !ready(got) || got.ConfigMap != "notes" || got.Words != 2 {
					t.Errorf("status = %+v, want Ready with two words", got)
				}
				if cm := w.page(t); len(cm.Data) != 1 || !strings.Contains(cm.Data["index.html"], "<h2>one") {
					t.Errorf("data = %v, want only the page", cm.Data)
				}
			}, objects...)
		})
	}
}

func ready(s v1.DocumentStatus) bool {
	return meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReady)
}

func TestInvalidDocumentsKeepThePublishedPage(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, err := w.docs.Modify(t.Context(), "notes", func(doc *v1.Document) error {
			doc.Spec.Body = "```\nnever closed"
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got := w.status(t)
		if got.Conditions[0].Reason != "Invalid" || got.ConfigMap != "notes" || got.Words != 2 || got.ObservedGeneration != 2 {
			t.Errorf("status = %+v, want Invalid with the ConfigMap and the words of before", got)
		}
		if cm := w.page(t); !strings.Contains(cm.Data["index.html"], "<h2>one") {
			t.Errorf("data = %v, want the page of before", cm.Data)
		}
	}, notes("# one"))
}

func TestDeletedDocumentsLeaveNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		if err := w.docs.Delete(t.Context(), "notes", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := os.Stat(w.file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file: %v, want it removed", err)
		}
		if _, err := w.docs.Get(t.Context(), "notes", nil); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("the document: %v, want it deleted", err)
		}
		if _, err := w.maps.Get(t.Context(), "notes", nil); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("the ConfigMap: %v, want it deleted", err)
		}
	}, notes("# one"))
}

func TestConditionsOfOtherControllersAreNotApplied(t *testing.T) {
	doc := notes("# one")
	doc.Status.Conditions = []metav1.Condition{{Type: "Reviewed", Status: metav1.ConditionTrue, Reason: "Read"}}
	inBubble(t, func(t *testing.T, w *world) {
		doc, err := w.docs.Get(t.Context(), "notes", nil)
		if err != nil || !ready(doc.Status) || !meta.IsStatusConditionTrue(doc.Status.Conditions, "Reviewed") {
			t.Fatalf("document = %+v, %v; want both conditions", doc, err)
		}
		for _, entry := range doc.ManagedFields {
			if entry.Manager == documents.Manager && strings.Contains(entry.FieldsV1.GetRawString(), "Reviewed") {
				t.Errorf("the controller owns %s, want only its own condition", entry.FieldsV1.GetRawString())
			}
		}
	}, doc)
}
