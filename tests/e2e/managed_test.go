// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/managed"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/kube"
)

// idleDeployment returns a deployment without pods.
func idleDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "side", Image: "side:1"},
					{Name: "main", Image: "main:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Args: []string{"-v"}},
				}},
			},
		},
	}
}

// TestApplyOwnsOnlySetFields checks that applying a struct makes the manager the owner of only the fields that are set.
func TestApplyOwnsOnlySetFields(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	got, err := deployments.Apply(limit(t), idleDeployment("web"), &kube.ApplyOptions{FieldManager: "web"})
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{
		".metadata.creationTimestamp", ".spec.strategy", ".spec.template.metadata.creationTimestamp", ".status",
		`.spec.template.spec.containers[name="main"].resources`,
	} {
		if owners, err := managed.Owners(got, field); err != nil || len(owners) > 0 {
			t.Errorf("Owners(%s) = %v, %v, want none", field, owners, err)
		}
	}
	for _, field := range []string{
		".spec.replicas", ".metadata.labels.app", `.spec.template.spec.containers[name="main"].image`,
	} {
		owners, err := managed.Owners(got, field)
		if err != nil || len(owners) != 1 || owners[0].Manager != "web" ||
			owners[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("Owners(%s) = %v, %v, want web", field, owners, err)
		}
	}
	// A struct that sets some fields of a kind does not claim the others, although Go encodes them.
	part := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"seen": "yes"}}}
	if _, err := deployments.Apply(limit(t), part, &kube.ApplyOptions{FieldManager: "other"}); err != nil {
		t.Errorf("Apply of an annotation: %v", err)
	}
}

