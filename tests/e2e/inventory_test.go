// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/machine"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/runtime/inventory"
	"github.com/kube-go/sdk/runtime/wait"
)

const inventoryManager = "example.com/inventory"

// declarer makes passes over an owner, which stores the inventory.
type declarer struct {
	owners  *kube.API[corev1.ConfigMap]
	owner   string
	applier *inventory.Applier
}

func newDeclarer(t *testing.T, c *kube.Client, ns string, views ...inventory.View) *declarer {
	t.Helper()
	d := &declarer{owners: kube.Namespaced[corev1.ConfigMap](c, ns), owner: "owner"}
	d.applier = inventory.New(c, inventoryManager, &inventory.Options{Views: views})
	_, err := d.owners.Create(limit(t), configMap(d.owner, ""), nil)
	if err != nil && !errors.Is(err, kube.ErrAlreadyExists) {
		t.Fatal(err)
	}
	return d
}

// load returns the owner with its inventory.
func (d *declarer) load(ctx context.Context) (*corev1.ConfigMap, []machine.Item, error) {
	owner, err := d.owners.Get(ctx, d.owner, nil)
	if err != nil {
		return nil, nil, err
	}
	var items []machine.Item
	if stored := owner.Data["items"]; stored != "" {
		err = json.Unmarshal([]byte(stored), &items)
	}
	return owner, items, err
}

func (d *declarer) store(ctx context.Context, items []machine.Item) error {
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	_, err = d.owners.Patch(ctx, d.owner, kube.MergePatch(map[string]any{"data": map[string]any{"items": string(data)}}), nil)
	return err
}

// pass makes one pass.
func (d *declarer) pass(ctx context.Context, declarations ...inventory.Declaration) (waiting string, err error) {
	owner, items, err := d.load(ctx)
	if err != nil {
		return "", err
	}
	pass := d.applier.Begin(owner, items, d.store)
	waiting, err = pass.Apply(ctx, declarations...)
	if err == nil && waiting == "" {
		waiting, err = pass.Prune(ctx, nil)
	}
	if !slices.Equal(pass.Items(), items) {
		err = errors.Join(err, d.store(ctx, pass.Items()))
	}
	return waiting, err
}

// must makes a pass that neither fails nor waits.
func (d *declarer) must(t *testing.T, declarations ...inventory.Declaration) {
	t.Helper()
	if waiting, err := d.pass(limit(t), declarations...); err != nil || waiting != "" {
		t.Fatalf("pass: waits for %q, %v", waiting, err)
	}
}

// refused makes a pass that fails with an error that has all the given parts.
func (d *declarer) refused(t *testing.T, declaration inventory.Declaration, parts ...string) {
	t.Helper()
	_, err := d.pass(limit(t), declaration)
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("pass: %v, want an error with %q", err, part)
		}
	}
}

func declare(objects ...core.Object) []inventory.Declaration {
	var all []inventory.Declaration
	for _, obj := range objects {
		all = append(all, inventory.Declaration{Object: obj})
	}
	return all
}

// in returns an object in a namespace.
func in[K any, P core.ObjectPtr[K]](ns string, obj *K) *K {
	P(obj).SetNamespace(ns)
	return obj
}

// quota returns an object with values that the server writes differently.
func quota(name string) *corev1.ResourceQuota {
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"limits.cpu": resource.MustParse("1000m"), "limits.memory": resource.MustParse("1024Mi"),
		}},
	}
}

