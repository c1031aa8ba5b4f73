// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// TestDocumentsLeaveForeignConfigMapsUnchanged checks that a document does not take over a ConfigMap of its name that a
// user has created: the document reports it, the ConfigMap stays unchanged, also after the deletion of the document,
// and the document is published once the ConfigMap is deleted.
func TestDocumentsLeaveForeignConfigMapsUnchanged(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	l := newLibrary(t, c)
	before := map[string]*corev1.ConfigMap{}
	names := []string{"taken", "freed"}
	for _, name := range names {
		before[name] = create(t, l.maps, name, "of a user")
	}
	background(t, func(ctx context.Context) error {
		return documents.Run(ctx, c, &documents.Options{Dir: l.dir})
	})
	l.removeAfter(t)
	for _, name := range names {
		l.write(t, name, "words")
	}
	for _, name := range names {
		doc, err := kube.Await(limit(t), l.docs, name, isTaken(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		if doc.Status.ConfigMap != "" || doc.Status.Words != 0 {
			t.Errorf("status = %+v, want no published page", doc.Status)
		}
		if diff := gocmp.Diff(before[name], l.configMap(t, name)); diff != "" {
			t.Errorf("the ConfigMap %s has changed (-before +after):\n%s", name, diff)
		}
	}

	remove(t, l.maps, "freed")
	l.write(t, "freed", "other words") // a change, because the next regular run is a minute later
	owned := l.awaitPublished(t, "freed", "other words")

	for _, name := range names {
		if err := kube.DeleteAndWait(limit(t), l.docs, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The garbage collector has also seen the deletion of the first document once it has deleted this ConfigMap.
	if err := kube.AwaitGone(limit(t), l.maps, "freed", owned.UID, nil); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before["taken"], l.configMap(t, "taken")); diff != "" {
		t.Errorf("the ConfigMap has changed with the deletion of the document (-before +after):\n%s", diff)
	}
}

// configMap reads a ConfigMap.
func (l *library) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	cm, err := l.maps.Get(limit(t), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cm
}

// isTaken returns the condition that a document reports that the ConfigMap of its name belongs to others.
func isTaken(name string) wait.Condition[v1.Document] {
	return func(doc *v1.Document) error {
		cond := meta.FindStatusCondition(doc.Status.Conditions, v1.ConditionReady)
		want := "configmap " + name + " exists and does not belong to this document: delete the configmap, "
		if cond == nil || cond.Status != metav1.ConditionFalse || cond.Reason != "NameTaken" ||
			!strings.HasPrefix(cond.Message, want) {
			return fmt.Errorf("condition %+v, want NameTaken", cond)
		}
		return nil
	}
}

// TestInvalidDocumentsKeepTheirPage checks that the status names the page that is still published when its document
// has become invalid.
func TestInvalidDocumentsKeepTheirPage(t *testing.T) {
	c := connect(t, nil)
	installDocuments(t, c)
	l := newLibrary(t, c)
	background(t, func(ctx context.Context) error { return documents.Run(ctx, c, nil) })
	l.removeAfter(t)
	l.write(t, "broken", "two words")
	l.awaitPublished(t, "broken", "two words")
	spec := v1.DocumentSpec{Title: "broken", Body: "```", Format: v1.FormatMarkdown}
	for _, name := range []string{"broken", "never"} {
		doc := v1.NewDocument("", name, spec)
		if _, err := l.docs.Apply(limit(t), doc, &kube.ApplyOptions{FieldManager: "author"}); err != nil {
			t.Fatal(err)
		}
	}
	invalid := kube.StatusCondition[v1.Document](v1.ConditionReady, metav1.ConditionFalse)
	for name, want := range map[string]v1.DocumentStatus{"broken": {ConfigMap: "broken", Words: 2}, "never": {}} {
		doc, err := kube.Await(limit(t), l.docs, name, invalid, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Status; got.ConfigMap != want.ConfigMap || got.Words != want.Words {
			t.Errorf("status of %s = %+v, want configmap %q with %d words", name, got, want.ConfigMap, want.Words)
		}
	}
}