// TestExtractedFieldsCanBeAppliedAgain checks that the fields that a manager has applied can be extracted, changed and
// applied again, and that no other field changes.
func TestExtractedFieldsCanBeAppliedAgain(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	ns := newNamespace(t, c)
	deployments := kube.Namespaced[appsv1.Deployment](c, ns)
	web := &kube.ApplyOptions{FieldManager: "web"}
	if _, err := deployments.Apply(ctx, idleDeployment("web"), web); err != nil {
		t.Fatal(err)
	}
	other := kube.MergePatch(map[string]any{"spec": map[string]any{"minReadySeconds": 3}})
	stored, err := deployments.Patch(ctx, "web", other, &kube.PatchOptions{FieldManager: "other"})
	if err != nil {
		t.Fatal(err)
	}

	mine, err := managed.Extract(stored, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := idleDeployment("web")
	want.TypeMeta, want.Namespace = mine.TypeMeta, ns
	want.Spec.Template.Spec.Containers[1].Ports[0].Protocol = "TCP" // it is part of the key of the port
	if diff := cmp.Diff(want, mine); diff != "" {
		t.Errorf("extracted fields (-want +got):\n%s", diff)
	}
	again, err := deployments.Apply(ctx, mine, web)
	if err != nil {
		t.Fatal(err)
	}
	if again.Generation != stored.Generation {
		t.Error("applying the extracted fields changed the object")
	}

	mine.Spec.Template.Spec.Containers = mine.Spec.Template.Spec.Containers[1:]
	mine.Spec.Template.Spec.Containers[0].Image = "main:2"
	changed, err := deployments.Apply(ctx, mine, web)
	if err != nil {
		t.Fatal(err)
	}
	containers := changed.Spec.Template.Spec.Containers
	if len(containers) != 1 || containers[0].Image != "main:2" || changed.Spec.MinReadySeconds != 3 {
		t.Errorf("after the apply there are %d containers, the first has the image %s, minReadySeconds = %d",
			len(containers), containers[0].Image, changed.Spec.MinReadySeconds)
	}
	nothing, err := managed.Extract(changed, "nobody", nil)
	if err != nil || nothing.Name != "web" || nothing.Namespace != ns || nothing.Spec.Replicas != nil {
		t.Errorf("Extract for a manager that has applied nothing = %v, %v", nothing, err)
	}

	disc, err := kube.Discover(ctx, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := disc.Resolve("deployments.apps")
	if err != nil {
		t.Fatal(err)
	}
	objects := kube.Dynamic(c, res).In(ns)
	any1, err := objects.Get(ctx, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	part, err := managed.Extract(any1, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(part.Object, int64(7), "spec", "revisionHistoryLimit"); err != nil {
		t.Fatal(err)
	}
	got, err := objects.Apply(ctx, part, web)
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(got.Object, "spec", "revisionHistoryLimit"); n != 7 {
		t.Errorf("revisionHistoryLimit = %d, want 7", n)
	}
}

// TestExtractSeparatesSubresources checks that the fields that were applied to a subresource are extracted separately.
func TestExtractSeparatesSubresources(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	if _, err := deployments.Apply(ctx, idleDeployment("web"), &kube.ApplyOptions{FieldManager: "web"}); err != nil {
		t.Fatal(err)
	}
	seen := appsv1.DeploymentCondition{
		Type: "Seen", Status: "True", Reason: "Test", Message: "by a test",
		LastUpdateTime: metav1.Unix(1, 0), LastTransitionTime: metav1.Unix(1, 0),
	}
	status := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	status.Status.Conditions = []appsv1.DeploymentCondition{seen}
	stored, err := deployments.Status().Apply(ctx, status, &kube.ApplyOptions{FieldManager: "web", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	mine, err := managed.Extract(stored, "web", &managed.ExtractOptions{Subresource: "status"})
	if err != nil {
		t.Fatal(err)
	}
	if conditions := mine.Status.Conditions; mine.Spec.Replicas != nil || len(conditions) != 1 ||
		conditions[0].Message != "by a test" {
		t.Errorf("Extract of the status = %+v, want only the applied condition", mine)
	}
	mine.Status.Conditions[0].Message = "again"
	stored, err = deployments.Status().Apply(ctx, mine, &kube.ApplyOptions{FieldManager: "web", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	owners, err := managed.Owners(stored, `.status.conditions[type="Seen"].message`)
	if err != nil || len(owners) != 1 || owners[0].Subresource != "status" {
		t.Errorf("Owners of the message = %v, %v, want one of the subresource status", owners, err)
	}
}

// TestConflictsNameOwners checks that the conflicts of an apply name each conflicting field and its manager.
func TestConflictsNameOwners(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	if _, err := deployments.Apply(ctx, idleDeployment("web"), &kube.ApplyOptions{FieldManager: "web"}); err != nil {
		t.Fatal(err)
	}
	replicas := kube.MergePatch(map[string]any{"spec": map[string]any{"replicas": 0, "minReadySeconds": 2}})
	if _, err := deployments.Patch(ctx, "web", replicas, &kube.PatchOptions{FieldManager: "some one"}); err != nil {
		t.Fatal(err)
	}
	mine := idleDeployment("web")
	mine.Spec.MinReadySeconds = 1
	mine.Spec.Template.Spec.Containers[1].Image = "main:2"
	_, err := deployments.Apply(ctx, mine, &kube.ApplyOptions{FieldManager: "other"})
	if !errors.Is(err, kube.ErrConflict) {
		t.Fatalf("error %v, want ErrConflict", err)
	}
	owners := map[string]string{}
	for _, c := range kube.Conflicts(err) {
		owners[c.Field] = c.Manager
		if (c.Manager == "some one") != (c.APIVersion == "apps/v1") {
			t.Errorf("%#v: want an API version only for a manager that updates", c)
		}
		if !strings.Contains(c.String(), c.Field+" is owned by") {
			t.Errorf("String() = %q, want the field and its owner", c)
		}
	}
	want := map[string]string{
		".spec.minReadySeconds": "some one", `.spec.template.spec.containers[name="main"].image`: "web",
	}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners by field (-want +got):\n%s", diff)
	}
	stored, err := deployments.Get(ctx, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	for field, manager := range want {
		if owners, err := managed.Owners(stored, field); err != nil || len(owners) != 1 || owners[0].Manager != manager {
			t.Errorf("Owners(%s) = %v, %v, want %s", field, owners, err, manager)
		}
	}
}

// TestMigratedFieldsCanBeRemovedByApply checks that an apply removes a field that it leaves out if the field was
// written by an update and its ownership has been migrated, and that the field is kept without a migration.
func TestMigratedFieldsCanBeRemovedByApply(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, tc := range []struct {
		name    string
		migrate bool
		want    map[string]string
	}{
		{"kept", false, map[string]string{"keep": "1", "drop": "1"}},
		{"removed", true, map[string]string{"keep": "1"}},
	} {
		old := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: tc.name}, Data: map[string]string{"keep": "1", "drop": "1"},
		}
		stored, err := maps.Create(ctx, old, &kube.CreateOptions{FieldManager: "legacy"})
		if err != nil {
			t.Fatal(err)
		}
		if tc.migrate {
			ops, err := managed.Migrate(stored, []string{"legacy"}, "web", nil)
			if err != nil {
				t.Fatal(err)
			}
			// Another manager changes the object first, so the first attempt is a conflict.
			touched, err := maps.Patch(ctx, tc.name, kube.MergePatch(`{"metadata":{"labels":{"a":"b"}}}`),
				&kube.PatchOptions{FieldManager: "other"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := maps.Patch(ctx, tc.name, kube.JSONPatch(ops...), nil); !errors.Is(err, kube.ErrConflict) {
				t.Errorf("migration of an old version: error %v, want ErrConflict", err)
			}
			if ops, err = managed.Migrate(touched, []string{"legacy"}, "web", nil); err != nil {
				t.Fatal(err)
			}
			migrated, err := maps.Patch(ctx, tc.name, kube.JSONPatch(ops...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if ops, err := managed.Migrate(migrated, []string{"legacy"}, "web", nil); err != nil || ops != nil {
				t.Errorf("the second migration = %v, %v, want none", ops, err)
			}
		}
		mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tc.name}, Data: map[string]string{"keep": "1"}}
		got, err := maps.Apply(ctx, mine, &kube.ApplyOptions{FieldManager: "web"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Data); diff != "" {
			t.Errorf("data of the object %s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestDiffsPatchObjects checks that the patch from a diff changes an object on the server as intended, and that a patch
// with a lock is a conflict if the object has changed.
func TestDiffsPatchObjects(t *testing.T) {
	t.Parallel()
	ctx := limit(t)
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	lock := &patch.Options{Lock: true}
	for _, tc := range []struct {
		name string
		diff func(from, to *appsv1.Deployment) (kube.Patch, error)
	}{
		{"merge", func(from, to *appsv1.Deployment) (kube.Patch, error) {
			diff, err := patch.DiffMerge(from, to, lock)
			return kube.MergePatch(diff), err
		}},
		{"json", func(from, to *appsv1.Deployment) (kube.Patch, error) {
			ops, err := patch.DiffJSON(from, to, lock)
			return kube.JSONPatch(ops...), err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := deployments.Create(ctx, idleDeployment(tc.name), nil); err != nil {
				t.Fatal(err)
			}
			var before, after *appsv1.Deployment
			var got *appsv1.Deployment
			// The controller may update the status in the meantime. The lock detects that.
			eventually(t, "the patch succeeds", func(ctx context.Context) (err error) {
				if before, err = deployments.Get(ctx, tc.name, nil); err != nil {
					return err
				}
				after = before.DeepCopy()
				after.Labels["new/label"] = "yes"
				spec := &after.Spec.Template.Spec
				spec.Containers = []corev1.Container{{Name: "first", Image: "first:1"}, spec.Containers[1]}
				spec.Containers[1].Args = nil
				p, err := tc.diff(before, after)
				if err != nil {
					return err
				}
				got, err = deployments.Patch(ctx, tc.name, p, nil)
				return err
			})
			for i, container := range got.Spec.Template.Spec.Containers {
				want := after.Spec.Template.Spec.Containers[i]
				if container.Name != want.Name || container.Image != want.Image || len(container.Args) != len(want.Args) {
					t.Errorf("container %d is %+v, want %+v", i, container, want)
				}
			}
			if diff := cmp.Diff(after.Labels, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			other := before.DeepCopy()
			other.Labels["late"] = "yes"
			late, err := tc.diff(before, other)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := deployments.Patch(ctx, tc.name, late, nil); !errors.Is(err, kube.ErrConflict) {
				t.Errorf("a patch of an old version: error %v, want ErrConflict", err)
			}
		})
	}
}
