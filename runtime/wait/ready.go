// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// Ready is a [Condition] that holds if an object of any kind has what its spec asks for. The type may be that of
// k8s.io/api, unstructured.Unstructured, or any other that declares the fields that matter for the kind:
//
//   - Deployment, StatefulSet: all replicas have the current template and are available, and no surplus ones exist. A
//     StatefulSet updates the replicas from its partition on, and with the strategy OnDelete any template is current.
//     The error of a Deployment that has exceeded its progress deadline is final, see [core.Terminal];
//   - DaemonSet: the replicas on all nodes that should have one have the current template and are available. With the
//     strategy OnDelete any template is current. Replicas on other nodes are ignored;
//   - ReplicaSet, ReplicationController: all replicas are available, and no surplus ones exist. Their templates do not
//     matter, because these kinds do not replace replicas;
//   - Job: it is complete. A failure is final;
//   - Pod: it is ready or has succeeded. A failure is final;
//   - PersistentVolumeClaim: it is bound. A claim whose storage class waits for the first consumer is bound only when a
//     pod uses it;
//   - CustomResourceDefinition: its kind is established, and its names are accepted;
//   - Service: it has an address if its type is LoadBalancer;
//   - all others: the condition Ready is true, or Available without a Ready. If there is neither, the object is ready,
//     unless it has a custom type, and neither a condition nor an observedGeneration: its controller has not seen it
//     yet. While the condition Reconciling is true, the object is not ready, and neither is one whose condition Stalled
//     is true, which is final if it has an observedGeneration.
//
// An object that is being deleted is not ready, nor is one whose status is older than its spec.
//
// A final error is terminal for a controller that calls Ready itself and returns the error: it is not run again until
// something changes, such as a watched object. Use [core.NotTerminal] to try again. The error of [Await] is not
// terminal.
func Ready[K any](obj *K) error {
	gk, err := groupKindOf(obj)
	if err != nil {
		return core.Terminal(err)
	}
	check, paths := ruleOf(gk.String())
	_, dynamic := any(obj).(*unstructured.Unstructured)
	builtin := strings.HasPrefix(reflect.TypeFor[K]().PkgPath(), "k8s.io/api/")
	if builtin {
		paths = nil // these types declare all fields
	}
	s, err := readSubject(obj, paths...)
	if err != nil {
		return err
	}
	s.hasConditions = !builtin && !dynamic // otherwise the kind may have none
	if observed := s.Status.ObservedGeneration; s.Metadata.DeletionTimestamp != nil {
		return errors.New("it is being deleted")
	} else if observed != 0 && observed < s.Metadata.Generation {
		return fmt.Errorf("the status is of generation %d, but the object has generation %d", observed, s.Metadata.Generation)
	}
	return check(s)
}

// groupKindOf returns the kind that an object has, or otherwise that of its type.
func groupKindOf[K any](obj *K) (schema.GroupKind, error) {
	o, ok := any(obj).(core.Object)
	if !ok {
		return schema.GroupKind{}, fmt.Errorf("the type %T is not a kind of objects", *obj)
	}
	if gk := o.GetObjectKind().GroupVersionKind().GroupKind(); gk.Kind != "" {
		return gk, nil
	}
	res, err := core.ResourceOfObject(o)
	if err != nil {
		return schema.GroupKind{}, fmt.Errorf("the kind of the %T is unknown: set its apiVersion and kind: %w", *obj, err)
	}
	return res.GroupVersionKind().GroupKind(), nil
}

