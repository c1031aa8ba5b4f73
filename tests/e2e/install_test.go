// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/install"
)

// notes returns the definition of a kind whose spec has the given fields, and its resource.
func notes(fields ...string) (*unstructured.Unstructured, kube.Resource) {
	res := kube.Resource{Group: "install.example.com", Version: "v1", Kind: "Note", Plural: "notes", Namespaced: true}
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = map[string]any{"type": "string"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": res.String()},
		"spec": map[string]any{
			"group": res.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": res.Kind, "plural": res.Plural},
			"versions": []any{map[string]any{
				"name": res.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": properties},
					},
				}},
			}},
		},
	}}, res
}

// TestInstalledKindCanBeUsedImmediately checks that a kind is served after its definition is installed, also if several
// programs install it concurrently, and that an older program cannot remove fields that a newer one has added.
func TestInstalledKindCanBeUsedImmediately(t *testing.T) {
	c := connect(t, nil)
	crd, res := notes("title", "body")
	t.Cleanup(func() {
		err := kube.Dynamic(c, kube.CRDResource()).Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil)
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	})
	ns := newNamespace(t, c)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			mine, _ := notes("title", "body")
			if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{mine}, nil); err != nil {
				t.Error(err)
				return
			}
			note := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "T", "body": "B"}}}
			note.SetGenerateName("note-")
			if _, err := kube.Dynamic(c, res).In(ns).Create(limit(t), note, nil); err != nil {
				t.Errorf("create immediately after the installation: %v", err)
			}
		})
	}
	wg.Wait()

	older, _ := notes("title")
	err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{older}, nil)
	down, ok := errors.AsType[*install.DowngradeError](err)
	if !ok || !slices.Equal(down.Losses, []string{"version v1: field .spec.body"}) {
		t.Fatalf("install of an older definition: %v, want a DowngradeError with .spec.body", err)
	}
	for note, err := range kube.Dynamic(c, res).In(ns).All(limit(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if body, _, _ := unstructured.NestedString(note.Object, "spec", "body"); body != "B" {
			t.Errorf("spec.body of %s = %q, want B", note.GetName(), body)
		}
	}
	allow := &kube.InstallOptions{AllowDowngrade: true}
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{older}, allow); err != nil {
		t.Errorf("install with AllowDowngrade: %v", err)
	}

	bad, _ := notes("title")
	if err := unstructured.SetNestedField(bad.Object, "Nowhere", "spec", "scope"); err != nil {
		t.Fatal(err)
	}
	bad.SetName("others." + res.Group)
	if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{bad}, nil); !errors.Is(err, kube.ErrInvalid) {
		t.Errorf("install of an invalid definition: %v, want %v", err, kube.ErrInvalid)
	}
}

// TestConcurrentInstallKeepsTheNewerDefinition checks that an older program does not remove the fields of a newer one
// if both install the definition for the first time at the same time, and that a later definition can remove short
// names.
func TestConcurrentInstallKeepsTheNewerDefinition(t *testing.T) {
	c := connect(t, nil)
	definitions := kube.Dynamic(c, kube.CRDResource())
	var wg sync.WaitGroup
	for _, plural := range []string{"alphas", "betas", "gammas", "deltas", "epsilons"} {
		definition := func(fields ...string) []*unstructured.Unstructured {
			crd, _ := notes(fields...)
			crd.SetName(plural + ".install.example.com")
			names := map[string]any{"kind": "Kind" + plural, "plural": plural, "shortNames": []any{"sn" + plural}}
			crd.Object["spec"].(map[string]any)["names"] = names
			return []*unstructured.Unstructured{crd}
		}
		name := definition()[0].GetName()
		t.Cleanup(func() {
			if err := definitions.Delete(context.WithoutCancel(t.Context()), name, nil); err != nil {
				t.Error(err)
			}
		})
		both := make(chan struct{})
		start := func(fields ...string) {
			<-both
			err := kube.InstallCRDs(limit(t), c, definition(fields...), nil)
			if _, down := errors.AsType[*install.DowngradeError](err); err != nil && (!down || len(fields) > 1) {
				t.Error(err)
			}
		}
		wg.Go(func() { start("title") })
		wg.Go(func() { start("title", "body") })
		close(both)
	}
	wg.Wait()

	for _, plural := range []string{"alphas", "betas", "gammas", "deltas", "epsilons"} {
		crd, err := definitions.Get(limit(t), plural+".install.example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		version, _ := versions[0].(map[string]any)
		body := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "body"}
		if _, ok, _ := unstructured.NestedMap(version, body...); !ok {
			t.Errorf("the schema of %s does not have the field body of the newer program", plural)
		}
		later, _ := notes("title", "body")
		later.SetName(crd.GetName())
		later.Object["spec"].(map[string]any)["names"] = map[string]any{"kind": "Kind" + plural, "plural": plural}
		if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{later}, nil); err != nil {
			t.Fatal(err)
		}
		if crd, err = definitions.Get(limit(t), crd.GetName(), nil); err != nil {
			t.Fatal(err)
		}
		if short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames"); len(short) > 0 {
			t.Errorf("%s still has the short names %v", plural, short)
		}
	}
}