// TestInventoryCreatesRepairsAndPrunes checks the life of declared objects in the owner's namespace, in another one,
// and in the cluster, with and without caches.
func TestInventoryCreatesRepairsAndPrunes(t *testing.T) {
	t.Parallel()
	for _, cached := range []bool{false, true} {
		t.Run(fmt.Sprintf("cached %v", cached), func(t *testing.T) {
			sent := &requests{}
			c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
			ns, other := newNamespace(t, c), newNamespace(t, c)
			maps, quotas := kube.ClusterWide[corev1.ConfigMap](c), kube.Namespaced[corev1.ResourceQuota](c, ns)
			roles := kube.ClusterWide[rbacv1.ClusterRole](c)
			var views []inventory.View
			sync := func(core.Object) {}
			if cached {
				cache := kube.NewCache(c, nil)
				mapView := kube.ViewOf[corev1.ConfigMap](cache, nil)
				quotaView := kube.ViewOf[corev1.ResourceQuota](cache, nil)
				roleView := kube.ViewOf[rbacv1.ClusterRole](cache, nil)
				background(t, mapView.Run)
				background(t, quotaView.Run)
				background(t, roleView.Run)
				for _, ready := range []func(context.Context) error{mapView.Ready, quotaView.Ready, roleView.Ready} {
					if err := ready(limit(t)); err != nil {
						t.Fatal(err)
					}
				}
				views = append(views, mapView, quotaView, roleView)
				sync = func(obj core.Object) {
					t.Helper()
					waitFor := mapView.WaitFor
					if _, ok := obj.(*corev1.ResourceQuota); ok {
						waitFor = quotaView.WaitFor
					}
					if err := waitFor(limit(t), obj); err != nil {
						t.Fatal(err)
					}
				}
			}
			d := newDeclarer(t, c, ns, views...)
			roleName := "inventory-" + ns
			t.Cleanup(func() { _ = roles.Delete(context.WithoutCancel(t.Context()), roleName, nil) })
			role := func() *rbacv1.ClusterRole {
				return &rbacv1.ClusterRole{
					ObjectMeta: metav1.ObjectMeta{Name: roleName},
					Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
				}
			}
			dynamic := func() *unstructured.Unstructured {
				u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"v": "1"}}}
				u.SetAPIVersion("v1")
				u.SetKind("ConfigMap")
				u.SetName("dynamic")
				return u
			}
			two := configMap("near", "1")
			two.Data["w"] = "2"
			all := declare(two, in(other, configMap("far", "1")), role(), quota("quota"), dynamic())
			d.must(t, all...)

			near, err := maps.In(ns).Get(limit(t), "near", nil)
			if err != nil || metav1.GetControllerOf(near) == nil {
				t.Fatalf("near = %v, %v; want a controller", near, err)
			}
			far, err := maps.In(other).Get(limit(t), "far", nil)
			if err != nil || far.OwnerReferences != nil || !strings.HasPrefix(far.Annotations[inventoryManager+".owner"], ns+"/owner/") {
				t.Fatalf("far = %v, %v; want an annotation", far, err)
			}
			sync(far)

			// A steady pass writes nothing, also after a restart except for values that the server writes differently.
			writes := func() int { return sent.count("PATCH") + sent.count("POST") + sent.count("DELETE") + sent.count("PUT") }
			reads := func() int { return sent.count("GET") - sent.count("GET", "watch=") - sent.count("GET", "/owner") }
			eventually(t, "a pass sends nothing", func(context.Context) error {
				before, read := writes(), reads()
				d.must(t, all...)
				if n := writes() - before; n > 0 || cached && reads() > read {
					return fmt.Errorf("%d writes and %d reads", n, reads()-read)
				}
				return nil
			})
			d = newDeclarer(t, c, ns, views...)
			before := sent.count("PATCH")
			d.must(t, all...)
			d.must(t, all...)
			if n := sent.count("PATCH") - before; n > 1 {
				t.Errorf("%d writes after a restart, want 1 for the quota", n)
			}

			// Drift of declared fields is repaired; other fields stay.
			patched, err := maps.In(other).Patch(limit(t), "far", kube.MergePatch(map[string]any{
				"data": map[string]string{"v": "changed", "other": "kept"},
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			sync(patched)
			q, err := quotas.Patch(limit(t), "quota", kube.MergePatch(map[string]any{
				"spec": map[string]any{"hard": map[string]string{"limits.cpu": "7"}},
			}), nil)
			if err != nil {
				t.Fatal(err)
			}
			sync(q)
			d.must(t, all...)
			far, err = maps.In(other).Get(limit(t), "far", nil)
			if err != nil || far.Data["v"] != "1" || far.Data["other"] != "kept" {
				t.Errorf("far = %v, %v after drift", far, err)
			}
			q, err = quotas.Get(limit(t), "quota", nil)
			if err != nil || q.Spec.Hard["limits.cpu"] != resource.MustParse("1") {
				t.Errorf("quota = %v, %v after drift", q, err)
			}
			// A deleted object is created again.
			if err := kube.DeleteAndWait(limit(t), maps.In(ns), "near", nil); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the deleted object is created again", func(ctx context.Context) error {
				_, passErr := d.pass(ctx, all...) // the cache may be behind
				_, err := maps.In(ns).Get(ctx, "near", nil)
				return errors.Join(err, passErr)
			})
			// A field that is not declared any more is removed.
			d.must(t, declare(configMap("near", "1"), in(other, configMap("far", "1")), role(), quota("quota"), dynamic())...)
			near, err = maps.In(ns).Get(limit(t), "near", nil)
			if err != nil || near.Data["w"] != "" {
				t.Errorf("near = %v, %v; want no field w", near, err)
			}
			// Objects that are not declared any more are deleted.
			d.must(t, declare(configMap("near", "1"))...)
			for what, get := range map[string]func() error{
				"far":     func() error { _, err := maps.In(other).Get(limit(t), "far", nil); return err },
				"role":    func() error { _, err := roles.Get(limit(t), roleName, nil); return err },
				"quota":   func() error { _, err := quotas.Get(limit(t), "quota", nil); return err },
				"dynamic": func() error { _, err := maps.In(ns).Get(limit(t), "dynamic", nil); return err },
			} {
				if err := get(); !errors.Is(err, kube.ErrNotFound) {
					t.Errorf("%s after it was pruned: %v", what, err)
				}
			}
			d.must(t)
			if _, items, err := d.load(limit(t)); err != nil || len(items) > 0 {
				t.Errorf("the inventory is %v, %v", items, err)
			}
		})
	}
}

