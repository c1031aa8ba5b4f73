// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kube-go/sdk/core"
	v1 "github.com/kube-go/sdk/examples/document-controller/api/v1"
	"github.com/kube-go/sdk/kube"
)

// TestStrategicMergePatchMatchesKubectl checks that the server interprets a strategic merge patch as kubectl does,
// whose library computes the expected result here, and that no directive is lost.
func TestStrategicMergePatchMatchesKubectl(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	before, err := deployments.Create(t.Context(), threeContainers(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // otherwise the finalizers would block the deletion of the namespace
		release := kube.MergePatch(`{"metadata":{"finalizers":null}}`)
		if _, err := deployments.Patch(context.WithoutCancel(t.Context()), before.Name, release, nil); err != nil {
			t.Error(err)
		}
	})
	pod := func(spec string) string { return `{"spec":{"template":{"spec":` + spec + `}}}` }
	for _, tt := range []struct{ name, patch string }{
		{"an item of a list is merged by its key", pod(`{"containers":[{"name":"b","image":"new"}]}`)},
		{"a list within an item is merged, too", pod(
			`{"containers":[{"name":"a","ports":[{"containerPort":81},{"containerPort":80,"name":"web"}]}]}`,
		)},
		{"an item is deleted", pod(`{"containers":[{"name":"b","$patch":"delete"}]}`)},
		{"a list is replaced", pod(`{"containers":[{"name":"x","image":"new"},{"$patch":"replace"}]}`)},
		{"a map is replaced", pod(`{"nodeSelector":{"$patch":"replace","disk":"slow"}}`)},
		{"a map is deleted", pod(`{"nodeSelector":{"$patch":"delete"}}`)},
		{"a field is removed", pod(`{"nodeSelector":{"disk":null}}`)},
		{"items are reordered", pod(`{"$setElementOrder/containers":[{"name":"c"},{"name":"b"},{"name":"a"}]}`)},
		{"an item is inserted at a position", pod(
			`{"$setElementOrder/containers":[{"name":"x"},{"name":"c"},{"name":"a"},{"name":"b"}],` +
				`"containers":[{"name":"x","image":"new"}]}`,
		)},
		{"a list without keys is replaced", pod(`{"tolerations":[{"key":"new","operator":"Exists"}]}`)},
		{"only the retained keys are kept", `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`},
		{"values are added to a list of strings", `{"metadata":{"finalizers":["example.com/c"]}}`},
		{
			"values are removed from a list of strings",
			`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}}`,
		},
		{"values are reordered", `{"metadata":{"$setElementOrder/finalizers":["example.com/b","example.com/a"]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data, err := strategicpatch.StrategicMergePatch(encoded(t, before), []byte(tt.patch), before)
			if err != nil {
				t.Fatal(err)
			}
			checkPatch(t, deployments, before, decoded[appsv1.Deployment](t, data), tt.patch)
		})
	}

	t.Run("a patch that kubectl computes from an edit", func(t *testing.T) {
		after := before.DeepCopy()
		pod := &after.Spec.Template.Spec
		pod.Containers = []corev1.Container{pod.Containers[2], {Name: "x", Image: "new"}, pod.Containers[0]}
		pod.Containers[2].Image, pod.NodeSelector = "new", map[string]string{"room": "1"}
		after.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		after.Finalizers = []string{"example.com/b"}
		patch, err := strategicpatch.CreateTwoWayMergePatch(encoded(t, before), encoded(t, after), before)
		if err != nil {
			t.Fatal(err)
		}
		for _, directive := range []string{
			"$setElementOrder/containers", "$setElementOrder/finalizers", "$deleteFromPrimitiveList/finalizers",
			"$retainKeys", "$patch",
		} {
			if !strings.Contains(string(patch), `"`+directive+`"`) {
				t.Errorf("the patch has no %s: %s", directive, patch)
			}
		}
		checkPatch(t, deployments, before, after, string(patch))
	})
}

// checkPatch checks, with dry runs of both, that a patch has the same result as an update to want.
func checkPatch(t *testing.T, api *kube.API[appsv1.Deployment], before, want *appsv1.Deployment, patch string) {
	t.Helper()
	got, err := api.Patch(limit(t), before.Name, kube.StrategicMergePatch(patch),
		&kube.PatchOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	want.ResourceVersion = "" // the deployment controller may have changed the object
	if want, err = api.Update(limit(t), want, &kube.UpdateOptions{DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Finalizers, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if cmp.Equal(before.Spec, got.Spec) && cmp.Equal(before.Finalizers, got.Finalizers) {
		t.Error("the patch changes nothing")
	}
}

// TestRejectedStrategicMergePatchIsAnError checks that a patch that the server does not merge results in a clear error.
func TestRejectedStrategicMergePatchIsAnError(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	if _, err := maps.Create(t.Context(), configMap("a", "1"), nil); err != nil {
		t.Fatal(err)
	}
	_, err := maps.Patch(t.Context(), "a", kube.StrategicMergePatch(`{"data":{"$patch":"explode"}}`), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "patch configmaps "+ns+"/a: ") ||
		!strings.Contains(err.Error(), "explode") {
		t.Errorf("an unknown directive: %v, want the server's error about it", err)
	}
	installDocuments(t, c)
	documents := kube.Namespaced[v1.Document](c, ns)
	if _, err := documents.Create(t.Context(), v1.NewDocument("", "a", v1.DocumentSpec{Title: "a"}), nil); err != nil {
		t.Fatal(err)
	}
	_, err = documents.Patch(t.Context(), "a", kube.StrategicMergePatch(`{"spec":{"title":"b"}}`), nil)
	if !errors.Is(err, core.ErrUnsupportedMediaType) {
		t.Errorf("a custom resource: %v, want ErrUnsupportedMediaType", err)
	}
}

// threeContainers returns a deployment without pods, with lists and maps for each kind of merge.
func threeContainers() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: []string{"example.com/a", "example.com/b"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{"disk": "fast", "room": "1"},
					Tolerations:  []corev1.Toleration{{Key: "old", Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{
						{Name: "a", Image: "old", Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
						{Name: "b", Image: "old", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
						{Name: "c", Image: "old"},
					},
				},
			},
		},
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decoded[T any](t *testing.T, data []byte) *T {
	t.Helper()
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}