// TestInstallKeepsTheBundleOfAWebhookServer checks that a program that installs a definition again does not remove the
// certificate authorities that its own webhook server has written into it, although both use the same field manager.
func TestInstallKeepsTheBundleOfAWebhookServer(t *testing.T) {
	c := connect(t, &kube.ClientOptions{FieldManager: "installer"})
	definitions := kube.Dynamic(c, kube.CRDResource())
	ns := newNamespace(t, c)
	const name = "bundles.install.example.com"
	define := func() {
		t.Helper()
		crd, _ := notes("title")
		crd.SetName(name)
		spec := crd.Object["spec"].(map[string]any)
		spec["names"] = map[string]any{"kind": "Bundle", "plural": "bundles"}
		spec["conversion"] = webhookOf(ns)
		o := &kube.InstallOptions{FieldManager: "installer"}
		if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, o); err != nil {
			t.Fatal(err)
		}
	}
	define()
	t.Cleanup(func() {
		if err := definitions.Delete(context.WithoutCancel(t.Context()), name, nil); err != nil {
			t.Error(err)
		}
	})
	writeBundle(t, c, ns, name)
	define()
	if err := hasBundle(limit(t), c, name); err != nil {
		t.Errorf("after the definition is installed again: %v", err)
	}
}

// TestAnInstalledDefinitionLosesItsWebhook checks the last step of a move to another storage version: a definition with
// only the new version does not convert, although a webhook server has written its bundle into the installed one.
func TestAnInstalledDefinitionLosesItsWebhook(t *testing.T) {
	c := connect(t, nil)
	definitions := kube.Dynamic(c, kube.CRDResource())
	ns := newNamespace(t, c)
	const name = "endings.install.example.com"
	define := func(webhook bool, versions ...string) {
		t.Helper()
		crd := movedDefinition(versions...)
		crd.SetName(name)
		spec := crd.Object["spec"].(map[string]any)
		spec["group"] = "install.example.com"
		spec["names"] = map[string]any{"kind": "Ending", "plural": "endings"}
		if webhook {
			spec["conversion"] = webhookOf(ns)
		}
		o := &kube.InstallOptions{AllowDowngrade: true}
		if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, o); err != nil {
			t.Fatal(err)
		}
	}
	define(true, "v1", "v2")
	t.Cleanup(func() { deleteNow(t, definitions, name) })
	writeBundle(t, c, ns, name)
	stored := kube.MergePatch(map[string]any{"status": map[string]any{"storedVersions": []string{"v2"}}})
	if _, err := definitions.Status().Patch(limit(t), name, stored, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, the definition is unchanged
		define(false, "v2")
		crd, err := definitions.Get(limit(t), name, nil)
		if err != nil {
			t.Fatal(err)
		}
		spec := crd.Object["spec"].(map[string]any)
		if got := spec["conversion"]; !reflect.DeepEqual(got, map[string]any{"strategy": "None"}) {
			t.Errorf("spec.conversion = %v, want no webhook", got)
		}
		if versions := spec["versions"].([]any); len(versions) != 1 {
			t.Errorf("spec.versions = %v, want only v2", versions)
		}
		for _, entry := range crd.GetManagedFields() {
			if entry.Manager == "kube-install" && entry.Operation != metav1.ManagedFieldsOperationApply {
				t.Errorf("kube-install owns fields by %s, which later definitions can't remove", entry.Operation)
			}
		}
	}
}

// webhookOf returns the conversion by the webhook of the service hooks in a namespace.
func webhookOf(ns string) map[string]any {
	return map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             map[string]any{"service": map[string]any{"namespace": ns, "name": "hooks"}},
	}}
}

// hasBundle returns an error if a definition has no certificate authorities for its webhook.
func hasBundle(ctx context.Context, c *kube.Client, name string) error {
	crd, err := kube.Dynamic(c, kube.CRDResource()).Get(ctx, name, nil)
	if err != nil {
		return err
	}
	text, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if err == nil && text == "" {
		err = errors.New("the definition has no bundle")
	}
	return err
}

// writeBundle runs a webhook server, which is the service hooks, until it has written its bundle into a definition.
func writeBundle(t *testing.T, c *kube.Client, ns, name string) {
	t.Helper()
	srv := kube.NewWebhookServer(c, &kube.WebhookServerOptions{
		Addr: "127.0.0.1:0", Service: "hooks", Namespace: ns, Definitions: []string{name}, StopDelay: -1,
	})
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- srv.Run(ctx) }()
	eventually(t, "the bundle", func(ctx context.Context) error { return hasBundle(ctx, c, name) })
	stop() // it would write the bundle again
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