// TestInventoryRefusesObjectsOfOthers checks that objects of others are not changed, and which ones can be adopted.
func TestInventoryRefusesObjectsOfOthers(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	d := newDeclarer(t, c, ns)
	create := func(obj *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		obj, err := maps.Create(limit(t), obj, nil)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	unchanged := func(obj *corev1.ConfigMap) {
		t.Helper()
		now, err := maps.Get(limit(t), obj.Name, nil)
		if err != nil || now.ResourceVersion != obj.ResourceVersion {
			t.Errorf("%s was changed: %v, %v", obj.Name, now, err)
		}
	}
	// Of nobody.
	free := create(configMap("free", "theirs"))
	d.refused(t, inventory.Declaration{Object: configMap("free", "mine")}, "ConfigMap "+ns+"/free", "Declaration.Adopt")
	unchanged(free)
	d.must(t, inventory.Declaration{Object: configMap("free", "mine"), Adopt: true})
	if now, err := maps.Get(limit(t), "free", nil); err != nil || now.UID != free.UID || now.Data["v"] != "mine" {
		t.Errorf("free = %v, %v; want it adopted", now, err)
	}
	// Of another controller.
	controlled := configMap("controlled", "theirs")
	if err := core.SetController(controlled, free); err != nil {
		t.Fatal(err)
	}
	controlled = create(controlled)
	d.refused(t, inventory.Declaration{Object: configMap("controlled", "mine"), Adopt: true}, "ConfigMap free")
	unchanged(controlled)
	// Of another owner of the same manager, and of another manager.
	marked := configMap("marked", "theirs")
	marked.Annotations = map[string]string{inventoryManager + ".owner": ns + "/rival/5a0b3a0e-7a8f-4c1e-9a55-0f6f1f0a0b0c"}
	marked = create(marked)
	d.refused(t, inventory.Declaration{Object: configMap("marked", "mine"), Adopt: true}, ns+"/rival")
	foreign := configMap("foreign", "theirs")
	foreign.Annotations = map[string]string{"example.org/rival.owner": ns + "/rival/5a0b3a0e-7a8f-4c1e-9a55-0f6f1f0a0b0c"}
	foreign = create(foreign)
	d.refused(t, inventory.Declaration{Object: configMap("foreign", "mine"), Adopt: true}, "example.org/rival")
	// Of an earlier owner of the same name.
	former := configMap("former", "theirs")
	former.Annotations = map[string]string{inventoryManager + ".owner": ns + "/owner/5a0b3a0e-7a8f-4c1e-9a55-0f6f1f0a0b0c"}
	former = create(former)
	d.refused(t, inventory.Declaration{Object: configMap("former", "mine"), NoOwner: true}, "another UID", "Declaration.Adopt")
	unchanged(former)
	// A refused object does not prevent the others, and is not deleted.
	d.refused(t, inventory.Declaration{Object: configMap("former", "mine")}, "another UID")
	d.must(t)
	for _, obj := range []*corev1.ConfigMap{marked, foreign, former} {
		unchanged(obj)
	}
	if _, err := maps.Get(limit(t), "free", nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("the adopted object was not pruned: %v", err)
	}

	// An object that others have created again is neither changed nor deleted.
	d.must(t, declare(configMap("again", "mine"))...)
	if err := kube.DeleteAndWait(limit(t), maps, "again", nil); err != nil {
		t.Fatal(err)
	}
	again := create(configMap("again", "theirs"))
	d.refused(t, inventory.Declaration{Object: configMap("again", "mine")}, "was not created by this controller")
	d.must(t)
	unchanged(again)
}

// TestInventoryLeavesObjectsThatOthersCreateMeanwhile checks that an object is not taken over if others create it
// between the read and the first apply.
func TestInventoryLeavesObjectsThatOthersCreateMeanwhile(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	ns := newNamespace(t, admin)
	maps := kube.Namespaced[corev1.ConfigMap](admin, ns)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "page"}, Data: map[string]string{"theirs": "1"}}
	var once sync.Once
	rival := func(next http.RoundTripper) http.RoundTripper {
		return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			var err error
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/page") {
				once.Do(func() { _, err = maps.Create(r.Context(), theirs, nil) })
			}
			if err != nil {
				return nil, err
			}
			return next.RoundTrip(r)
		})
	}
	d := newDeclarer(t, connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{rival}}), ns)
	d.refused(t, inventory.Declaration{Object: configMap("page", "mine")}, "was created by another client at the same time")
	d.refused(t, inventory.Declaration{Object: configMap("page", "mine")}, "was not created by this controller")
	d.must(t)
	page, err := maps.Get(limit(t), "page", nil)
	if err != nil || page.Data["theirs"] != "1" || page.Data["v"] != "" || page.OwnerReferences != nil {
		t.Errorf("the object of others is %v, %v", page, err)
	}
}

