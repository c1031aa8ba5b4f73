// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kube"
)

// markersFromGo is a program whose markers declare the roles and the webhooks that it needs.
const markersFromGo = `// Package program has markers.
package program

// +kubebuilder:rbac:groups=apps;batch,resources=deployments;jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments/scale,verbs=get;update
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=ours,verbs=*
// +kubebuilder:rbac:groups=core,resources=secrets,verbs=get,namespace=NAMESPACE,roleName=secrets
// +kubebuilder:rbac:urls=/metrics;/healthz,verbs=get

// +kubebuilder:webhookconfiguration:mutating=true,name=NAMESPACE-mutating
// +kubebuilder:webhookconfiguration:mutating=false,name=NAMESPACE-validating
// +kubebuilder:webhook:path=/fill-in,mutating=true,failurePolicy=ignore,sideEffects=None,groups=e2e.example.com,resources=things;things/*,verbs=create;update,versions=*,name=fill.e2e.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,servicePort=8443
// +kubebuilder:webhook:path=/,mutating=false,failurePolicy=ignore,sideEffects=NoneOnDryRun,groups=e2e.example.com,resources=*/*,verbs=*,versions=v1,name=check.e2e.example.com,admissionReviewVersions=v1;v1beta1,matchPolicy=exact,timeoutSeconds=3,patch=` + "`" +
	`{"namespaceSelector":{"matchLabels":{"e2e":"NAMESPACE"}},"matchConditions":[{"name":"ours","expression":"object.metadata.name == 'a'"}]}` + "`" + `
// +kubebuilder:webhook:url="https://hooks.example.com/check",mutating=false,failurePolicy=ignore,sideEffects=None,groups=e2e.example.com,resources=things,verbs=delete,versions=v1,name=delete.e2e.example.com,admissionReviewVersions=v1
`

// fromMarkers runs a command of kube-derive on the program, with ns in the place of NAMESPACE, and returns the objects
// of the one file that it writes.
func fromMarkers(t *testing.T, ns, command string) []*unstructured.Unstructured {
	t.Helper()
	dir, tool := t.TempDir(), programPath(t, "kube-derive")
	for name, text := range map[string]string{
		"go.mod":     "module example.com/program\n\ngo 1.26.0\n",
		"program.go": strings.ReplaceAll(markersFromGo, "NAMESPACE", ns),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	goAlone(t, dir, tool, command, "--out", "out", ".")
	made, err := filepath.Glob(filepath.Join(dir, "out", "*.yaml"))
	if err != nil || len(made) != 1 {
		t.Fatalf("files = %v, %v, want one", made, err)
	}
	text, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		obj := &unstructured.Unstructured{}
		body, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := obj.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}

// accepts checks, with a dry run and strict validation, that the server accepts an object and keeps all its fields.
func accepts(t *testing.T, c *kube.Client, res kube.Resource, obj *unstructured.Unstructured) {
	t.Helper()
	want := obj.DeepCopy()
	strict := &kube.CreateOptions{DryRun: true, FieldValidation: metav1.FieldValidationStrict}
	got, err := kube.Dynamic(c, res).In(obj.GetNamespace()).Create(limit(t), obj, strict)
	if err != nil {
		t.Errorf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
		return
	}
	for _, field := range missing("", want.Object, got.Object) {
		t.Errorf("%s %s: the server has dropped or changed %s", obj.GetKind(), obj.GetName(), field)
	}
}

// TestRolesFromMarkersGrantTheDeclaredAccess checks that the server accepts the roles that kube-derive generates, and
// that they grant the access that the markers declare and nothing else.
func TestRolesFromMarkersGrantTheDeclaredAccess(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	kinds := map[string]kube.Resource{
		"ClusterRole": {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Plural: "clusterroles"},
		"Role":        {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role", Plural: "roles", Namespaced: true},
	}
	roles := fromMarkers(t, ns, "rbac")
	if len(roles) != 2 {
		t.Fatalf("%d roles, want a ClusterRole and a Role", len(roles))
	}
	for _, role := range roles {
		accepts(t, c, kinds[role.GetKind()], role.DeepCopy())
	}

	// Use the role of the namespace.
	role := roles[1]
	if _, err := kube.Dynamic(c, kinds["Role"]).In(ns).Create(limit(t), role, nil); err != nil {
		t.Fatal(err)
	}
	user := "user-of-" + ns
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "secrets"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.GetName()},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := kube.Namespaced[rbacv1.RoleBinding](c, ns).Create(limit(t), binding, nil); err != nil {
		t.Fatal(err)
	}
	cfg := loadConfig(t, "")
	cfg.Impersonate.User = user
	as := connect(t, &kube.ClientOptions{Config: cfg})
	secrets := kube.Namespaced[corev1.Secret](as, ns)
	eventually(t, "the role allows the verb get for secrets", func(ctx context.Context) error {
		if _, err := secrets.Get(ctx, "nothing", nil); !errors.Is(err, kube.ErrNotFound) {
			return err
		}
		return nil
	})
	if _, err := secrets.List(limit(t), nil); !errors.Is(err, kube.ErrForbidden) {
		t.Errorf("List of secrets = %v, want ErrForbidden: the marker allows only get", err)
	}
}
