// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// metrics is the group version whose server was unavailable when the documents were recorded.
var metrics = schema.GroupVersion{Group: "metrics.example.com", Version: "v1beta1"}

func TestDiscover(t *testing.T) {
	server := modern(t)
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range server.asked {
		if accept := r.Header.Get("Accept"); !strings.HasPrefix(accept,
			"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,") {
			t.Errorf("Accept = %s, want the aggregated form first", accept)
		}
	}
	if asked := server.takeAsked(); len(asked) != 2 {
		t.Errorf("requests = %v, want 2", asked)
	}
	resources := d.Resources()
	if len(resources) != 69 {
		t.Errorf("%d resources, want 69", len(resources))
	}
	for _, r := range resources {
		if err := r.Validate(); err != nil || len(r.Verbs) == 0 {
			t.Errorf("resource %+v: %v", r, err)
		}
	}
	want := core.Resource{
		Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments", Singular: "deployment", Namespaced: true,
		ShortNames: []string{"deploy"}, Categories: []string{"all"}, Subresources: []string{"scale", "status"},
		Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	}
	got, err := d.Resolve("deployments")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("deployments: %v (-want +got):\n%s", err, diff)
	}
	failed := d.Failed()
	if len(failed) != 1 || failed[0].GroupVersion != metrics || !errors.Is(failed[0], discovery.ErrStale) {
		t.Errorf("Failed = %v, want %s to be stale", failed, metrics)
	}
	resources[0].Kind, failed[0] = "Changed", nil
	if d.Resources()[0].Kind == "Changed" || d.Failed()[0] == nil {
		t.Error("the results are not copies")
	}
}

func TestPreferred(t *testing.T) {
	d := discover(t)
	seen := map[string]bool{}
	for _, r := range d.Preferred() {
		if seen[r.String()] {
			t.Errorf("%s occurs twice", r)
		}
		seen[r.String()] = true
		if r.String() == "horizontalpodautoscalers.autoscaling" && r.Version != "v2" {
			t.Errorf("%s is preferred in %s, want v2", r, r.Version)
		}
	}
	if all := len(d.Resources()); len(seen) != all-1 { // autoscalers have two versions
		t.Errorf("%d preferred resources of %d, want one fewer", len(seen), all)
	}
}

func TestSubresources(t *testing.T) {
	d := discover(t)
	for _, tc := range []struct{ resource, sub, want string }{
		{"deployments", "scale", "autoscaling/v1, Kind=Scale"},
		{"deployments", "status", "apps/v1, Kind=Deployment"},
		{"pods", "eviction", "policy/v1, Kind=Eviction"},
		{"serviceaccounts", "token", "authentication.k8s.io/v1, Kind=TokenRequest"},
	} {
		res, err := d.Resolve(tc.resource)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, sub := range d.Subresources(res) {
			if sub.Name == tc.sub {
				found = true
				if sub.Kind.String() != tc.want || len(sub.Verbs) == 0 {
					t.Errorf("%s/%s = %+v, want %s", tc.resource, tc.sub, sub, tc.want)
				}
			}
		}
		if !found {
			t.Errorf("%s has no subresource %s", tc.resource, tc.sub)
		}
	}
	if got := d.Subresources(core.Resource{Version: "v1", Plural: "unicorns"}); got != nil {
		t.Errorf("Subresources(unicorns) = %v, want nil", got)
	}
}

