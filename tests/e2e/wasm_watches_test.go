// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/client/serviceaccount"
	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/wasm/host"
	"github.com/kube-go/sdk/wasm/operator"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
	"github.com/kube-go/sdk/wasm/v1alpha1"
)

// buildFollower builds a module that logs what it receives from a watch.
func buildFollower(t *testing.T) []byte {
	t.Helper()
	return buildInC(t, "wasm/conformance/testdata/follower.c")
}

// mapFollower returns a follower of the ConfigMaps in the namespace of the modules.
func (c *crowd) mapFollower(name string, binary []byte) host.Module {
	return host.Module{Name: name, Binary: binary, Args: []string{"", "v1", "ConfigMap", "configmaps", c.ns}}
}

// followed is what a follower has received.
type followed struct {
	objects map[string]string // their values
	synced  bool
	ends    []string // the codes of its watches that have ended
}

// followedBy returns what a follower has received, without the objects that exist in every namespace, and those that
// greeters write.
func (c *crowd) followedBy(name string) (f followed) {
	for _, line := range c.logged(name, "msg=") {
		_, text, _ := strings.Cut(line, "msg=")
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			text, _ = strconv.Unquote(quoted)
		}
		words := append(strings.Fields(text), "", "")
		switch words[0] {
		case "begin":
			f.objects, f.synced = make(map[string]string), false
		case "synced":
			f.synced = true
		case "set":
			f.objects[words[1]] = words[2]
		case "gone":
			delete(f.objects, words[1])
		case "ended":
			f.ends = append(f.ends, words[1])
		}
	}
	maps.DeleteFunc(f.objects, func(name, _ string) bool {
		return name == "kube-root-ca.crt" || strings.HasPrefix(name, "greeter-")
	})
	return f
}

// awaitFollowed waits until followers have received exactly some objects.
func (c *crowd) awaitFollowed(t *testing.T, what string, want map[string]string, names ...string) {
	t.Helper()
	eventually(t, what, func(context.Context) error {
		for _, name := range names {
			if f := c.followedBy(name); !f.synced || !maps.Equal(f.objects, want) {
				return fmt.Errorf("module %s has received %+v, want %v: %+v", name, f, want, c.status(name))
			}
		}
		return nil
	})
}

// neverEnded checks that modules have run since their first start, and that no watch of them has ended.
func (c *crowd) neverEnded(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if f := c.followedBy(name); len(f.ends) > 0 {
			t.Errorf("watches of module %s have ended with %v", name, f.ends)
		}
		if s := c.status(name); s.Stats.Failures > 0 || s.Blocked != nil {
			t.Errorf("module %s has failed: %+v", name, s)
		}
	}
}

// permit lets a service account of the namespace of the modules use resources, until the binding with the name of the
// role is deleted.
func (c *crowd) permit(t *testing.T, account, role string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	mustCreate(t, c.client, c.ns, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: rules})
	c.bindTo(t, account, role)
}

func (c *crowd) bindTo(t *testing.T, account, role string) {
	t.Helper()
	mustCreate(t, c.client, c.ns, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.ns, Name: account}},
	})
}

// watchCutter ends the watches of a client, and counts those that the server refuses. It is safe for concurrent use.
type watchCutter struct {
	mu      sync.Mutex // guards the fields below
	stops   []context.CancelFunc
	refused int
}

// layer is a middleware.
func (w *watchCutter) layer(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if !r.URL.Query().Has("watch") {
			return next.RoundTrip(r)
		}
		ctx, stop := context.WithCancel(r.Context())
		w.mu.Lock()
		w.stops = append(w.stops, stop)
		w.mu.Unlock()
		resp, err := next.RoundTrip(r.WithContext(ctx))
		if err == nil && resp.StatusCode == http.StatusForbidden {
			w.mu.Lock()
			w.refused++
			w.mu.Unlock()
		}
		return resp, err
	})
}

// refusals returns the number of watches that the server has refused.
func (w *watchCutter) refusals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}

// cut ends the watches that have begun.
func (w *watchCutter) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stop := range w.stops {
		stop()
	}
	w.stops = nil
}

