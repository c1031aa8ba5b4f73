// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/store"
)

// defaultGrace is the time that a running pod has to end.
const defaultGrace int64 = 30

// delete deletes an object, or marks it as deleted if it has finalizers or a grace period. It returns the last state of
// the object, and whether it is removed.
func (w *write) delete(o *metav1.DeleteOptions) (*unstructured.Unstructured, bool, error) {
	live, err := w.stored()
	if err != nil {
		return nil, false, err
	}
	if err := w.checkPreconditions(live, o.Preconditions); err != nil {
		return nil, false, err
	}
	if err := w.approveDelete(live, o); err != nil {
		return nil, false, err
	}
	obj := w.mark(w.key(), live, o)
	waits := w.tx.Get(w.key()) != nil
	w.settle()
	return obj, !waits, nil
}

// mark deletes an object if it needs no preparation, and otherwise marks it as deleted. It returns its last state.
func (w *write) mark(
	key store.Key, live *unstructured.Unstructured, o *metav1.DeleteOptions,
) *unstructured.Unstructured {
	seconds, pending := grace(key, live, o.GracePeriodSeconds)
	if pending {
		return live
	}
	obj := live.DeepCopy()
	finalizers := obj.GetFinalizers()
	if !isEvent(key) {
		finalizers = dependentsFinalizers(finalizers, o, defaultPolicy(key.GroupResource))
	}
	now := seconds == 0 && len(finalizers) == 0 && key.GroupResource != namespaces() && key.GroupResource != definitions()
	if now && key.GroupResource != pods() {
		return w.tx.Delete(key)
	}
	obj.SetFinalizers(finalizers)
	markDeleted(key, obj, seconds)
	if !equality.Semantic.DeepEqual(live.Object, obj.Object) {
		obj = w.tx.Put(key, obj)
	}
	if now {
		return w.tx.Delete(key)
	}
	return obj
}

func (w *write) checkPreconditions(live *unstructured.Unstructured, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	gr := w.kind.resource()
	gr.Resource = w.kind.Kind // as servers do
	if p.UID != nil && *p.UID != live.GetUID() {
		return apierrors.NewConflict(gr, w.ref.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in "+
			"record (%s). The object might have been deleted and then recreated", *p.UID, live.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
		return apierrors.NewConflict(gr, w.ref.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match "+
			"the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion,
			live.GetResourceVersion()))
	}
	return nil
}

// grace returns the seconds until an object is removed, and whether an earlier deletion continues unchanged. Only pods
// on a node have a grace period.
func grace(key store.Key, obj *unstructured.Unstructured, requested *int64) (seconds int64, pending bool) {
	if key.GroupResource != pods() {
		return 0, false
	}
	node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0, false
	}
	seconds = defaultGrace
	if own, ok, _ := unstructured.NestedInt64(obj.Object, "spec", "terminationGracePeriodSeconds"); ok {
		seconds = own
	}
	if requested != nil {
		seconds = *requested
	}
	if seconds < 0 {
		seconds = 1
	}
	if earlier := obj.GetDeletionGracePeriodSeconds(); obj.GetDeletionTimestamp() != nil && earlier != nil {
		return seconds, *earlier > 0 && (requested == nil || seconds >= *earlier)
	}
	return seconds, false
}

// defaultPolicy returns the propagation policy of deletions without one. Jobs and ReplicationControllers had no garbage
// collector at first.
func defaultPolicy(gr schema.GroupResource) metav1.DeletionPropagation {
	if gr == jobs() || gr == (schema.GroupResource{Resource: "replicationcontrollers"}) {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// dependentsFinalizers returns the finalizers of an object that is deleted. The policy is that of its kind.
func dependentsFinalizers(finalizers []string, o *metav1.DeleteOptions, policy metav1.DeletionPropagation) []string {
	switch {
	case o.PropagationPolicy != nil:
		policy = *o.PropagationPolicy
	case o.OrphanDependents != nil: //nolint:staticcheck // deprecated, but servers support it
		policy = metav1.DeletePropagationBackground
		if *o.OrphanDependents { //nolint:staticcheck // as above
			policy = metav1.DeletePropagationOrphan
		}
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	}
	others := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
	switch policy {
	case metav1.DeletePropagationForeground:
		return append(others, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		return append(others, metav1.FinalizerOrphanDependents)
	default:
		return others
	}
}

// markDeleted sets the deletion timestamp, and the phase of a namespace.
func markDeleted(key store.Key, obj *unstructured.Unstructured, grace int64) {
	now := metav1.Now()
	end := metav1.NewTime(now.Add(time.Duration(grace) * time.Second))
	if earlier := obj.GetDeletionTimestamp(); earlier == nil {
		if g := obj.GetGeneration(); g > 0 {
			obj.SetGeneration(g + 1)
		}
		obj.SetDeletionTimestamp(&end)
	} else if earlier.After(end.Time) {
		obj.SetDeletionTimestamp(&end)
	}
	obj.SetDeletionGracePeriodSeconds(&grace)
	switch key.GroupResource {
	case namespaces():
		setNested(obj, "Terminating", "status", "phase")
		obj.SetDeletionGracePeriodSeconds(nil)
	case definitions():
		obj.SetDeletionGracePeriodSeconds(nil)
	}
}
