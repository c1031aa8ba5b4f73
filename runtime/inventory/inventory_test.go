// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/inventory"
)

const manager = "example.com/site"

func resourceOf[K any, P core.ObjectPtr[K]](t *testing.T) core.Resource {
	t.Helper()
	res, err := core.ResourceOf[K, P]()
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func newClient(t *testing.T) *client.Client {
	t.Helper()
	return fakeapi.New(
		resourceOf[corev1.ConfigMap](t), resourceOf[rbacv1.ClusterRole](t), resourceOf[batchv1.CronJob](t),
	).Client()
}

func site() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "site", UID: "u1"}}
}

func page(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"title": name}}
}

func ignore(context.Context, []machine.Item) error { return nil }

// wantError checks that an error has a text.
func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want an error with %q", what, err, want)
	}
}

func TestInvalidDeclarationsAreErrors(t *testing.T) {
	generated := page("")
	generated.GenerateName = "page-"
	read := page("read")
	read.ResourceVersion = "7"
	controlled := page("controlled")
	controlled.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "p", Controller: new(true)}}
	kindless := &unstructured.Unstructured{Object: map[string]any{}}
	kindless.SetName("a")
	role := func(ns, name string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	var none *corev1.ConfigMap
	for _, tt := range []struct {
		name  string
		owner core.Object
		in    []core.Object
		want  string
	}{
		{"no object", site(), []core.Object{nil}, "declaration 1 of 1: the object is nil"},
		{"a nil pointer", site(), []core.Object{page("a"), none}, "declaration 2 of 2: the object is nil"},
		{"no name", site(), []core.Object{page("")}, `declaration 1 of 1, ConfigMap "": the name is empty`},
		{"a generated name", site(), []core.Object{generated}, "has generateName: set a name"},
		{"an object that was read", site(), []core.Object{read}, `ConfigMap "read": the object has a UID, a resource version`},
		{"another controller", site(), []core.Object{controlled}, "the object has a controller"},
		{"no kind", site(), []core.Object{kindless}, "has no apiVersion or no kind"},
		{"an ambiguous zero value", site(), []core.Object{
			&batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: batchv1.CronJobSpec{Suspend: new(true)}},
		}, "spec.schedule"},
		{"a cluster-scoped object in a namespace", site(), []core.Object{role("prod", "r")}, "leave ObjectRef.Namespace empty"},
		{
			"no namespace", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "o", UID: "u"}},
			[]core.Object{page("a")},
			"the namespace is empty",
		},
		{"the owner", site(), []core.Object{page("site")}, "the object is its own owner"},
		{"an owner without a UID", &corev1.ConfigMap{}, []core.Object{page("a")}, "metadata.uid must be set"},
		{
			"different declarations of an object", site(), []core.Object{page("a"), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "a"},
			}}, "ConfigMap prod/a is declared twice in the same pass",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recorded := false
			pass := inventory.New(newClient(t), manager, nil).Begin(tt.owner, nil, func(context.Context, []machine.Item) error {
				recorded = true
				return nil
			})
			var all []inventory.Declaration
			for _, obj := range tt.in {
				all = append(all, inventory.Declaration{Object: obj})
			}
			_, err := pass.Apply(t.Context(), all...)
			wantError(t, "Apply", err, tt.want)
			if recorded || len(pass.Items()) > 0 {
				t.Errorf("the inventory is %v", pass.Items())
			}
			if _, err := pass.Prune(t.Context(), nil); err == nil {
				t.Error("Prune after a failed Apply returns no error")
			}
		})
	}
}

// TestDeclarationsOfOneObjectMustAgree checks that a pass refuses a second declaration of an object that would be
// ignored where it differs. Only the Part may differ.
func TestDeclarationsOfOneObjectMustAgree(t *testing.T) {
	ready := func(*unstructured.Unstructured) error { return nil }
	for _, tt := range []struct {
		name string
		next inventory.Declaration
		want string // in the error; empty if the declarations agree
	}{
		{"the same", inventory.Declaration{}, ""},
		{"another part", inventory.Declaration{Part: "other"}, ""},
		{"another wave", inventory.Declaration{Wave: 1}, "different values of Wave"},
		{"another owner", inventory.Declaration{NoOwner: true}, "different content"},
		{"another deletion", inventory.Declaration{Foreground: true}, "different values of Foreground"},
		{"another adoption", inventory.Declaration{Adopt: true}, "different values of Adopt"},
		{"another condition", inventory.Declaration{Ready: ready}, "different values of Ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.next.Object = page("a")
			pass := inventory.New(newClient(t), manager, nil).Begin(site(), nil, ignore)
			_, err := pass.Apply(t.Context(), inventory.Declaration{Object: page("a"), Part: "first"}, tt.next)
			if tt.want != "" {
				wantError(t, "Apply", err, "ConfigMap prod/a is declared twice in the same pass, with "+tt.want)
			} else if items := pass.Items(); err != nil || len(items) != 1 || items[0].Part != "first" {
				t.Errorf("Apply: %v; the inventory is %+v, want the first declaration", err, items)
			}
		})
	}
}

