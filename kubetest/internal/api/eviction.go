// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kubetest/internal/store"
)

// evict serves an eviction of a pod, see
// https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/registry/core/pod/storage/eviction.go.
func (c *call) evict() error {
	obj, err := c.decodeAs(policyv1.SchemeGroupVersion.WithKind("Eviction"))
	if err != nil {
		return err
	}
	var eviction policyv1.Eviction
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &eviction); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if eviction.Name != c.ref.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	o := eviction.DeleteOptions
	if o == nil {
		o = &metav1.DeleteOptions{}
	}
	var sent metav1.CreateOptions
	if err := options(c, &sent, "CreateOptions", validation.ValidateCreateOptions); err != nil {
		return err
	}
	_, err = c.change(append(o.DryRun, sent.DryRun...), "", "", func(w *write) (*unstructured.Unstructured, error) {
		return w.evict(o)
	})
	if err != nil {
		return err
	}
	respond(c.w, http.StatusCreated, success(http.StatusCreated))
	return nil
}

// evict deletes a pod, if its disruption budget allows it. The status of the budget is that of its controller, which
// does not run: tests write it.
func (w *write) evict(o *metav1.DeleteOptions) (*unstructured.Unstructured, error) {
	live, err := w.live()
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &pod); err != nil {
		return nil, err
	}
	if err := w.disrupt(&pod); err != nil {
		return nil, err
	}
	if err := w.checkPreconditions(live, o.Preconditions); err != nil {
		return nil, err
	}
	obj, others := live.DeepCopy(), make([]any, 0, 1)
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, cond := range conditions {
		if fields, ok := cond.(map[string]any); !ok || fields["type"] != string(corev1.DisruptionTarget) {
			others = append(others, cond)
		}
	}
	setNested(obj, append(others, map[string]any{
		"type": string(corev1.DisruptionTarget), "status": "True", "reason": "EvictionByEvictionAPI",
		"message": "Eviction API: evicting", "lastProbeTime": nil,
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339),
	}), "status", "conditions")
	w.tx.Put(w.key(), obj)
	rest := o.DeepCopy()
	rest.Preconditions = nil // the condition has changed the version
	w.admission = nil        // webhooks do not review the deletion of an evicted pod
	obj, _, err = w.delete(rest)
	return obj, err
}

// disrupt returns an error if a disruption budget does not allow the eviction of a pod, and otherwise counts it.
func (w *write) disrupt(pod *corev1.Pod) error {
	switch phase := pod.Status.Phase; {
	case phase == corev1.PodSucceeded, phase == corev1.PodFailed, phase == corev1.PodPending, pod.DeletionTimestamp != nil:
		return nil
	}
	budgets, err := w.budgets(pod)
	switch {
	case err != nil:
		return err
	case len(budgets) == 0:
		return nil
	case len(budgets) > 1:
		return failure("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	}
	b := budgets[0]
	if !podReady(pod) {
		always := b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	if err := checkBudget(b); err != nil {
		return err
	}
	return w.count(b, pod)
}

func podReady(pod *corev1.Pod) bool {
	for _, cond := range pod.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

func budgetKey(ref core.ObjectRef) store.Key {
	return store.Key{
		GroupResource: schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}, ObjectRef: ref,
	}
}

// budgets returns the disruption budgets that select a pod.
func (w *write) budgets(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	var budgets []*policyv1.PodDisruptionBudget
	for _, obj := range w.tx.List(budgetKey(core.ObjectRef{}).GroupResource) {
		b := &policyv1.PodDisruptionBudget{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, b); err != nil {
			return nil, err
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && b.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, b)
		}
	}
	return budgets, nil
}

// checkBudget returns an error if a budget allows no disruption.
func checkBudget(b *policyv1.PodDisruptionBudget) error {
	s := &b.Status
	const refusal = "Cannot evict pod as it would violate the pod's disruption budget."
	switch {
	case s.ObservedGeneration < b.Generation:
		return budgetError(apierrors.NewTooManyRequests(refusal, 10),
			"The disruption budget %s is still being processed by the server.", b.Name)
	case s.DisruptionsAllowed < 0:
		return budgetError(apierrors.NewForbidden(
			schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudget"}, b.Name,
			errors.New("pdb disruptions allowed is negative")),
			"The disruption budget %s does not allow evicting pods currently: pdb disruptions allowed is negative", b.Name)
	case s.DisruptionsAllowed > 0:
		return nil
	}
	err := apierrors.NewTooManyRequests(refusal, 0)
	cond := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	explained := cond != nil && cond.Status == metav1.ConditionFalse && cond.Message != ""
	switch {
	case explained && cond.Reason == policyv1.SyncFailedReason:
		return budgetError(err, "The disruption budget %s does not allow evicting pods currently because it failed sync: %s",
			b.Name, cond.Message)
	case s.CurrentHealthy <= s.DesiredHealthy:
		return budgetError(err, "The disruption budget %s needs %d healthy pods and has %d currently", b.Name,
			s.DesiredHealthy, s.CurrentHealthy)
	case explained:
		return budgetError(err, "The disruption budget %s does not allow evicting pods currently (%s): %s", b.Name,
			cond.Reason, cond.Message)
	default:
		return budgetError(err, "The disruption budget %s does not allow evicting pods currently", b.Name)
	}
}

// budgetError adds the cause to an error.
func budgetError(err *apierrors.StatusError, format string, args ...any) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: fmt.Sprintf(format, args...),
	})
	return err
}

// count subtracts the eviction of a pod from the disruptions that a budget allows.
func (w *write) count(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) error {
	s := &b.Status
	if s.DisruptionsAllowed--; s.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: s.ObservedGeneration,
		})
	}
	if s.DisruptedPods == nil {
		s.DisruptedPods = make(map[string]metav1.Time)
	}
	s.DisruptedPods[pod.Name] = metav1.Now()
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return err
	}
	key := budgetKey(core.RefOf(b))
	obj := w.tx.Get(key).DeepCopy()
	obj.Object["status"] = status
	w.tx.Put(key, obj)
	return nil
}