// TestInventoryForgetsObjectsOfRemovedKinds checks that objects whose kind is removed do not block a pass, whether the
// program has used the kind or not.
func TestInventoryForgetsObjectsOfRemovedKinds(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	for _, restart := range []bool{false, true} {
		crd, res := notes("title")
		res.Group, res.Plural = fmt.Sprintf("removed-%v.example.com", restart), "papers"
		crd.SetName(res.String())
		for path, value := range map[string]string{"group": res.Group, "names.plural": res.Plural} {
			if err := unstructured.SetNestedField(crd.Object, value, append([]string{"spec"}, strings.Split(path, ".")...)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := kube.InstallCRDs(limit(t), c, []*unstructured.Unstructured{crd}, nil); err != nil {
			t.Fatal(err)
		}
		note := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "T"}}}
		note.SetGroupVersionKind(res.GroupVersionKind())
		note.SetName("note")
		d := newDeclarer(t, c, ns)
		eventually(t, "the object is declared", func(ctx context.Context) error { // discovery is behind for a moment
			_, err := d.pass(ctx, declare(note)...)
			return err
		})
		if err := kube.DeleteAndWait(limit(t), kube.Dynamic(c, kube.CRDResource()), crd.GetName(), nil); err != nil {
			t.Fatal(err)
		}
		if restart {
			d = newDeclarer(t, c, ns)
		}
		eventually(t, "the object is forgotten", func(ctx context.Context) error {
			if waiting, err := d.pass(ctx); err != nil || waiting != "" {
				return fmt.Errorf("waits for %q, %w", waiting, err)
			}
			return nil
		})
		if _, items, err := d.load(limit(t)); err != nil || len(items) > 0 {
			t.Errorf("the inventory is %v, %v", items, err)
		}
	}
}

// mortal is a middleware that ends a program: from the request with the given number on, no request succeeds. If after
// is true, the server executes that request, but the program does not receive the response.
type mortal struct {
	mu    sync.Mutex // guards left
	left  int
	after bool
}

var errKilled = errors.New("killed")