// TestFailedObjectOfALowerWaveIsAnError checks that a pass does not wait for an object that will not become ready, and
// that it continues once the object is repaired.
func TestFailedObjectOfALowerWaveIsAnError(t *testing.T) {
	res := resourceOf[batchv1.Job](t)
	server := fakeapi.New(resourceOf[corev1.ConfigMap](t), res)
	applier, items := inventory.New(server.Client(), manager, nil), []machine.Item(nil)
	jobs := client.Namespaced[batchv1.Job](server.Client(), "prod")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "migrate"}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	declared := []inventory.Declaration{{Object: job}, {Object: page("next"), Wave: 1}}
	set := func(condition batchv1.JobCondition) {
		stored, err := jobs.Get(t.Context(), "migrate", nil)
		if err != nil {
			t.Fatal(err)
		}
		stored.Status.Conditions = []batchv1.JobCondition{condition}
		server.Put(res, stored)
	}
	check := func(pass *inventory.Pass, wantWaiting, wantErr string) {
		t.Helper()
		waiting, err := pass.Apply(t.Context(), declared...)
		items = pass.Items()
		if waiting != wantWaiting {
			t.Errorf("Apply waits for %q, want %q", waiting, wantWaiting)
		}
		switch {
		case wantErr != "":
			wantError(t, "Apply", err, wantErr)
			if core.IsTerminal(err) {
				t.Errorf("Apply: %v, want an error that a controller retries", err)
			}
		case err != nil:
			t.Errorf("Apply: %v", err)
		}
	}
	begin := func() *inventory.Pass { return applier.Begin(site(), items, ignore) }
	check(begin(), "Job prod/migrate is not ready: it is not complete", "")
	set(batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"})
	for range 2 { // the second time, the applier remembers it
		check(begin(), "", "Job prod/migrate is not ready: condition Failed is True: BackoffLimitExceeded")
	}
	check(applier.Plan(site(), items), "", "Job prod/migrate is not ready: condition Failed is True: BackoffLimitExceeded")
	set(batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
	check(begin(), "", "")
	if len(items) != 2 || items[1].UID == "" {
		t.Errorf("the inventory is %+v, want both objects", items)
	}
}

func TestInvalidApplierFails(t *testing.T) {
	c := newClient(t)
	for _, name := range []string{"", "site", "example.com/", "example.com/" + strings.Repeat("a", 58)} {
		pass := inventory.New(c, name, nil).Begin(site(), nil, ignore)
		_, err := pass.Apply(t.Context())
		wantError(t, "Apply", err, "is not a name that is qualified by a domain")
		_, err = pass.Prune(t.Context(), nil)
		wantError(t, "Prune", err, "is not a name that is qualified by a domain")
		_, err = pass.Delete(t.Context())
		wantError(t, "Delete", err, "is not a name that is qualified by a domain")
	}
	_, err := inventory.New(c, manager, nil).Begin(site(), nil, nil).Apply(t.Context())
	wantError(t, "Apply", err, "record is nil")
	record := func(context.Context, []machine.Item) error { return nil }
	_, err = inventory.New(nil, manager, nil).Begin(site(), nil, record).Apply(t.Context())
	if err == nil || err.Error() != "the client is nil: pass one of client.New" {
		t.Errorf("Apply without a client: %v", err)
	}
	o := &inventory.Options{Views: []inventory.View{viewOf[corev1.ConfigMap](t, c.Server()), (*view)(nil), nil}}
	_, err = inventory.New(c, manager, o).Begin(site(), nil, record).Apply(t.Context())
	wantError(t, "Apply", err, "view 2 of 3 is nil: pass one of cache.Of\nview 3 of 3 is nil")
}

func TestNothingIsCreatedIfTheInventoryCannotBeStored(t *testing.T) {
	c := newClient(t)
	broken := errors.New("broken")
	applier := inventory.New(c, manager, nil)
	pass := applier.Begin(site(), nil, func(context.Context, []machine.Item) error { return broken })
	if _, err := pass.Apply(t.Context(), inventory.Declaration{Object: page("a")}); !errors.Is(err, broken) {
		t.Errorf("Apply: %v, want the error of record", err)
	}
	if len(pass.Items()) > 0 {
		t.Errorf("the inventory is %v", pass.Items())
	}
	if _, err := client.Namespaced[corev1.ConfigMap](c, "prod").Get(t.Context(), "a", nil); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("get: %v, want not found", err)
	}
}

func TestRecordIsCalledOnceWithAllIntents(t *testing.T) {
	c := newClient(t)
	applier := inventory.New(c, manager, nil)
	var recorded [][]machine.Item
	pass := applier.Begin(site(), nil, func(_ context.Context, items []machine.Item) error {
		recorded = append(recorded, items)
		return nil
	})
	_, err := pass.Apply(t.Context(),
		inventory.Declaration{Object: page("c"), Wave: 1},
		inventory.Declaration{Object: page("a")},
		inventory.Declaration{Object: page("b"), Foreground: true},
	)
	if err != nil || len(recorded) != 1 || len(recorded[0]) != 3 {
		t.Fatalf("Apply: %v; recorded %v", err, recorded)
	}
	want := machine.Item{Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "b", Foreground: true}
	if recorded[0][1] != want {
		t.Errorf("recorded %v, want %v", recorded[0][1], want)
	}
	for _, item := range pass.Items() {
		if item.UID == "" || item.Hash == "" {
			t.Errorf("the item %v is not complete", item)
		}
	}
}