func TestForKindAndResource(t *testing.T) {
	d := discover(t)
	for _, tc := range []struct {
		gvk  schema.GroupVersionKind
		want string // empty if unknown
	}{
		{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "/v1, Resource=pods"},
		{
			schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
			"autoscaling/v1, Resource=horizontalpodautoscalers",
		},
		{
			schema.GroupVersionKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
			"autoscaling/v2, Resource=horizontalpodautoscalers",
		},
		{schema.GroupVersionKind{Group: "autoscaling", Version: "v3", Kind: "HorizontalPodAutoscaler"}, ""},
		{schema.GroupVersionKind{Version: "v1", Kind: "pod"}, ""},
		{schema.GroupVersionKind{}, ""},
	} {
		res, err := d.ForKind(tc.gvk)
		if got := res.GroupVersionResource().String(); tc.want != "" && (err != nil || got != tc.want) {
			t.Errorf("ForKind(%s) = %s, %v; want %s", tc.gvk, got, err, tc.want)
		}
		if _, ok := errors.AsType[*discovery.UnknownResourceError](err); (tc.want == "") != ok {
			t.Errorf("ForKind(%s): %v", tc.gvk, err)
		}
		if err != nil {
			continue
		}
		for _, version := range []string{res.Version, ""} {
			gvr := res.GroupVersionResource()
			gvr.Version = version
			back, err := d.ForResource(gvr)
			if err != nil || back.Kind != tc.gvk.Kind || version != "" && back.Version != version {
				t.Errorf("ForResource(%s) = %+v, %v", gvr, back, err)
			}
		}
	}
	_, err := d.ForResource(schema.GroupVersionResource{Group: "apps", Version: "v2", Resource: "deployments"})
	if want := `the server has no resource "deployments.v2.apps"; did you mean deployments.v1.apps?`; err == nil ||
		err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestResourcesOfOneKind checks which of several resources of one kind is found by the kind and by the singular: one
// that can be read, or otherwise the first.
func TestResourcesOfOneKind(t *testing.T) {
	const (
		all       = `,"verbs":["create","delete","get","list"]}`
		create    = `,"verbs":["create"]}`
		template  = `"responseKind":{"kind":"Template"}`
		processed = `{"resource":"processedtemplates",` + template
		templates = `{"resource":"templates",` + template
	)
	for _, tc := range []struct {
		name, in, want string // want are the resources of the name template
	}{
		{
			"the first can't be read", processed + create + "," + templates + `,"singularResource":"template"` + all,
			"[templates.g.test processedtemplates.g.test]",
		},
		{
			"both without a singular", processed + create + "," + templates + all,
			"[templates.g.test processedtemplates.g.test]",
		},
		{
			"both with the same singular",
			processed + `,"singularResource":"template"` + create + "," + templates + `,"singularResource":"template"` + all,
			"[templates.g.test processedtemplates.g.test]",
		},
		{
			"the first has another singular",
			processed + `,"singularResource":"processed"` + create + "," + templates + `,"singularResource":"template"` + all,
			"[templates.g.test processedtemplates.g.test]",
		},
		{
			"none can be read", processed + create + "," + templates + create,
			"[processedtemplates.g.test templates.g.test]",
		},
		{
			"both can be read", processed + all + "," + templates + all,
			"[processedtemplates.g.test templates.g.test]",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := modern(t)
			server.set("/apis", oneGroup("g.test", tc.in))
			d, err := discovery.Discover(t.Context(), server.client(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			found := d.Matches("template")
			if fmt.Sprint(found) != tc.want {
				t.Fatalf("Matches(template) = %v, want %s", found, tc.want)
			}
			for _, version := range []string{"v1", ""} {
				res, err := d.ForKind(schema.GroupVersionKind{Group: "g.test", Version: version, Kind: "Template"})
				if err != nil || res.Plural != found[0].Plural {
					t.Errorf("ForKind in version %q = %v, %v; want %v", version, res, err, found[0])
				}
			}
			for _, plural := range []string{"templates", "processedtemplates"} {
				if res, err := d.Resolve(plural); err != nil || res.Plural != plural {
					t.Errorf("Resolve(%q) = %v, %v", plural, res, err)
				}
			}
		})
	}
}

// TestFailuresOfOtherGroupsAreNotNamed checks that the error for an unknown kind or resource has only the failures of
// its group, also if the server has no resource of that group, and that the core group counts as a group.
func TestFailuresOfOtherGroupsAreNotNamed(t *testing.T) {
	server := modern(t)
	server.set("/api", plain(`{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[`+
		`{"version":"v1","freshness":"Stale","resources":[]}]}]}`))
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ group, want string }{
		{"", "[v1: " + discovery.ErrStale.Error() + "]"},
		{"apps", "[]"},
		{"late.test", "[]"},
		{"example.com", "[]"}, // the end of the name of the failed group
		{metrics.Group, "[" + metrics.String() + ": " + discovery.ErrStale.Error() + "]"},
	} {
		_, kindErr := d.ForKind(schema.GroupVersionKind{Group: tc.group, Version: "v1", Kind: "Unicorn"})
		_, resourceErr := d.ForResource(schema.GroupVersionResource{Group: tc.group, Resource: "unicorns"})
		for _, err := range []error{kindErr, resourceErr} {
			unknown, ok := errors.AsType[*discovery.UnknownResourceError](err)
			if !ok || fmt.Sprint(unknown.Failed) != tc.want {
				t.Errorf("group %q: error = %v, want an UnknownResourceError with Failed %s", tc.group, err, tc.want)
			}
		}
	}
}

// TestDiscoverOddities checks documents with missing or invalid fields.
func TestDiscoverOddities(t *testing.T) {
	server := &fakeServer{responses: map[string]response{
		"/api": noGroups(),
		"/apis": oneGroup("g.test",
			`{"resource":"parts","scope":"Cluster"},{"resource":"halves","responseKind":null},{"resource":"voids",`+
				`"responseKind":{"kind":""}},`+
				`{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Cluster"},{"resource":"things",`+
				`"responseKind":{"kind":"Again"}},`+
				`{"resource":"../etc","responseKind":{"kind":"Escape"}}`),
	}}
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []core.Resource{{Group: "g.test", Version: "v1", Kind: "Thing", Plural: "things"}}
	if diff := cmp.Diff(want, d.Resources()); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if got, err := d.Resolve("thing"); err != nil || got.Kind != "Thing" {
		t.Errorf("Resolve(thing) = %v, %v; want it by its kind", got, err)
	}
	for _, name := range []string{"", ".", "x", ".g.test", "parts"} { // "" must not match the empty singular of things
		if got, err := d.Resolve(name); err == nil {
			t.Errorf("Resolve(%q) = %v, want an error", name, got)
		}
	}
	const odd = `[g.test/v1: resource "../etc": resource: Plural "../etc" can't be part of a URL]`
	if got := fmt.Sprint(d.Failed()); got != odd {
		t.Errorf("Failed = %s, want %s", got, odd)
	}
}

func TestDiscoverErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   map[string]response
		want string
		is   error
	}{
		{
			name: "a forbidden root",
			in:   map[string]response{"/api": {code: 403, contentType: "text/plain", body: "no"}, "/apis": noGroups()},
			want: "discover /api: forbidden: server said: no", is: core.ErrForbidden,
		},
		{
			name: "a server without both roots",
			want: "discover /api and /apis: not found: server said: 404 page not found; is this the address of a Kubernetes " +
				"API server?",
			is: core.ErrNotFound,
		},
		{
			name: "a login page",
			in:   map[string]response{"/api": {code: 200, contentType: "text/html", body: "<html>"}, "/apis": noGroups()},
			want: `discover /api: content type "text/html": want application/json`,
		},
		{
			name: "a truncated document",
			in:   map[string]response{"/api": plain(`{"kind":`), "/apis": noGroups()},
			want: "discover /api: ", is: io.ErrUnexpectedEOF,
		},
		{
			name: "a document of another kind",
			in:   map[string]response{"/api": noGroups(), "/apis": plain(`{"kind":"PodList","items":[]}`)},
			want: `discover /apis: the response has kind "PodList", want APIGroupDiscoveryList or APIVersions or ` +
				`APIGroupList; is this`,
		},
		{
			name: "too many group versions",
			in: map[string]response{
				"/api": noGroups(),
				"/apis": plain(`{"kind":"APIGroupList","groups":[{"name":"g.test","versions":[` +
					strings.Repeat(`{"version":"v1"},`, 5000) + `{}]}]}`),
			},
			want: "discover /apis: the server lists 5001 group versions without aggregated discovery; the limit is 4096",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := discovery.Discover(t.Context(), (&fakeServer{responses: tc.in}).client(t), nil)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || d != nil {
				t.Errorf("Discover = %v, %v; want %s", d, err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error = %v, want %v", err, tc.is)
			}
		})
	}
}