// ruleOf returns when an object of a kind is ready, and the fields that it depends on.
func ruleOf(groupKind string) (check func(*subject) error, paths []string) {
	replicas := []string{
		"status.observedGeneration", "spec.replicas", "status.replicas", "status.updatedReplicas", "status.availableReplicas",
	}
	switch groupKind {
	case "Deployment.apps":
		return detailed((*workload).deployment), append(replicas, "spec.paused", conditionsPath)
	case "StatefulSet.apps":
		return detailed((*workload).statefulSet),
			append(replicas, "spec.updateStrategy.type", "spec.updateStrategy.rollingUpdate.partition")
	case "DaemonSet.apps":
		return detailed((*workload).daemonSet), []string{
			"status.observedGeneration", "spec.updateStrategy.type", "status.desiredNumberScheduled",
			"status.updatedNumberScheduled", "status.numberAvailable",
		}
	case "ReplicaSet.apps", "ReplicationController":
		return detailed((*workload).replicaSet), []string{
			"status.observedGeneration", "spec.replicas", "status.replicas", "status.availableReplicas", conditionsPath,
		}
	case "Job.batch":
		return (*subject).job, []string{conditionsPath}
	case "Pod":
		return detailed((*workload).pod), []string{"status.phase", conditionsPath}
	case "PersistentVolumeClaim":
		return detailed(func(w *workload) error { return w.phase("Bound") }), []string{"status.phase"}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return (*subject).definition, []string{conditionsPath}
	case "Service":
		return detailed((*workload).service), []string{"spec.type", "status.loadBalancer.ingress"}
	}
	return (*subject).other, []string{conditionsPath}
}

// detailed returns a check of a kind with fields that other kinds may declare differently.
func detailed(check func(*workload) error) func(*subject) error {
	return func(s *subject) error {
		w := &workload{subject: s}
		if err := wire.UnmarshalJSON(s.data, w); err != nil {
			return core.Terminal(fmt.Errorf("read the spec and the status: %w", err))
		}
		return check(w)
	}
}

