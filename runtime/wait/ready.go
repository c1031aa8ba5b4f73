// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Ready is a [Condition] that holds if an object of any kind has what its spec asks for:
//
//   - Deployment, StatefulSet, DaemonSet: all replicas have the current template and are available;
//   - Job: it is complete;
//   - Pod: it is ready or has succeeded;
//   - PersistentVolumeClaim: it is bound. A claim whose storage class waits for the first consumer is bound only when a
//     pod uses it;
//   - CustomResourceDefinition: its kind is established;
//   - Service: it has an address if its type is LoadBalancer;
//   - all others: the condition Ready is true, or Available without a Ready. If there is neither, the object is ready
//     immediately.
//
// An object that is being deleted is not ready, neither is one whose status is older than its spec. The error of a job
// or pod that has failed is marked by [Never].
func Ready(obj *unstructured.Unstructured) error {
	if obj.GetDeletionTimestamp() != nil {
		return errors.New("it is being deleted")
	}
	if observed, ok, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration"); err == nil && ok &&
		observed < obj.GetGeneration() {
		return fmt.Errorf("the status is of generation %d, but the object has generation %d", observed, obj.GetGeneration())
	}
	c, err := readConditions(obj)
	if err != nil {
		return err
	}
	w := &workload{conditions: c}
	if err := convert(obj, w); err != nil {
		return Never(fmt.Errorf("read the status: %w", err))
	}
	switch gk := obj.GroupVersionKind().GroupKind(); gk.String() {
	case "Deployment.apps":
		return w.deployment()
	case "StatefulSet.apps":
		return w.statefulSet()
	case "DaemonSet.apps":
		return w.daemonSet()
	case "Job.batch":
		return w.job()
	case "Pod":
		return w.pod()
	case "PersistentVolumeClaim":
		return w.phase("Bound")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return Established[unstructured.Unstructured]()(obj)
	case "Service":
		if w.Spec.Type == "LoadBalancer" && len(w.Status.LoadBalancer.Ingress) == 0 {
			return errors.New("the load balancer has no address")
		}
		return nil
	}
	for _, typ := range []string{"Ready", "Available"} {
		if c.find(typ) != nil {
			return c.check(typ, metav1.ConditionTrue)
		}
	}
	return nil
}

// workload declares the fields that matter for the readiness of the kinds that Ready knows.
type workload struct {
	conditions *conditioned

	Spec struct {
		Replicas       *int64 `json:"replicas"`
		Type           string `json:"type"`
		UpdateStrategy struct {
			Type          string `json:"type"`
			RollingUpdate struct {
				Partition int64 `json:"partition"`
			} `json:"rollingUpdate"`
		} `json:"updateStrategy"`
	} `json:"spec"`
	Status struct {
		Phase   string `json:"phase"`
		Message string `json:"message"`

		Replicas          int64  `json:"replicas"`
		UpdatedReplicas   int64  `json:"updatedReplicas"`
		ReadyReplicas     int64  `json:"readyReplicas"`
		AvailableReplicas int64  `json:"availableReplicas"`
		CurrentRevision   string `json:"currentRevision"`
		UpdateRevision    string `json:"updateRevision"`

		DesiredNumberScheduled int64 `json:"desiredNumberScheduled"`
		UpdatedNumberScheduled int64 `json:"updatedNumberScheduled"`
		NumberAvailable        int64 `json:"numberAvailable"`

		LoadBalancer struct {
			Ingress []any `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
}

// unobserved returns an error if the controller of the workload has not seen the object yet.
func (w *workload) unobserved() error {
	if c := w.conditions; c.Status.ObservedGeneration == 0 && c.Metadata.Generation > 0 {
		return errors.New("its controller has not observed it")
	}
	return nil
}

// wanted returns the number of replicas.
func (w *workload) wanted() int64 {
	if w.Spec.Replicas == nil {
		return 1
	}
	return *w.Spec.Replicas
}

// available returns an error if less than the wanted replicas are available.
func available(have, want int64) error {
	if have < want {
		return fmt.Errorf("%d of %d replicas are available", have, want)
	}
	return nil
}

func (w *workload) deployment() error {
	if err := w.unobserved(); err != nil {
		return err
	}
	want, s := w.wanted(), w.Status
	if c := w.conditions.find("Progressing"); c != nil && c.Reason == "ProgressDeadlineExceeded" {
		return c.unlike()
	}
	switch {
	case s.UpdatedReplicas < want:
		return fmt.Errorf("%d of %d replicas are updated", s.UpdatedReplicas, want)
	case s.Replicas > s.UpdatedReplicas:
		return fmt.Errorf("%d old replicas are being deleted", s.Replicas-s.UpdatedReplicas)
	}
	return available(s.AvailableReplicas, want)
}

func (w *workload) statefulSet() error {
	if err := w.unobserved(); err != nil {
		return err
	}
	want, s := w.wanted(), w.Status
	if w.Spec.UpdateStrategy.Type != "OnDelete" {
		partition := w.Spec.UpdateStrategy.RollingUpdate.Partition
		update := max(0, want-partition)
		if s.UpdateRevision != s.CurrentRevision && s.UpdatedReplicas < update {
			return fmt.Errorf("%d of %d replicas are updated", s.UpdatedReplicas, update)
		}
	}
	if s.Replicas > want {
		return fmt.Errorf("%d surplus replicas are being deleted", s.Replicas-want)
	}
	return available(s.AvailableReplicas, want)
}

func (w *workload) daemonSet() error {
	if err := w.unobserved(); err != nil {
		return err
	}
	want, s := w.Status.DesiredNumberScheduled, w.Status
	if w.Spec.UpdateStrategy.Type != "OnDelete" && s.UpdatedNumberScheduled < want {
		return fmt.Errorf("%d of %d replicas are updated", s.UpdatedNumberScheduled, want)
	}
	return available(s.NumberAvailable, want)
}

func (w *workload) job() error {
	if c := w.conditions.find("Failed"); c != nil && c.Status == metav1.ConditionTrue {
		return Never(c.unlike())
	}
	if c := w.conditions.find("Complete"); c != nil && c.Status == metav1.ConditionTrue {
		return nil
	}
	return errors.New("it is not complete")
}

func (w *workload) pod() error {
	switch w.Status.Phase {
	case "Succeeded":
		return nil
	case "Failed":
		return Never(w.phase("Succeeded"))
	}
	return w.conditions.check("Ready", metav1.ConditionTrue)
}

// phase returns an error if the phase is another one.
func (w *workload) phase(want string) error {
	if w.Status.Phase == want {
		return nil
	}
	err := fmt.Errorf("phase is %q", w.Status.Phase)
	if w.Status.Message != "" {
		err = fmt.Errorf("%w: %s", err, w.Status.Message)
	}
	return err
}