// TestNoCoreGroup checks that a server without the core group can be discovered.
func TestNoCoreGroup(t *testing.T) {
	server := &fakeServer{responses: map[string]response{"/apis": oneGroup("g.test",
		`{"resource":"things","responseKind":{"kind":"Thing"}}`)}}
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil || len(d.Resources()) != 1 {
		t.Errorf("Discover = %v, %v; want one resource", d, err)
	}
}

// TestLegacy checks that a server without aggregated discovery has the same resources, and that a group version that
// does not respond is reported without a long delay.
func TestLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		began := time.Now()
		d, err := discovery.Discover(t.Context(), server.client(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %v, want 2s", took)
		}
		want := discover(t)
		if diff := cmp.Diff(want.Resources(), d.Resources()); diff != "" {
			t.Errorf("resources (-aggregated +legacy):\n%s", diff)
		}
		for _, r := range want.Resources() {
			if diff := cmp.Diff(want.Subresources(r), d.Subresources(r)); diff != "" {
				t.Errorf("subresources of %s (-aggregated +legacy):\n%s", r, diff)
			}
		}
		if got := fmt.Sprint(d.Failed()); got != "[metrics.example.com/v1beta1: no response within 2s]" {
			t.Errorf("Failed = %s", got)
		}
		if server.most > 32 {
			t.Errorf("%d concurrent requests", server.most)
		}
	})
}