// TestGuestsMissNothingWhileTheHostHasNoPermission takes a permission from the service account of the host for a while.
// Meanwhile its watch ends, and objects change. A module that begins to watch then is refused until the host has the
// permission again.
func TestGuestsMissNothingWhileTheHostHasNoPermission(t *testing.T) {
	t.Parallel()
	follower, greeter := buildFollower(t), buildInC(t, "wasm/host/testdata/greeter.c")
	c, watches := &crowd{client: connect(t, nil)}, &watchCutter{}
	c.ns = newNamespace(t, c.client)
	c.account(t, "modules")
	mustCreate(t, c.client, c.ns, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "host"}})
	c.permit(t, "host", "tokens", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"},
	})
	c.permit(t, "host", "reads", rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"},
	})
	token, err := serviceaccount.In(c.client, c.ns).Token(limit(t), "host", nil)
	if err != nil {
		t.Fatal(err)
	}
	own := loadConfig(t, "")
	asHost := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{watches.layer}, Config: &kube.Config{
		Server: own.Server, CAData: own.CAData, CAFile: own.CAFile, BearerToken: secret(t, "token", token.Token),
	}})
	c.run(t, asHost, host.Options{})

	before, after := map[string]string{"a": ""}, map[string]string{"b": ""}
	c.writeAll(t, before, "1")
	for _, name := range []string{"first", "second"} {
		c.set(t, "modules", c.mapFollower(name, follower))
	}
	c.set(t, "modules", host.Module{Name: "greeter-c", Binary: greeter, Args: []string{"greeter-c", c.ns, "hello"}})
	c.awaitFollowed(t, "the first objects", before, "first", "second")
	c.awaitRight(t, "the first greeting", "greeter", before)

	if err := kube.Namespaced[rbacv1.RoleBinding](c.client, c.ns).Delete(limit(t), "reads", nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server refuses the host", func(ctx context.Context) error {
		if _, err := kube.Namespaced[corev1.ConfigMap](asHost, c.ns).List(ctx, nil); !errors.Is(err, kube.ErrForbidden) {
			return fmt.Errorf("List = %w, want ErrForbidden", err)
		}
		return nil
	})
	watches.cut()
	eventually(t, "the refusal of the watch", func(context.Context) error {
		if n := watches.refusals(); n < 2 { // the second one follows when the host has noticed the first one
			return fmt.Errorf("the server has refused %d watches", n)
		}
		return nil
	})
	c.set(t, "modules", c.mapFollower("late", follower))
	eventually(t, "the refusal of a new watch", func(context.Context) error {
		if f := c.followedBy("late"); len(f.ends) == 0 {
			return fmt.Errorf("it has received %+v", f)
		}
		return nil
	})
	isOther := func(code string) bool { return code != "-5" }
	if f := c.followedBy("late"); slices.ContainsFunc(f.ends, isOther) || f.objects != nil {
		t.Errorf("a new watch has received %+v, want the code -5", f)
	}
	if err := kube.Namespaced[corev1.ConfigMap](c.client, c.ns).Delete(limit(t), "a", nil); err != nil {
		t.Fatal(err)
	}
	c.writeAll(t, after, "2")

	c.bindTo(t, "host", "reads")
	c.awaitFollowed(t, "the last objects", after, "first", "second", "late")
	c.awaitRight(t, "the last greeting", "greeter", after)
	c.neverEnded(t, "first", "second", "greeter-c")
}

// followedGroup is the API group of followedDefinition.
const followedGroup = "followed.e2e.example.com"

// followedDefinition returns a definition with the versions v1 and v2.
func followedDefinition(servesV1 bool) *unstructured.Unstructured {
	version := func(name string, served bool) any {
		return map[string]any{
			"name": name, "served": served, "storage": name == "v2",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "notes." + followedGroup},
		"spec": map[string]any{
			"group": followedGroup, "scope": "Namespaced", "versions": []any{version("v1", servesV1), version("v2", true)},
			"names": map[string]any{"kind": "Note", "plural": "notes"},
		},
	}}
}

