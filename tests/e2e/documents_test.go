// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/examples/document-controller/documents"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/wait"
)

// installDocuments installs the Document kind until the test ends.
func installDocuments(t *testing.T, c *kube.Client) {
	t.Helper()
	keepDocumentsAway(t, c)
	if err := documents.Install(limit(t), c); err != nil {
		t.Fatal(err)
	}
}

// keepDocumentsAway removes the Document kind when the test ends, unless it is already installed.
func keepDocumentsAway(t *testing.T, c *kube.Client) {
	t.Helper()
	crd, err := kube.CRD[v1.Document]()
	if err != nil {
		t.Fatal(err)
	}
	crds := kube.Dynamic(c, kube.CRDResource())
	if _, err = crds.Get(limit(t), crd.GetName(), nil); !errors.Is(err, kube.ErrNotFound) {
		return
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := crds.Delete(ctx, crd.GetName(), nil); err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
		if err := kube.AwaitGone(ctx, crds, crd.GetName(), "", nil); err != nil {
			t.Error(err)
		}
	})
}

// library is a namespace with documents and a directory for their files.
type library struct {
	docs *kube.API[v1.Document]
	maps *kube.API[corev1.ConfigMap]
	dir  string
}

func newLibrary(t *testing.T, c *kube.Client) *library {
	t.Helper()
	ns := newNamespace(t, c)
	return &library{
		docs: kube.Namespaced[v1.Document](c, ns),
		maps: kube.Namespaced[corev1.ConfigMap](c, ns),
		dir:  t.TempDir(),
	}
}

// removeAfter deletes the documents when the test ends. Call it after starting the controller, so that the controller
// is still running to remove the finalizers.
func (l *library) removeAfter(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := l.docs.DeleteCollection(ctx, nil, nil); err != nil {
			t.Error(err)
		}
		for doc, err := range l.docs.All(ctx, nil) {
			if err == nil {
				err = kube.AwaitGone(ctx, l.docs, doc.Name, doc.UID, nil)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// write creates or updates a plain text document.
func (l *library) write(t *testing.T, name, body string) {
	t.Helper()
	doc := v1.NewDocument("", name, v1.DocumentSpec{Title: name, Body: body, Format: v1.FormatText})
	if _, err := l.docs.Apply(limit(t), doc, &kube.ApplyOptions{FieldManager: "author"}); err != nil {
		t.Fatal(err)
	}
}

// published returns the condition that a ConfigMap contains the text of its document.
func published(name, body string) wait.Condition[corev1.ConfigMap] {
	return func(cm *corev1.ConfigMap) error {
		if got, want := cm.Data["document.txt"], name+"\n\n"+body+"\n"; got != want {
			return fmt.Errorf("text = %q, want %q", got, want)
		}
		return nil
	}
}

// awaitPublished waits until the ConfigMap of a document contains its text and the document is Ready.
func (l *library) awaitPublished(t *testing.T, name, body string) *corev1.ConfigMap {
	t.Helper()
	cm, err := kube.Await(limit(t), l.maps, name, published(name, body), nil)
	if err != nil {
		t.Fatal(err)
	}
	ready := kube.StatusCondition[v1.Document](v1.ConditionReady, metav1.ConditionTrue)
	if _, err := kube.Await(limit(t), l.docs, name, ready, nil); err != nil {
		t.Fatal(err)
	}
	return cm
}