func TestDeleteChecksItsObjects(t *testing.T) {
	applier := inventory.New(newClient(t), manager, nil)
	pass := applier.Begin(site(), nil, ignore)
	_, err := pass.Delete(t.Context(), nil)
	wantError(t, "Delete", err, "object 1 of 1 is nil")
	if _, err := pass.Apply(t.Context(), inventory.Declaration{Object: page("a")}); err != nil {
		t.Fatal(err)
	}
	_, err = pass.Delete(t.Context(), page("a"))
	wantError(t, "Delete", err, "ConfigMap prod/a is declared and deleted in the same pass")
	if waiting, err := pass.Delete(t.Context(), page("b")); err != nil || waiting != "" {
		t.Errorf("Delete: waits for %q, %v", waiting, err)
	}
	_, err = pass.Apply(t.Context(), inventory.Declaration{Object: page("b")})
	wantError(t, "Apply", err, "ConfigMap prod/b is declared and deleted in the same pass")
}

// TestNothingIsCreatedForADeletedOwner checks that a pass over a deleted owner stores the inventory before each create,
// also of an object that is in the inventory: the owner may not exist any more.
func TestNothingIsCreatedForADeletedOwner(t *testing.T) {
	gone := errors.New("the owner is gone")
	owner := site()
	owner.SetDeletionTimestamp(new(metav1.Now()))
	items := []machine.Item{{Version: "v1", Kind: "ConfigMap", Namespace: "prod", Name: "a", UID: "1"}}
	pass := inventory.New(newClient(t), manager, nil).Begin(owner, items, func(context.Context, []machine.Item) error { return gone })
	if _, err := pass.Apply(t.Context(), inventory.Declaration{Object: page("a")}); !errors.Is(err, gone) {
		t.Errorf("Apply: %v, want the error of record", err)
	}
}

// TestItemsThatNameNoObjectAreForgotten checks that items which no pass stores do not stop a pass.
func TestItemsThatNameNoObjectAreForgotten(t *testing.T) {
	applier := inventory.New(newClient(t), manager, nil)
	pass := applier.Begin(site(), []machine.Item{
		{Version: "v1", Kind: "ConfigMap", Namespace: "prod"},
		{Version: "v1", Kind: "ConfigMap", Name: "a"},
	}, ignore)
	if _, err := pass.Apply(t.Context(), inventory.Declaration{Object: page("b")}); err != nil { // it needs no discovery then
		t.Fatal(err)
	}
	waiting, err := pass.Prune(t.Context(), nil)
	if items := pass.Items(); err != nil || waiting != "" || len(items) != 1 || items[0].Name != "b" {
		t.Errorf("Prune: waits for %q, %v; the inventory is %+v", waiting, err, items)
	}
}

// TestOwnersOf checks that the owner is read from the annotation that an applier has written, and from no other.
func TestOwnersOf(t *testing.T) {
	clusterRole := func() *rbacv1.ClusterRole { return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}} }
	owners := []core.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "site", UID: "5e0a2a38-5f5f-4c5e-9d5c-000000000001"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "site", UID: "5e0a2a38-5f5f-4c5e-9d5c-000000000002"}},
	}
	for _, owner := range owners {
		c := newClient(t)
		pass := inventory.New(c, manager, nil).Begin(owner, nil, ignore)
		_, err := pass.Apply(t.Context(), inventory.Declaration{Object: clusterRole(), NoOwner: true})
		if err != nil {
			t.Fatal(err)
		}
		role, err := client.ClusterWide[rbacv1.ClusterRole](c).Get(t.Context(), "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		if refs, err := inventory.OwnersOf[rbacv1.ClusterRole](manager)(t.Context(), role); err != nil ||
			len(refs) != 1 || refs[0] != core.RefOf(owner) {
			t.Errorf("%v: the owners are %v, %v", core.RefOf(owner), refs, err)
		}
		if refs, err := inventory.OwnersOf[rbacv1.ClusterRole]("example.com/other")(t.Context(), role); err != nil || refs != nil {
			t.Errorf("%v: the owners of another manager are %v, %v", core.RefOf(owner), refs, err)
		}
	}
	garbage := clusterRole()
	for _, value := range []string{"", "/", "prod/site/u1", "prod/site", strings.Repeat("/", 40)} {
		garbage.Annotations = map[string]string{manager + ".owner": value}
		if refs, err := inventory.OwnersOf[rbacv1.ClusterRole](manager)(t.Context(), garbage); err != nil || refs != nil {
			t.Errorf("the owners of %q are %v, %v", value, refs, err)
		}
	}
	_, err := inventory.OwnersOf[rbacv1.ClusterRole]("site")(t.Context(), garbage)
	wantError(t, "an invalid manager", err, "qualified by a domain")
}