// workload declares the fields that matter for the readiness of the kinds that Ready knows.
type workload struct {
	*subject `json:"-"`

	Spec struct {
		Replicas       *int64 `json:"replicas"`
		Paused         bool   `json:"paused"`
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

		Replicas          int64 `json:"replicas"`
		UpdatedReplicas   int64 `json:"updatedReplicas"`
		AvailableReplicas int64 `json:"availableReplicas"`

		DesiredNumberScheduled int64 `json:"desiredNumberScheduled"`
		UpdatedNumberScheduled int64 `json:"updatedNumberScheduled"`
		NumberAvailable        int64 `json:"numberAvailable"`

		LoadBalancer struct {
			Ingress []any `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
}

// unobserved returns an error if the controller of the workload has not seen the object yet.
func (s *subject) unobserved() error {
	if s.Status.ObservedGeneration == 0 && s.Metadata.Generation > 0 {
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

// updated returns an error if less than the wanted replicas have the current template.
func updated(have, want int64) error {
	if have < want {
		return fmt.Errorf("%d of %d replicas are updated", have, want)
	}
	return nil
}

// available returns an error if less than the wanted replicas are available.
func available(have, want int64) error {
	if have < want {
		return fmt.Errorf("%d of %d replicas are available", have, want)
	}
	return nil
}

// surplus returns an error if more than the wanted replicas exist.
func surplus(have, want int64) error {
	if have > want {
		return fmt.Errorf("%d surplus replicas are being deleted", have-want)
	}
	return nil
}

// deployment follows kubectl rollout status. A paused deployment makes no progress, but it can be resumed, so that its
// deadline does not count.
func (w *workload) deployment() error {
	err := w.unobserved()
	if err == nil {
		err = w.rollout()
	}
	progress := w.find("Progressing")
	switch {
	case err == nil:
		return nil
	case w.Spec.Paused:
		return fmt.Errorf("it is paused: %w", err)
	case progress != nil && progress.Reason == "ProgressDeadlineExceeded":
		return core.Terminal(w.withFailure(fmt.Errorf("%w: %w", progress.unlike(), err)))
	}
	return w.withFailure(err)
}

func (w *workload) rollout() error {
	want, st := w.wanted(), w.Status
	if err := updated(st.UpdatedReplicas, want); err != nil {
		return err
	}
	if old := st.Replicas - st.UpdatedReplicas; old > 0 {
		return fmt.Errorf("%d old replicas are being deleted", old)
	}
	if err := surplus(st.Replicas, want); err != nil {
		return err
	}
	return available(st.AvailableReplicas, want)
}

// withFailure adds why pods can't be created, such as an exceeded quota.
func (s *subject) withFailure(err error) error {
	if c := s.find("ReplicaFailure"); err != nil && c != nil && c.Status == metav1.ConditionTrue {
		return fmt.Errorf("%w: %w", err, c.unlike())
	}
	return err
}

// statefulSet counts updated replicas also if the revisions are equal: after a rollback, replicas of the withdrawn
// revision may still exist.
func (w *workload) statefulSet() error {
	if err := w.unobserved(); err != nil {
		return err
	}
	want, st := w.wanted(), w.Status
	if u := w.Spec.UpdateStrategy; u.Type != "OnDelete" {
		if err := updated(st.UpdatedReplicas, max(0, want-u.RollingUpdate.Partition)); err != nil {
			return err
		}
	}
	if err := surplus(st.Replicas, want); err != nil {
		return err
	}
	return available(st.AvailableReplicas, want)
}

func (w *workload) daemonSet() error {
	if err := w.unobserved(); err != nil {
		return err
	}
	st := w.Status
	if w.Spec.UpdateStrategy.Type != "OnDelete" {
		if err := updated(st.UpdatedNumberScheduled, st.DesiredNumberScheduled); err != nil {
			return err
		}
	}
	return available(st.NumberAvailable, st.DesiredNumberScheduled)
}

func (w *workload) replicaSet() error {
	err := w.unobserved()
	if err == nil {
		err = surplus(w.Status.Replicas, w.wanted())
	}
	if err == nil {
		err = available(w.Status.AvailableReplicas, w.wanted())
	}
	return w.withFailure(err)
}

func (s *subject) job() error {
	switch {
	case s.isTrue("Failed"):
		return core.Terminal(s.find("Failed").unlike())
	case s.isTrue("Complete"):
		return nil
	case s.isTrue("Suspended"):
		return errors.New("it is suspended")
	}
	return errors.New("it is not complete")
}

func (w *workload) pod() error {
	switch w.Status.Phase {
	case "Succeeded":
		return nil
	case "Failed":
		return core.Terminal(w.phase("Succeeded"))
	}
	return w.check("Ready", metav1.ConditionTrue)
}

// definition is stricter than the condition Established: a server that refuses new names serves a definition under its
// old ones.
func (s *subject) definition() error {
	err := s.check("Established", metav1.ConditionTrue)
	names := s.find("NamesAccepted")
	if names == nil || err != nil && names.Status != metav1.ConditionFalse {
		return err
	}
	return s.check("NamesAccepted", metav1.ConditionTrue)
}

func (w *workload) service() error {
	if w.Spec.Type == "LoadBalancer" && len(w.Status.LoadBalancer.Ingress) == 0 {
		return errors.New("the load balancer has no address")
	}
	return nil
}

// other knows the conditions that kinds have in common: those of most kinds, and Reconciling and Stalled, which tools
// that apply objects expect.
func (s *subject) other() error {
	if s.isTrue("Stalled") {
		c := s.find("Stalled")
		if s.observed(c) == 0 {
			return c.unlike() // it may be about an earlier spec
		}
		return core.Terminal(c.unlike())
	}
	if s.isTrue("Reconciling") {
		return s.find("Reconciling").unlike()
	}
	for _, typ := range []string{"Ready", "Available"} {
		if s.find(typ) != nil {
			return s.check(typ, metav1.ConditionTrue)
		}
	}
	if s.hasConditions && len(s.Status.Conditions) == 0 && s.Status.ObservedGeneration == 0 {
		return errors.New("it has no conditions yet")
	}
	return nil
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