func (m *mortal) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		m.mu.Lock()
		m.left--
		left := m.left
		m.mu.Unlock()
		if left < 0 || left == 0 && !m.after {
			return nil, errKilled
		}
		resp, err := next.RoundTrip(r)
		if left == 0 && err == nil {
			err = errors.Join(errKilled, resp.Body.Close())
			return nil, err
		}
		return resp, err
	})
}

// TestInventorySurvivesKills kills the program before and after each of its requests, while it changes the declared
// objects, and checks that the next program, which declares others again, leaves the same objects.
func TestInventorySurvivesKills(t *testing.T) {
	t.Parallel()
	admin := connect(t, nil)
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			ns, other := newNamespace(t, admin), newNamespace(t, admin)
			maps := kube.ClusterWide[corev1.ConfigMap](admin)
			first := declare(configMap("both", "1"), configMap("first", "1"), in(other, configMap("far", "1")))
			second := append(declare(configMap("both", "2"), configMap("second", "2")),
				inventory.Declaration{Object: in(other, configMap("wave", "2")), Wave: 1})
			third := declare(configMap("both", "3"), configMap("third", "3"))
			d := newDeclarer(t, admin, ns)
			d.must(t, first...)
			c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{(&mortal{left: n, after: after}).layer}})
			victim := &declarer{
				owners: kube.Namespaced[corev1.ConfigMap](c, ns), owner: d.owner,
				applier: inventory.New(c, inventoryManager, nil),
			}
			_, err := victim.pass(limit(t), second...)
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			d.must(t, third...)
			var got []string
			for cm, err := range maps.All(limit(t), nil) {
				if err != nil {
					t.Fatal(err)
				}
				if (cm.Namespace == ns || cm.Namespace == other) && cm.Name != "owner" && cm.Name != "kube-root-ca.crt" {
					got = append(got, cm.Name+"="+cm.Data["v"])
				}
			}
			slices.Sort(got)
			if want := []string{"both=3", "third=3"}; !slices.Equal(got, want) {
				t.Errorf("killed at request %d, after it %v: %v exist, want %v", n, after, got, want)
			}
			if err == nil {
				if n < 8 {
					t.Errorf("the pass has sent %d requests only", n-1)
				}
				break
			}
		}
	}
}

// TestInventoryWaitsForWaves checks that objects are applied when those of lower waves are ready, and deleted in the
// opposite order.
func TestInventoryWaitsForWaves(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	d := newDeclarer(t, c, ns)
	// A definition, and an object of its kind.
	crd, res := notes("title")
	res.Group, res.Plural = "inventory.example.com", "memos"
	crd.SetName(res.String())
	for path, value := range map[string]string{"group": res.Group, "names.plural": res.Plural} {
		if err := unstructured.SetNestedField(crd.Object, value, append([]string{"spec"}, strings.Split(path, ".")...)...); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		err := kube.Dynamic(c, kube.CRDResource()).Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil)
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			t.Error(err)
		}
	})
	note := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "T"}}}
	note.SetGroupVersionKind(res.GroupVersionKind())
	note.SetName("note")
	all := []inventory.Declaration{
		{Object: note, Wave: 2},
		{Object: configMap("gate", "closed"), Wave: 1, Ready: func(u *unstructured.Unstructured) error {
			if v, _, _ := unstructured.NestedString(u.Object, "data", "open"); v != "yes" {
				return errors.New("it is closed")
			}
			return nil
		}},
		{Object: crd},
	}
	eventually(t, "the pass waits for the gate", func(ctx context.Context) error {
		waiting, err := d.pass(ctx, all...)
		if want := "ConfigMap " + ns + "/gate is not ready: it is closed"; err == nil && waiting != want {
			err = fmt.Errorf("it waits for %q, want %q", waiting, want)
		}
		return err
	})
	if _, err := kube.Dynamic(c, res).In(ns).Get(limit(t), "note", nil); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("the object of wave 2 exists: %v", err)
	}
	if _, err := maps.Patch(limit(t), "gate", kube.MergePatch(map[string]any{"data": map[string]string{"open": "yes"}}), nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all waves are applied", func(ctx context.Context) error { // the new kind is served after a moment
		waiting, err := d.pass(ctx, all...)
		if waiting != "" {
			err = errors.New(waiting)
		}
		return err
	})
	// The object of wave 2 has a finalizer, so those of the lower waves stay.
	finalizers := func(names ...any) {
		t.Helper()
		patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": names}})
		if _, err := kube.Dynamic(c, res).In(ns).Patch(limit(t), "note", patch, nil); err != nil {
			t.Fatal(err)
		}
	}
	finalizers("example.com/test")
	for range 2 {
		waiting, err := d.pass(limit(t))
		if want := "Note " + ns + "/note is being deleted"; err != nil || waiting != want {
			t.Fatalf("prune: waits for %q, %v; want %q", waiting, err, want)
		}
	}
	if _, err := maps.Get(limit(t), "gate", nil); err != nil {
		t.Errorf("the object of wave 1 is deleted before that of wave 2: %v", err)
	}
	// An object that is declared again is created when its deletion has ended.
	if waiting, err := d.pass(limit(t), all...); err != nil || waiting != "Note "+ns+"/note is being deleted" {
		t.Errorf("pass: waits for %q, %v", waiting, err)
	}
	finalizers()
	eventually(t, "everything is deleted", func(ctx context.Context) error {
		waiting, err := d.pass(ctx)
		if waiting != "" {
			err = errors.New(waiting)
		}
		return err
	})
}

