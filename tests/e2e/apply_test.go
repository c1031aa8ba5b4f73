// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/kube"
)

// TestApplyOwnsTheFieldsItSets checks that server-side apply owns the fields that it sets, that a conflict names the
// field, and that apply removes fields that it no longer sets.
func TestApplyOwnsTheFieldsItSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	config := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Data: data}
	}

	first := config(map[string]string{"color": "red", "size": "big"})
	if _, err := maps.Apply(ctx, first, &kube.ApplyOptions{FieldManager: "one"}); err != nil {
		t.Fatal(err)
	}
	_, err := maps.Apply(ctx, config(map[string]string{"color": "blue"}), &kube.ApplyOptions{FieldManager: "two"})
	if !errors.Is(err, kube.ErrConflict) {
		t.Fatalf("apply of a field of another manager: %v, want ErrConflict", err)
	}
	se, ok := errors.AsType[*kube.StatusError](err)
	if !ok || len(se.Status.Details.Causes) != 1 || se.Status.Details.Causes[0].Field != ".data.color" {
		t.Errorf("the conflict does not name its field: %v", err)
	}
	force := &kube.ApplyOptions{FieldManager: "two", Force: true}
	got, err := maps.Apply(ctx, config(map[string]string{"color": "blue"}), force)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"color": "blue", "size": "big"}, got.Data); diff != "" {
		t.Errorf("after the forced apply (-want +got):\n%s", diff)
	}
	got, err = maps.Apply(ctx, config(nil), &kube.ApplyOptions{FieldManager: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"color": "blue"}, got.Data); diff != "" {
		t.Errorf("after its manager omitted size (-want +got):\n%s", diff)
	}
	again, err := maps.Apply(ctx, config(nil), &kube.ApplyOptions{FieldManager: "one"})
	if err != nil || again.ResourceVersion != got.ResourceVersion {
		t.Errorf("apply without changes = %v, %v, want the same resource version", again, err)
	}
	if _, err := maps.Apply(ctx, got, &kube.ApplyOptions{FieldManager: "one"}); err == nil {
		t.Error("apply of an object with managed fields succeeded, want an error")
	}
}

// TestApplyWithAUIDCreatesNoObject checks that a server refuses an apply with the UID of an object that was deleted, or
// that another one of the same name has replaced. The errors differ.
func TestApplyWithAUIDCreatesNoObject(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := connect(t, &kube.ClientOptions{FieldManager: "one"})
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	create := func() *corev1.ConfigMap {
		t.Helper()
		cm, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return cm
	}
	apply := func(of *corev1.ConfigMap) (*corev1.ConfigMap, error) {
		return maps.Apply(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: of.UID}, Data: map[string]string{"color": "blue"},
		}, nil)
	}
	old := create()
	if got, err := apply(old); err != nil || got.Data["color"] != "blue" || got.UID != old.UID {
		t.Errorf("apply to an existing object = %v, %v, want its new state", got, err)
	}
	if err := maps.Delete(ctx, "a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(old); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("apply to a deleted object = %v, want ErrConflict", err)
	}
	if got, err := maps.GetOrNil(ctx, "a", nil); got != nil || err != nil {
		t.Errorf("after the apply to a deleted object, the server has %v, %v, want no object", got, err)
	}
	replaced := create()
	if _, err := apply(old); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("apply to a replaced object = %v, want ErrInvalid", err)
	}
	if got, err := maps.Get(ctx, "a", nil); err != nil || got.ResourceVersion != replaced.ResourceVersion {
		t.Errorf("after the apply to a replaced object, the server has %v, %v, want the new object unchanged", got, err)
	}
}

// TestApplyOfRawValuesIsParsedByTheServer checks raw JSON with escapes that parsers of YAML refuse, and characters that
// they refuse or change. Servers parse an apply as YAML.
func TestApplyOfRawValuesIsParsedByTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "raw"}, Revision: 1,
		Data: runtime.RawExtension{Raw: []byte(`{"a\/b":"\ud83d\ude00 \u2028\f\u0001<"}`)},
	}
	revisions := kube.Namespaced[appsv1.ControllerRevision](c, newNamespace(t, c))
	got, err := revisions.Apply(t.Context(), revision, &kube.ApplyOptions{FieldManager: "one"})
	if err != nil {
		t.Fatal(err)
	}
	var data map[string]string
	if err := json.Unmarshal(got.Data.Raw, &data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a/b": "😀 \u2028\f\x01<"}, data); diff != "" {
		t.Errorf("the stored value (-want +got):\n%s", diff)
	}
	lines := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lines"}, Data: map[string]string{"a": "b\u0085c\u007f"}}
	maps := kube.Namespaced[corev1.ConfigMap](c, got.Namespace)
	stored, err := maps.Apply(t.Context(), lines, &kube.ApplyOptions{FieldManager: "one"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lines.Data, stored.Data); diff != "" {
		t.Errorf("the stored lines (-want +got):\n%s", diff)
	}
}

// TestForcedApplyKeepsFieldsThatAreNotSet checks that a forced apply of a typed object does not erase the fields that
// the object does not set.
func TestForcedApplyKeepsFieldsThatAreNotSet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := connect(t, nil)
	jobs := kube.Namespaced[batchv1.CronJob](c, newNamespace(t, c))
	meta := metav1.ObjectMeta{Name: "nightly"}
	if _, err := jobs.Create(ctx, &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
		Schedule: "0 3 * * *",
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "none"}},
		}}}},
	}}, nil); err != nil {
		t.Fatal(err)
	}
	force := &kube.ApplyOptions{FieldManager: "labeler", Force: true}
	labeled := meta
	labeled.Labels = map[string]string{"team": "a"}
	got, err := jobs.Apply(ctx, &batchv1.CronJob{ObjectMeta: labeled}, force)
	if err != nil || got.Labels["team"] != "a" || got.Spec.Schedule != "0 3 * * *" {
		t.Errorf("after an apply of labels: %+v, %v", got, err)
	}
	_, err = jobs.Apply(ctx, &batchv1.CronJob{ObjectMeta: labeled, Spec: batchv1.CronJobSpec{Suspend: new(true)}}, force)
	if err == nil || !strings.Contains(err.Error(), "spec.schedule") {
		t.Errorf("apply of only spec.suspend: %v, want an error that names spec.schedule", err)
	}
	got, err = jobs.Get(ctx, meta.Name, nil)
	if err != nil || got.Spec.Schedule != "0 3 * * *" || *got.Spec.Suspend {
		t.Errorf("after the rejected apply: %+v, %v", got, err)
	}
}

// TestApplyToStatusLeavesTheSpecUnchanged checks an apply to the status subresource.
func TestApplyToStatusLeavesTheSpecUnchanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := connect(t, nil)
	sets := kube.Namespaced[appsv1.ReplicaSet](c, newNamespace(t, c))
	labels := map[string]string{"app": "none"}
	set, err := sets.Apply(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "idle"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
			},
		},
	}, &kube.ApplyOptions{FieldManager: "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	cond := appsv1.ReplicaSetCondition{
		Type: "e2e.kube-go.example/Seen", Status: corev1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
	}
	set, err = sets.Status().Apply(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: set.Name},
		Status:     appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{cond}},
	}, &kube.ApplyOptions{FieldManager: "e2e-status", SendZeroValues: true}) // status.replicas is 0
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Status.Conditions) != 1 || set.Status.Conditions[0].Type != cond.Type {
		t.Errorf("conditions = %+v, want the applied condition", set.Status.Conditions)
	}
	if set.Spec.Template.Spec.Containers[0].Name != "main" {
		t.Error("applying the status changed the spec")
	}
}
