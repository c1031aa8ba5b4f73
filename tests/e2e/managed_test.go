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

// idleDeployment returns a deployment that starts nothing.
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

// TestApplyClaimsOnlyWhatIsSet promises that a struct claims no field that its author did not set.
func TestApplyClaimsOnlyWhatIsSet(t *testing.T) {
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
			t.Errorf("%s is owned by %v, %v, want nobody", field, owners, err)
		}
	}
	for _, field := range []string{".spec.replicas", ".metadata.labels.app", `.spec.template.spec.containers[name="main"].image`} {
		owners, err := managed.Owners(got, field)
		if err != nil || len(owners) != 1 || owners[0].Manager != "web" || owners[0].Operation != metav1.ManagedFieldsOperationApply {
			t.Errorf("%s is owned by %v, %v, want web", field, owners, err)
		}
	}
	// A struct that sets a part of a kind claims nothing of the rest, although Go writes it out.
	part := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"seen": "yes"}}}
	if _, err := deployments.Apply(limit(t), part, &kube.ApplyOptions{FieldManager: "other"}); err != nil {
		t.Errorf("apply of an annotation: %v", err)
	}
}

// TestExtract promises that what a manager has applied can be read back, changed, and applied again, and that nothing else
// changes.
func TestExtract(t *testing.T) {
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
	want.Spec.Template.Spec.Containers[1].Ports[0].Protocol = "TCP" // the key of the port has it
	if diff := cmp.Diff(want, mine); diff != "" {
		t.Errorf("what was applied (-want +got):\n%s", diff)
	}
	again, err := deployments.Apply(ctx, mine, web)
	if err != nil {
		t.Fatal(err)
	}
	if again.Generation != stored.Generation {
		t.Error("applying what was extracted has changed the object")
	}

	mine.Spec.Template.Spec.Containers = mine.Spec.Template.Spec.Containers[1:]
	mine.Spec.Template.Spec.Containers[0].Image = "main:2"
	changed, err := deployments.Apply(ctx, mine, web)
	if err != nil {
		t.Fatal(err)
	}
	if got := changed.Spec.Template.Spec.Containers; len(got) != 1 || got[0].Image != "main:2" || changed.Spec.MinReadySeconds != 3 {
		t.Errorf("after the apply there are %d containers, the first %s, minReadySeconds %d", len(got), got[0].Image, changed.Spec.MinReadySeconds)
	}
	nothing, err := managed.Extract(changed, "nobody", nil)
	if err != nil || nothing.Name != "web" || nothing.Namespace != ns || nothing.Spec.Replicas != nil {
		t.Errorf("of a manager that has applied nothing: %v, %v", nothing, err)
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

// TestExtractStatus promises that what was applied to a subresource is told apart.
func TestExtractStatus(t *testing.T) {
	ctx := limit(t)
	c := connect(t, nil)
	deployments := kube.Namespaced[appsv1.Deployment](c, newNamespace(t, c))
	if _, err := deployments.Apply(ctx, idleDeployment("web"), &kube.ApplyOptions{FieldManager: "web"}); err != nil {
		t.Fatal(err)
	}
	seen := appsv1.DeploymentCondition{
		Type: "Seen", Status: "True", Reason: "Test", Message: "by a test", LastUpdateTime: metav1.Unix(1, 0), LastTransitionTime: metav1.Unix(1, 0),
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
	if mine.Spec.Replicas != nil || len(mine.Status.Conditions) != 1 || mine.Status.Conditions[0].Message != "by a test" {
		t.Errorf("what was applied to the status is %+v", mine)
	}
	mine.Status.Conditions[0].Message = "again"
	if stored, err = deployments.Status().Apply(ctx, mine, &kube.ApplyOptions{FieldManager: "web", Force: true}); err != nil {
		t.Fatal(err)
	}
	if owners, err := managed.Owners(stored, `.status.conditions[type="Seen"].message`); err != nil || len(owners) != 1 || owners[0].Subresource != "status" {
		t.Errorf("the message is owned by %v, %v", owners, err)
	}
}

// TestConflictsNameOwners promises that an apply in conflict says which fields are in the way, and whose they are.
func TestConflictsNameOwners(t *testing.T) {
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
			t.Errorf("%#v: only who updates has a version", c)
		}
		if !strings.Contains(c.String(), c.Field+" is owned by") {
			t.Errorf("it reads %q", c)
		}
	}
	want := map[string]string{".spec.minReadySeconds": "some one", `.spec.template.spec.containers[name="main"].image`: "web"}
	if diff := cmp.Diff(want, owners); diff != "" {
		t.Errorf("owners by field (-want +got):\n%s", diff)
	}
	stored, err := deployments.Get(ctx, "web", nil)
	if err != nil {
		t.Fatal(err)
	}
	for field, manager := range want {
		if owners, err := managed.Owners(stored, field); err != nil || len(owners) != 1 || owners[0].Manager != manager {
			t.Errorf("FieldOwners(%s) = %v, %v, want %s", field, owners, err, manager)
		}
	}
}

// TestMigrateOwnership promises that a field of an object that was written by updates goes when an apply leaves it out,
// and that it is the migration that does it.
func TestMigrateOwnership(t *testing.T) {
	ctx := limit(t)
	c := connect(t, nil)
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, tc := range []struct {
		name    string
		migrate bool
		want    map[string]string
	}{
		{"stays", false, map[string]string{"keep": "1", "drop": "1"}},
		{"goes", true, map[string]string{"keep": "1"}},
	} {
		old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tc.name}, Data: map[string]string{"keep": "1", "drop": "1"}}
		stored, err := maps.Create(ctx, old, &kube.CreateOptions{FieldManager: "legacy"})
		if err != nil {
			t.Fatal(err)
		}
		if tc.migrate {
			ops, err := managed.Migrate(stored, []string{"legacy"}, "web", nil)
			if err != nil {
				t.Fatal(err)
			}
			// Somebody was faster, so the first try is too late.
			touched, err := maps.Patch(ctx, tc.name, kube.MergePatch(`{"metadata":{"labels":{"a":"b"}}}`), &kube.PatchOptions{FieldManager: "other"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := maps.Patch(ctx, tc.name, kube.JSONPatch(ops...), nil); !errors.Is(err, kube.ErrConflict) {
				t.Errorf("migrate an old version: error %v, want ErrConflict", err)
			}
			if ops, err = managed.Migrate(touched, []string{"legacy"}, "web", nil); err != nil {
				t.Fatal(err)
			}
			migrated, err := maps.Patch(ctx, tc.name, kube.JSONPatch(ops...), nil)
			if err != nil {
				t.Fatal(err)
			}
			if ops, err := managed.Migrate(migrated, []string{"legacy"}, "web", nil); err != nil || ops != nil {
				t.Errorf("the second migration is %v, %v, want none", ops, err)
			}
		}
		mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: tc.name}, Data: map[string]string{"keep": "1"}}
		got, err := maps.Apply(ctx, mine, &kube.ApplyOptions{FieldManager: "web"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Data); diff != "" {
			t.Errorf("what %s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestDiff promises that a diff makes one object of another on the server, and that a locked one is refused when the object
// has changed.
func TestDiff(t *testing.T) {
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
			// The controller may write the status meanwhile, which a lock is there for.
			eventually(t, "the patch is made", func(ctx context.Context) (err error) {
				if before, err = deployments.Get(ctx, tc.name, nil); err != nil {
					return err
				}
				after = before.DeepCopy()
				after.Labels["new/label"] = "yes"
				after.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "first", Image: "first:1"}}, after.Spec.Template.Spec.Containers[1])
				after.Spec.Template.Spec.Containers[1].Args = nil
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