// TestInventoryDeletesInTheForeground checks that the dependents of an object are deleted first, and that a declared
// deletion waits, too.
func TestInventoryDeletesInTheForeground(t *testing.T) {
	t.Parallel()
	c := connect(t, nil)
	ns := newNamespace(t, c)
	maps := kube.Namespaced[corev1.ConfigMap](c, ns)
	d := newDeclarer(t, c, ns)
	all := []inventory.Declaration{{Object: configMap("parent", "1"), Foreground: true}, {Object: configMap("other", "1")}}
	d.must(t, all...)
	parent, err := maps.Get(limit(t), "parent", nil)
	if err != nil {
		t.Fatal(err)
	}
	child := configMap("child", "1")
	child.Finalizers = []string{"example.com/test"}
	if err := core.SetController(child, parent); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(limit(t), child, nil); err != nil {
		t.Fatal(err)
	}
	waiting := func() string {
		t.Helper()
		owner, items, err := d.load(limit(t))
		if err != nil {
			t.Fatal(err)
		}
		pass := d.applier.Begin(owner, items, d.store)
		if _, err := pass.Apply(limit(t), all[1]); err != nil {
			t.Fatal(err)
		}
		waiting, err := pass.Delete(limit(t), configMap("parent", ""), configMap("unknown", ""))
		if err := errors.Join(err, d.store(limit(t), pass.Items())); err != nil {
			t.Fatal(err)
		}
		return waiting
	}
	if got, want := waiting(), "ConfigMap "+ns+"/parent is being deleted"; got != want {
		t.Errorf("Delete waits for %q, want %q", got, want)
	}
	deleted := func(cm *corev1.ConfigMap) error {
		if cm.DeletionTimestamp == nil {
			return errors.New("it is not deleted")
		}
		return nil
	}
	if _, err := kube.Await(limit(t), maps, "child", deleted, nil); err != nil {
		t.Error(err)
	}
	if got := waiting(); got == "" {
		t.Error("the parent is deleted before the child")
	}
	patch := kube.MergePatch(map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if _, err := maps.Patch(limit(t), "child", patch, nil); err != nil {
		t.Fatal(err)
	}
	if err := wait.Gone(limit(t), maps, "parent", parent.UID, nil); err != nil {
		t.Error(err)
	}
	if got := waiting(); got != "" {
		t.Errorf("Delete waits for %q after the deletion", got)
	}
	if _, items, err := d.load(limit(t)); err != nil || len(items) != 1 || items[0].Name != "other" {
		t.Errorf("the inventory is %v, %v", items, err)
	}
}

// TestInventoryPlansWithoutWriting checks that a plan has all actions, in several steps and for objects in a namespace
// and of a kind that do not exist, that it has no values of secrets, and that it writes nothing.
func TestInventoryPlansWithoutWriting(t *testing.T) {
	t.Parallel()
	sent := &requests{}
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
	ns := newNamespace(t, c)
	d := newDeclarer(t, c, ns)
	secret := func(value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"password": value}}
	}
	d.must(t, declare(configMap("kept", "1"), configMap("changed", "1"), configMap("dropped", "1"), secret("hunter1"))...)
	owner, items, err := d.load(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	crd, res := notes("title")
	res.Group = "plan.example.com"
	crd.SetName(res.String())
	if err := unstructured.SetNestedField(crd.Object, res.Group, "spec", "group"); err != nil {
		t.Fatal(err)
	}
	note := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"title": "T"}}}
	note.SetGroupVersionKind(res.GroupVersionKind())
	note.SetName("note")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns + "-planned"}}

	before := sent.count("PATCH") + sent.count("DELETE") + sent.count("POST") - sent.count("dryRun=All")
	plan := d.applier.Plan(owner, items)
	first := declare(configMap("kept", "1"), configMap("changed", "2"), secret("hunter2"), crd, space)
	second := []inventory.Declaration{
		{Object: note, Wave: 1}, {Object: in(space.Name, configMap("planned", "1")), Wave: 1},
	}
	for _, step := range [][]inventory.Declaration{first, second} {
		if waiting, err := plan.Apply(limit(t), step...); err != nil || waiting != "" {
			t.Fatalf("plan: waits for %q, %v", waiting, err)
		}
	}
	if waiting, err := plan.Prune(limit(t), nil); err != nil || waiting != "" {
		t.Fatalf("plan: waits for %q, %v", waiting, err)
	}
	var got []string
	for _, a := range plan.Actions() {
		got = append(got, a.Verb+" "+a.Item.Kind+" "+a.Item.Name)
		if text := fmt.Sprint(a.Diff); strings.Contains(text, "hunter") || strings.Contains(text, "aHVudGVy") {
			t.Errorf("the diff of %s has the secret: %s", a.Item.Name, text)
		}
		if a.Item.Name == "changed" && fmt.Sprint(a.Diff) != "map[data:map[v:2]]" {
			t.Errorf("the diff of changed is %v", a.Diff)
		}
	}
	want := []string{
		"apply ConfigMap changed", "apply Secret secret", "create CustomResourceDefinition " + crd.GetName(),
		"create Namespace " + space.Name, "create Note note", "create ConfigMap planned", "delete ConfigMap dropped",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the plan is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := sent.count("PATCH") + sent.count("DELETE") + sent.count("POST") - sent.count("dryRun=All") - before; n > 0 {
		t.Errorf("the plan has sent %d writes", n)
	}
	// The owner may not exist either.
	plan = d.applier.Plan(in(ns, configMap("new-owner", "")), nil)
	if _, err := plan.Apply(limit(t), declare(configMap("new", "1"))...); err != nil || len(plan.Actions()) != 1 {
		t.Errorf("the plan of a new owner is %v, %v", plan.Actions(), err)
	}
}

