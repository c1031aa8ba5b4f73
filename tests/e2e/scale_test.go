// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/rollout"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// deployment returns a deployment without pods.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nothing"}}},
			},
		},
	}
}

// TestScaleReadsAndSetsReplicas checks that the scale subresource can be read and changed, and that a request for a
// kind without it is not sent.
func TestScaleReadsAndSetsReplicas(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	deployments := kube.Namespaced[appsv1.Deployment](c, ns)
	dep := deployment("web")
	dep.Spec.Paused = true // so that no pods are created
	if _, err := deployments.Create(t.Context(), dep, nil); err != nil {
		t.Fatal(err)
	}
	scaled, err := deployments.Scale().Modify(t.Context(), "web", func(s *core.Scale) error {
		s.Spec.Replicas = 3
		return nil
	}, nil)
	if err != nil || scaled.Spec.Replicas != 3 || scaled.Kind != "Scale" || scaled.Status.Selector != "app=web" {
		t.Errorf("Modify of the scale = %+v, %v", scaled, err)
	}
	scaled.Spec.Replicas, scaled.ResourceVersion = 4, "" // the deployment controller may have changed the object
	if scaled, err = deployments.Scale().Update(t.Context(), scaled, nil); err != nil || scaled.Spec.Replicas != 4 {
		t.Errorf("Update of the scale = %+v, %v", scaled, err)
	}
	patch := kube.MergePatch([]byte(`{"spec":{"replicas":0}}`))
	if scaled, err = deployments.Scale().Patch(t.Context(), "web", patch, nil); err != nil || scaled.Spec.Replicas != 0 {
		t.Errorf("Patch of the scale = %+v, %v", scaled, err)
	}
	if got, err := deployments.Get(t.Context(), "web", nil); err != nil || *got.Spec.Replicas != 0 {
		t.Errorf("after the patch: %v, %v, want 0 replicas", got, err)
	}
	_, err = kube.Namespaced[corev1.ConfigMap](c, ns).Scale().Get(t.Context(), "web", nil)
	if err == nil || !strings.Contains(err.Error(), "request not sent") {
		t.Errorf("scale of a ConfigMap: %v, want an error without a request", err)
	}
}

// TestRestartChangesTheTemplate checks that each restart changes the pod template.
func TestRestartChangesTheTemplate(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	if _, err := deployments.Create(t.Context(), deployment("web"), nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		dep, err := rollout.Restart(limit(t), deployments, "web", nil)
		if err != nil {
			t.Fatal(err)
		}
		seen[dep.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"]] = true
	}
	if len(seen) != 2 || seen[""] {
		t.Errorf("restartedAt = %v, want two different values", seen)
	}
	_, err := deployments.Modify(limit(t), "web", func(d *appsv1.Deployment) error {
		d.Spec.Paused = true
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = rollout.Restart(limit(t), deployments, "web", nil)
	if err == nil || !strings.Contains(err.Error(), "spec.paused: is true") {
		t.Errorf("restart of a paused deployment: %v, want an error about spec.paused", err)
	}
}