// TestLegacyWithARateLimit checks that the delays of a rate limit do not count as the time of a group version.
func TestLegacyWithARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.set("/apis/apps/v1", response{code: 503, contentType: "text/plain", body: "no"})
		c, err := client.New(t.Context(), &client.Options{
			Config: &config.Config{Server: "https://cluster.test"}, Transport: server,
			RateLimit: &middleware.RateLimitOptions{PerSecond: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := discovery.Discover(t.Context(), c, nil)
		if err != nil {
			t.Fatal(err)
		}
		failed := d.Failed()
		if len(failed) != 2 || failed[0].GroupVersion.Group != "apps" || failed[1].GroupVersion != metrics ||
			failed[1].Err.Error() != "no response within 2s" {
			t.Errorf("Failed = %v, want the unavailable group version and the one that does not respond", failed)
		}
		ctx, cancel := contextOf(t, 2*time.Second)
		defer cancel()
		if d, err := discovery.Discover(ctx, c, nil); err == nil {
			t.Errorf("with a deadline that the rate limit exceeds, Failed = %v, want an error", d.Failed())
		}
	})
}

// TestHalfLegacy checks that each root is discovered in the format that it supports.
func TestHalfLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := legacy(t)
		server.set("/api", recorded(t, "api.json"))
		server.set("/apis/metrics.example.com/v1beta1", response{code: 503, contentType: "text/plain", body: "no"})
		server.set("/apis/example.com/v1", plain(`{"kind":"Table"}`))
		d, err := discovery.Discover(t.Context(), server.client(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(d.Resources()), len(discover(t).Resources())-1; got != want {
			t.Errorf("%d resources, want %d: all but the widgets", got, want)
		}
		failed := d.Failed()
		if len(failed) != 2 || failed[0].GroupVersion.Group != "example.com" || failed[1].GroupVersion != metrics ||
			!errors.Is(failed[1], core.ErrUnavailable) {
			t.Errorf("Failed = %v, want the group version with another kind and the unavailable one", failed)
		}
	})
}

// TestLegacyGivesUp checks that discovery ends with its context.
func TestLegacyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := contextOf(t, time.Second)
		defer cancel()
		_, err := discovery.Discover(ctx, legacy(t).client(t), nil)
		if !errors.Is(err, errEnough) {
			t.Errorf("error = %v, want the cause of the context", err)
		}
	})
}

