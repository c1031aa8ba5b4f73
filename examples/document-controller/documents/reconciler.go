// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

const (
	// Manager is the field manager of the fields that the controller applies.
	Manager = "document-controller"
	// Finalizer delays the deletion of a document until its file is removed.
	Finalizer = "docs.example.com/file"
)

// resync is the interval after which a document is reconciled without an event: a change of its file is not an event.
const resync = 5 * time.Minute

// Options are the options of [Run].
type Options struct {
	// Dir is the directory for the files. Default: no files, as in a WebAssembly module, which has no file system.
	Dir string
	// Election has the options of the election if several replicas run. Default: no election, there is one replica.
	Election *kube.ElectionOptions
	// DebugAddr is the address of the debug page, such as "localhost:8082". Default: no page.
	DebugAddr string
	// Logger logs errors. Default: slog.Default.
	Logger *slog.Logger
	// OnResult is called after each reconcile.
	OnResult func(kube.Result)
}

// Run runs the controller until the context ends.
func Run(ctx context.Context, c *kube.Client, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	recorder := kube.NewRecorder(c, &kube.RecorderOptions{Controller: "docs.example.com/" + Manager, Logger: o.Logger})
	r := &reconciler{
		docs:     kube.ClusterWide[v1.Document](c),
		maps:     kube.ClusterWide[corev1.ConfigMap](c),
		recorder: recorder,
		dir:      o.Dir,
	}
	cache := kube.NewCache(c, &kube.CacheOptions{Logger: o.Logger})
	ctlOptions := &kube.ControllerOptions{Logger: o.Logger, OnResult: o.OnResult}
	ctl := kube.NewController(kube.For[v1.Document](cache), ctlOptions).Owns(kube.Source[corev1.ConfigMap](cache))
	options := &kube.ManagerOptions{ElectionOptions: o.Election, DebugAddr: o.DebugAddr, Logger: o.Logger}
	if o.Election != nil {
		options.LeaderElection = Manager
	}
	m := kube.NewManager(c, options)
	m.AddToAll(recorder)
	m.Add(ctl.With(r.reconcile))
	return m.Run(ctx)
}

type reconciler struct {
	docs     *kube.API[v1.Document]
	maps     *kube.API[corev1.ConfigMap]
	recorder *kube.Recorder
	dir      string // of the files, or empty
}

func (r *reconciler) reconcile(ctx context.Context, doc *v1.Document) (kube.Action, error) {
	return kube.Finalize(ctx, r.docs, Finalizer, doc, kube.FinalizerFuncs[v1.Document]{
		Apply:   r.apply,
		Cleanup: r.cleanup,
	})
}

// apply renders the document into its ConfigMap and its file, and updates the status.
func (r *reconciler) apply(ctx context.Context, doc *v1.Document) (kube.Action, error) {
	page, err := render(doc.Spec)
	if err != nil {
		return kube.AwaitChange(), r.report(ctx, doc, doc.Status, metav1.Condition{ // it has the last published page
			Status: metav1.ConditionFalse, Reason: "Invalid", Message: err.Error(),
		})
	}
	cm, err := r.maps.In(doc.Namespace).CreateOrUpdate(ctx, doc.Name, func(cm *corev1.ConfigMap) error {
		return publish(cm, doc, page)
	}, &kube.ModifyOptions{FieldManager: Manager})
	if err != nil {
		return kube.Action{}, err
	}
	if !metav1.IsControlledBy(cm, doc) {
		if err := r.removeFile(doc); err != nil {
			return kube.Action{}, err
		}
		// The deletion of a ConfigMap without a controller causes no run.
		return kube.RequeueAfter(time.Minute), r.report(ctx, doc, v1.DocumentStatus{}, metav1.Condition{
			Status: metav1.ConditionFalse, Reason: "NameTaken",
			Message: "configmap " + cm.Name + " exists and does not belong to this document: " +
				"delete the configmap, or use another name for the document",
		})
	}
	if err := r.writeFile(doc, page); err != nil {
		return kube.Action{}, err
	}
	published := v1.DocumentStatus{ConfigMap: cm.Name, Words: page.words}
	return kube.RequeueAfter(resync), r.report(ctx, doc, published, metav1.Condition{
		Status: metav1.ConditionTrue, Reason: "Rendered",
		Message: fmt.Sprintf("%d words in configmap %s", page.words, cm.Name),
	})
}

