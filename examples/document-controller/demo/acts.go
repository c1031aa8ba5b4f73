// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

const author = "demo" // the field manager of the changes that a user would make

func (st *stage) create(ctx context.Context, s *screen) error {
	s.step("Create three documents")
	for name, spec := range map[string]v1.DocumentSpec{
		"readme": {Title: "Read me", Body: "# Hello\nThis is **rendered** by a controller.\n- one\n- two"},
		"notes":  {Title: "Notes", Body: "plain words", Format: v1.FormatText},
		"page":   {Title: "A page", Body: "<p>ready made</p>", Format: v1.FormatHTML},
	} {
		if _, err := st.docs.Create(ctx, v1.NewDocument(st.namespace, name, spec), nil); err != nil {
			return err
		}
	}
	for _, name := range []string{"readme", "notes", "page"} {
		if err := st.awaitReady(ctx, name, metav1.ConditionTrue); err != nil {
			return err
		}
	}
	return st.showConfigMap(ctx, s, "readme", "index.html")
}

func (st *stage) edit(ctx context.Context, s *screen) error {
	s.step("Edit a document: the controller updates its ConfigMap")
	patch := kube.MergePatch(map[string]any{"spec": map[string]any{"body": "# Hello again\nNow with other words."}})
	if _, err := st.docs.Patch(ctx, "readme", patch, &kube.PatchOptions{FieldManager: author}); err != nil {
		return err
	}
	if err := st.awaitReady(ctx, "readme", metav1.ConditionTrue); err != nil {
		return err
	}
	return st.showConfigMap(ctx, s, "readme", "index.html")
}

func (st *stage) deleteConfigMap(ctx context.Context, s *screen) error {
	s.step("Delete a ConfigMap that a document owns: the controller recreates it")
	old, err := st.maps.Get(ctx, "notes", nil)
	if err != nil {
		return err
	}
	if err := st.maps.Delete(ctx, "notes", nil); err != nil {
		return err
	}
	s.say("configmap    %-8s deleted, uid %s", old.Name, old.UID)
	if err := kube.AwaitGone(ctx, st.maps, "notes", old.UID, nil); err != nil {
		return err
	}
	again, err := kube.Await(ctx, st.maps, "notes", func(*corev1.ConfigMap) error { return nil }, nil)
	if err != nil {
		return err
	}
	s.say("configmap    %-8s recreated, uid %s", again.Name, again.UID)
	return nil
}

func (st *stage) mistake(ctx context.Context, s *screen) error {
	s.step("Make a mistake in a document and correct it")
	for _, act := range []struct {
		body string
		want metav1.ConditionStatus
	}{
		{"```\nnever closed", metav1.ConditionFalse},
		{"```\nclosed\n```", metav1.ConditionTrue},
	} {
		patch := kube.MergePatch(map[string]any{"spec": map[string]any{"body": act.body}})
		if _, err := st.docs.Patch(ctx, "readme", patch, &kube.PatchOptions{FieldManager: author}); err != nil {
			return err
		}
		if err := st.awaitReady(ctx, "readme", act.want); err != nil {
			return err
		}
	}
	return nil
}

func (st *stage) handOver(ctx context.Context, s *screen) error {
	leader := <-st.reconcile // not empty: there were reconciles
	s.step("Stop the replica that leads: the other one takes over")
	s.say("lease        %-8s stops and releases the lease", leader)
	stopped := time.Now()
	st.replicas[leader](errEnded)
	for {
		select {
		case name := <-st.reconcile:
			if name == leader {
				continue // a reconcile before its end
			}
			s.say("lease        %-8s has reconciled its first document after %.1fs", name, time.Since(stopped).Seconds())
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (st *stage) killServer(ctx context.Context, s *screen) error {
	if st.cluster == nil {
		return nil // do not disturb the cluster of the kubeconfig
	}
	s.step("Kill the API server and restart it: the controller recovers automatically")
	server := st.cluster.Component(cluster.APIServer)
	if err := server.Kill(); err != nil {
		return err
	}
	s.say("API server   killed with SIGKILL")
	if err := server.Start(ctx); err != nil {
		return err
	}
	s.say("API server   restarted")
	patch := kube.MergePatch(map[string]any{"spec": map[string]any{"body": "written after the crash"}})
	if _, err := st.docs.Patch(ctx, "notes", patch, &kube.PatchOptions{FieldManager: author}); err != nil {
		return err
	}
	return st.awaitReady(ctx, "notes", metav1.ConditionTrue)
}

func (st *stage) deleteDocument(ctx context.Context, s *screen) error {
	s.step("Delete a document: the controller removes the file, then the finalizer")
	file := filepath.Join(st.dir, st.namespace, "page", "index.html")
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the document has no file: %w", err)
	}
	s.say("file         %-8s exists", "page")
	doc, err := st.docs.Get(ctx, "page", nil)
	if err != nil {
		return err
	}
	if err := st.docs.Delete(ctx, "page", nil); err != nil {
		return err
	}
	if err := kube.AwaitGone(ctx, st.docs, "page", doc.UID, nil); err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the file of the deleted document still exists: %s: %w", file, err)
	}
	s.say("file         %-8s removed; the Kubernetes garbage collector deletes the configmap", "page")
	return nil
}

func (st *stage) summary(ctx context.Context, s *screen) error {
	s.step("Summary")
	for doc, err := range st.docs.All(ctx, nil) {
		if err != nil {
			return err
		}
		ready := meta.IsStatusConditionTrue(doc.Status.Conditions, v1.ConditionReady)
		s.say("%-8s %-10q ready: %-5t words: %d", doc.Name, doc.Spec.Title, ready, doc.Status.Words)
	}
	s.say("reconciled %d times, %d of them with an error; %d events", st.runs.Load(), st.failures.Load(), st.events.Load())
	s.say("the demo succeeded; cleaning up")
	return nil
}

// deleteAll deletes the documents while the controller is running to remove their finalizers.
func (st *stage) deleteAll(ctx context.Context) error {
	if err := st.docs.DeleteCollection(ctx, nil, nil); err != nil {
		return err
	}
	for _, name := range []string{"readme", "notes"} {
		if err := kube.AwaitGone(ctx, st.docs, name, "", nil); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady waits until the condition Ready has the wanted status for the current generation of the document.
func (st *stage) awaitReady(ctx context.Context, name string, want metav1.ConditionStatus) error {
	_, err := kube.Await(ctx, st.docs, name, func(doc *v1.Document) error {
		cond := meta.FindStatusCondition(doc.Status.Conditions, v1.ConditionReady)
		switch {
		case cond == nil:
			return errors.New("no condition Ready yet")
		case cond.ObservedGeneration != doc.Generation:
			return fmt.Errorf("condition Ready of generation %d, want %d", cond.ObservedGeneration, doc.Generation)
		case cond.Status != want:
			return fmt.Errorf("condition Ready is %s, want %s", cond.Status, want)
		}
		return nil
	}, nil)
	return err
}

func (st *stage) showConfigMap(ctx context.Context, s *screen, name, key string) error {
	cm, err := st.maps.Get(ctx, name, nil)
	if err != nil {
		return err
	}
	s.say("configmap    %-8s %s is %q", name, key, cm.Data[key])
	return nil
}