// TestInventoryKeepsSecretsSecret checks that changed secrets are applied, that the stored inventory does not depend on
// their values, and that errors do not have them.
func TestInventoryKeepsSecretsSecret(t *testing.T) {
	t.Parallel()
	sent := &requests{}
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer}})
	ns := newNamespace(t, c)
	secrets := kube.Namespaced[corev1.Secret](c, ns)
	d := newDeclarer(t, c, ns)
	secret := func(value string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "secret"},
			Data:       map[string][]byte{"a": []byte(value)}, StringData: map[string]string{"b": value},
		}
	}
	var hashes []string
	for _, value := range []string{"one", "two"} {
		d.must(t, declare(secret(value))...)
		stored, err := secrets.Get(limit(t), "secret", nil)
		if err != nil || string(stored.Data["a"]) != value || string(stored.Data["b"]) != value {
			t.Errorf("the secret is %v, %v", stored, err)
		}
		before := sent.count("PATCH")
		d.must(t, declare(secret(value))...)
		if sent.count("PATCH") != before {
			t.Error("a steady pass has applied the secret")
		}
		_, items, err := d.load(limit(t))
		if err != nil || len(items) != 1 {
			t.Fatal(items, err)
		}
		hashes = append(hashes, items[0].Hash)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("the hashes %v depend on the value of the secret", hashes)
	}
	bad := secret("hunter2")
	bad.Labels = map[string]string{"label": "not valid: hunter2"}
	_, err := d.pass(limit(t), declare(bad)...)
	if !errors.Is(err, kube.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("pass: %v; want an error without the value", err)
	}
}