// publish puts a page into the ConfigMap of a document. It does not change a ConfigMap that exists and does not belong
// to the document, such as one that a user has created.
func publish(cm *corev1.ConfigMap, doc *v1.Document, page rendered) error {
	if cm.UID != "" && !metav1.IsControlledBy(cm, doc) {
		return nil
	}
	cm.Data = map[string]string{page.file: page.text}
	return kube.SetController(cm, doc)
}

// report applies the status with the condition Ready, and records an event if the document or the reason is new. The
// server writes nothing if the status does not change.
func (r *reconciler) report(ctx context.Context, doc *v1.Document, st v1.DocumentStatus, ready metav1.Condition) error {
	ready.Type, ready.ObservedGeneration = v1.ConditionReady, doc.Generation
	old := meta.FindStatusCondition(doc.Status.Conditions, ready.Type)
	if old == nil || old.ObservedGeneration != doc.Generation || old.Reason != ready.Reason {
		event := kube.Event{Type: kube.EventNormal, Reason: ready.Reason, Action: "Render", Note: ready.Message}
		if ready.Status != metav1.ConditionTrue {
			event.Type = kube.EventWarning
		}
		r.recorder.Event(doc, event)
	}
	st.ObservedGeneration, st.Conditions = doc.Generation, conditions(doc, ready)
	_, err := r.docs.Status().Apply(ctx, &v1.Document{
		ObjectMeta: metav1.ObjectMeta{Namespace: doc.Namespace, Name: doc.Name},
		Status:     st,
	}, &kube.ApplyOptions{FieldManager: Manager, Force: true})
	return err
}

// conditions returns the new condition with the time of its last transition. It has no conditions of other controllers,
// because the apply would take them over.
func conditions(doc *v1.Document, cond metav1.Condition) []metav1.Condition {
	var own []metav1.Condition
	if old := meta.FindStatusCondition(doc.Status.Conditions, cond.Type); old != nil {
		own = append(own, *old)
	}
	meta.SetStatusCondition(&own, cond)
	return own
}

// cleanup removes the file. The garbage collector deletes the ConfigMap, because the document owns it.
func (r *reconciler) cleanup(_ context.Context, doc *v1.Document) (kube.Action, error) {
	if r.dir == "" {
		return kube.AwaitChange(), nil
	}
	if err := r.removeFile(doc); err != nil {
		return kube.Action{}, err
	}
	r.recorder.Event(doc, kube.Event{Reason: "Removed", Action: "Cleanup", Note: "removed the document's file"})
	return kube.AwaitChange(), nil
}

// removeFile removes the directory of a document's file, if it exists.
func (r *reconciler) removeFile(doc *v1.Document) error {
	if r.dir == "" {
		return nil
	}
	return os.RemoveAll(r.folder(doc))
}

// folder returns the directory of a document's file. Names of objects are safe in paths.
func (r *reconciler) folder(doc *v1.Document) string {
	return filepath.Join(r.dir, doc.Namespace, doc.Name)
}

// writeFile replaces the files of a document by one. Readers never find it missing or incomplete.
func (r *reconciler) writeFile(doc *v1.Document, page rendered) error {
	if r.dir == "" {
		return nil
	}
	folder := r.folder(doc)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file := filepath.Join(folder, page.file)
	if err := os.WriteFile(file+".new", []byte(page.text), 0o644); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == page.file {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