// TestLegacyNames checks that no request is sent for names that cannot be part of a path.
func TestLegacyNames(t *testing.T) {
	server := &fakeServer{responses: map[string]response{
		"/api": plain(`{"kind":"APIVersions","versions":["..","v1"]}`),
		"/api/v1": plain(`{"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod"},{"name":"/",` +
			`"kind":"X"},{"name":"nobody/status","kind":"X"}]}`),
		"/apis": plain(`{"kind":"APIGroupList","groups":[{"name":"a/b","versions":[{"version":"v1"}]},` +
			`{"name":"g.test","versions":[{"version":"v1"},{"version":"v2"}],"preferredVersion":{"version":"v2"}}]}`),
		"/apis/g.test/v1": plain(`{"kind":"APIResourceList","resources":[{"name":"things","kind":"Thing"}]}`),
		"/apis/g.test/v2": plain(`{"kind":"APIResourceList","resources":[{"name":"things","kind":"Thing"}]}`),
	}}
	d, err := discovery.Discover(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(server.takeAsked()); strings.Contains(got, "..") || strings.Contains(got, "b/v1") {
		t.Errorf("requests = %s, want none for the invalid names", got)
	}
	if got := fmt.Sprint(d.Resources()); got != "[pods things.g.test things.g.test]" || d.Resources()[1].Version != "v2" {
		t.Errorf("resources %s, want those with valid names, v2 of the things first", got)
	}
	if failed := d.Failed(); len(failed) != 2 {
		t.Errorf("Failed = %v, want two", failed)
	}
}

// FuzzDiscover checks that Discover returns an error or valid resources whatever the server's responses, and that each
// resource is found by its names.
func FuzzDiscover(f *testing.F) {
	for _, file := range []string{"api.json", "apis.json", "api_old.json", "apis_old.json"} {
		f.Add(recorded(f, file).body)
	}
	f.Add(`{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[{"resource":"x",` +
		`"responseKind":{"kind":"X","version":"v2"}}]}]}]}`)
	f.Add(`{"kind":"APIResourceList","resources":[{"name":"pods/status","kind":"Pod"},{"name":"pods","kind":"Pod"}]}`)
	f.Add(`{"kind":"APIGroupList","groups":[{"name":"a","versions":null,"preferredVersion":{"version":"v1"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		server := &fakeServer{responses: map[string]response{
			"/api": plain(`{"kind":"APIVersions","versions":["v1"]}`), "/api/v1": plain(body), "/apis": plain(body),
		}}
		d, err := discovery.Discover(t.Context(), server.client(t), nil)
		if err != nil {
			return
		}
		for _, r := range d.Resources() {
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
			if got, err := d.ForResource(r.GroupVersionResource()); err != nil || got.Kind != r.Kind {
				t.Errorf("ForResource(%s) = %+v, %v", r.GroupVersionResource(), got, err)
			}
			if _, err := d.ForKind(r.GroupVersionKind()); err != nil {
				t.Error(err)
			}
			if len(d.Subresources(r)) != len(r.Subresources) {
				t.Errorf("%s has %v and %v", r, d.Subresources(r), r.Subresources)
			}
		}
		if len(d.Preferred()) > len(d.Resources()) {
			t.Errorf("there are more preferred resources than resources")
		}
	})
}

// TestNilClientIsAnError checks that each request of the package with a nil client returns an error that names the
// remedy.
func TestNilClientIsAnError(t *testing.T) {
	ctx := t.Context()
	mapper := discovery.NewMapper(nil, nil)
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	for name, call := range map[string]func() error{
		"Discover":     func() error { _, err := discovery.Discover(ctx, nil, nil); return err },
		"Version":      func() error { _, err := discovery.Version(ctx, nil); return err },
		"Health":       func() error { _, err := discovery.Health(ctx, nil, discovery.Ready, nil); return err },
		"FetchOpenAPI": func() error { _, err := discovery.FetchOpenAPI(ctx, nil, nil); return err },
		"Resolve":      func() error { _, err := mapper.Resolve(ctx, "pods"); return err },
		"Dynamic":      func() error { _, err := mapper.Dynamic(ctx, pod); return err },
		"Refresh":      func() error { _, err := mapper.Refresh(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil || !strings.Contains(err.Error(), "client: is nil: pass one of client.New") {
				t.Errorf("error = %v, want one that says that the client is nil", err)
			}
		})
	}
}