// TestGuestsMissNothingWhileTheirKindIsNotServed switches a version of a kind off and on, and deletes and creates its
// definition, while modules watch it. Their instances are unloaded between the changes.
func TestGuestsMissNothingWhileTheirKindIsNotServed(t *testing.T) {
	t.Parallel()
	follower := buildFollower(t)
	c := newCrowd(t, host.Options{IdleAfter: 100 * time.Millisecond})
	c.account(t, "modules")
	c.permit(t, "modules", "notes", rbacv1.PolicyRule{
		APIGroups: []string{followedGroup}, Resources: []string{"notes"}, Verbs: []string{"list", "watch"},
	})
	definitions := kube.Dynamic(c.client, kube.CRDResource())
	define := func(servesV1 bool) {
		t.Helper()
		crds := []*unstructured.Unstructured{followedDefinition(servesV1)}
		if err := kube.InstallCRDs(limit(t), c.client, crds, &kube.InstallOptions{AllowDowngrade: true}); err != nil {
			t.Fatal(err)
		}
	}
	notes := func(version string) *kube.API[unstructured.Unstructured] {
		res := kube.Resource{Group: followedGroup, Version: version, Kind: "Note", Plural: "notes", Namespaced: true}
		return kube.Dynamic(c.client, res).In(c.ns)
	}
	create := func(name string) {
		t.Helper()
		eventually(t, "creating "+name, func(ctx context.Context) error { // when the server serves the kind
			_, err := notes("v2").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": name}, "data": map[string]any{"value": "of-" + name},
			}}, nil)
			return err
		})
	}
	follow := func(name, version string) {
		t.Helper()
		c.set(t, "modules", host.Module{
			Name: name, Binary: follower, Args: []string{followedGroup, version, "Note", "notes", c.ns},
		})
	}
	define(true)
	t.Cleanup(func() { deleteNow(t, definitions, "notes."+followedGroup) })
	create("a")
	follow("old", "v1")
	follow("new", "v2")
	c.awaitFollowed(t, "the first objects", map[string]string{"a": "of-a"}, "old", "new")

	define(false)
	eventually(t, "the server no longer serves v1", func(ctx context.Context) error {
		if _, err := notes("v1").List(ctx, nil); !errors.Is(err, kube.ErrNotFound) {
			return fmt.Errorf("List = %w, want ErrNotFound", err)
		}
		return nil
	})
	if err := notes("v2").Delete(limit(t), "a", nil); err != nil {
		t.Fatal(err)
	}
	create("b")
	c.awaitFollowed(t, "the objects without v1", map[string]string{"b": "of-b"}, "new")
	define(true)
	c.awaitFollowed(t, "the objects with v1", map[string]string{"b": "of-b"}, "old", "new")

	if err := kube.DeleteAndWait(limit(t), definitions, "notes."+followedGroup, nil); err != nil {
		t.Fatal(err)
	}
	follow("late", "v1")
	define(true)
	create("c")
	c.awaitFollowed(t, "the objects of the new definition", map[string]string{"c": "of-c"}, "old", "new", "late")
	c.neverEnded(t, "old", "new", "late")
}

// TestReplacedModuleMissesNothingAfterItWasUnloaded replaces a module again and again while its instance is unloaded
// and objects change.
func TestReplacedModuleMissesNothingAfterItWasUnloaded(t *testing.T) {
	t.Parallel()
	follower := buildFollower(t)
	versions := [][]byte{follower, another(follower)}
	c := newCrowd(t, host.Options{IdleAfter: 50 * time.Millisecond})
	c.account(t, "modules")
	c.set(t, "modules", c.mapFollower("follower", follower))
	objects := map[string]string{}
	for n := range 6 {
		eventually(t, "the instance is unloaded", func(context.Context) error {
			if s := c.status("follower"); s.Phase != host.Unloaded {
				return fmt.Errorf("the state is %+v", s)
			}
			return nil
		})
		var changes sync.WaitGroup
		changes.Go(func() {
			for name := range objects { // of the last time
				if err := kube.Namespaced[corev1.ConfigMap](c.client, c.ns).Delete(limit(t), name, nil); err != nil {
					t.Error(err)
				}
			}
			clear(objects)
			objects[fmt.Sprint("object-", n)] = ""
			c.writeAll(t, objects, fmt.Sprint(n))
		})
		changes.Go(func() { c.set(t, "modules", c.mapFollower("follower", versions[(n+1)%2])) })
		changes.Wait()
		c.awaitFollowed(t, fmt.Sprint("the objects after the replacement ", n), objects, "follower")
	}
	c.neverEnded(t, "follower")
}

// TestNamespaceWithWasmControllersIsDeleted deletes a namespace with an object in each state that lasts. The service
// account and the roles of the modules are deleted with it.
func TestNamespaceWithWasmControllersIsDeleted(t *testing.T) {
	t.Parallel()
	s := newWasmSuite(t)
	h := runWasmHost(t, s.client, s.ns, operator.Options{Store: s.store})
	shared := &crowd{client: s.client, host: h.host, ns: s.ns, log: h}
	shared.account(t, "modules")
	image := s.registry.Push(buildFollower(t))
	args := shared.mapFollower("", nil).Args
	unknown := s.registry.Host + "/modules/test@sha256:" + strings.Repeat("0", 64)
	failing := s.registry.Push(registrytest.Guest{Fails: true}.Module())
	for name, spec := range map[string]v1alpha1.WasmControllerSpec{
		"running":     {Image: image, Args: args, ServiceAccountName: "modules"},
		"pulling":     {Image: unknown},
		"quarantined": {Image: failing},
		"stopped":     {Image: image, Args: args, Suspend: true},
	} {
		s.create(t, name, spec)
	}
	for name, state := range map[string]string{
		"running": "Running", "pulling": "Pulling", "quarantined": "Quarantined", "stopped": "Stopped",
	} {
		s.await(t, name, 1, state)
	}
	objects := map[string]string{"a": ""}
	shared.writeAll(t, objects, "1")
	shared.awaitFollowed(t, "the objects", objects, s.ns+"/running")
	if err := kube.DeleteAndWait(limit(t), kube.ClusterWide[corev1.Namespace](s.client), s.ns, nil); err != nil {
		t.Fatal(err)
	}
	if err := wasmNames(h.host); err != nil {
		t.Error(err)
	}
}
