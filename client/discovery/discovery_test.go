// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
)

// answer is what a server says to one path.
type answer struct {
	code        int
	contentType string
	body        string
}

// The documents in testdata were recorded on Kubernetes 1.36, with a custom resource, and an API service whose server is
// not there; those that end in _old are what a server without aggregated discovery answers.
func recorded(t testing.TB, file string) answer {
	t.Helper()
	body, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return answer{200, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", string(body)}
}

// clientOf returns a client of a server that gives these answers, and where it notes what it was asked.
func clientOf(t testing.TB, answers map[string]answer) (c *client.Client, asked *[]*http.Request) {
	t.Helper()
	asked = new([]*http.Request)
	transport := middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		*asked = append(*asked, r)
		a := answers[r.URL.Path]
		return &http.Response{
			StatusCode: a.code, Header: http.Header{"Content-Type": {a.contentType}},
			Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
		}, nil
	})
	c, err := client.New(context.Background(), &client.Options{Config: &config.Config{Server: "https://cluster.test"}, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c, asked
}

// discover returns what was recorded.
func discover(t testing.TB) *discovery.Discovery {
	t.Helper()
	c, _ := clientOf(t, map[string]answer{"/api": recorded(t, "api.json"), "/apis": recorded(t, "apis.json")})
	d, err := discovery.Discover(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiscover(t *testing.T) {
	c, asked := clientOf(t, map[string]answer{"/api": recorded(t, "api.json"), "/apis": recorded(t, "apis.json")})
	d, err := discovery.Discover(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(*asked) != 2 {
		t.Errorf("%d requests, want 2", len(*asked))
	}
	for _, r := range *asked {
		if accept := r.Header.Get("Accept"); !strings.HasPrefix(accept, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,") {
			t.Errorf("Accept = %s, want the aggregated form first", accept)
		}
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
	if diff := cmp.Diff([]string{"metrics.example.com/v1beta1"}, d.Stale()); diff != "" {
		t.Errorf("Stale (-want +got):\n%s", diff)
	}
	resources[0].Kind = "Changed"
	d.Stale()[0] = "changed"
	if d.Resources()[0].Kind == "Changed" || d.Stale()[0] == "changed" {
		t.Error("what was returned is not the caller's own")
	}
}

// TestDiscoverOddities looks at what a document may leave out.
func TestDiscoverOddities(t *testing.T) {
	list := func(resources string) answer {
		return answer{200, "application/json", `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"g.test"},` +
			`"versions":[{"version":"v1","resources":[` + resources + `]}]}]}`}
	}
	c, _ := clientOf(t, map[string]answer{
		"/api": {200, "application/json", `{"kind":"APIGroupDiscoveryList","items":[]}`},
		"/apis": list(`{"resource":"parts","scope":"Cluster"},{"resource":"halves","responseKind":null},{"resource":"voids","responseKind":{"kind":""}},` +
			`{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Cluster"}`),
	})
	d, err := discovery.Discover(t.Context(), c, nil)
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
	for _, name := range []string{"", ".", "x", ".g.test", "parts"} { // none is the empty singular of things
		if got, err := d.Resolve(name); err == nil {
			t.Errorf("Resolve(%q) = %v, want an error", name, got)
		}
	}
}

func TestDiscoverErrors(t *testing.T) {
	old := recorded(t, "apis_old.json")
	for _, tc := range []struct {
		name string
		in   map[string]answer
		want string
		is   error
	}{
		{
			"a server without aggregated discovery",
			map[string]answer{"/api": recorded(t, "api_old.json"), "/apis": old},
			`discover /api: the server answers with a "APIVersions", not with aggregated discovery; it needs Kubernetes 1.27 or newer`, nil,
		},
		{
			"a server with half of it",
			map[string]answer{"/api": recorded(t, "api.json"), "/apis": old},
			`discover /apis: the server answers with a "APIGroupList", not with aggregated discovery; it needs Kubernetes 1.27 or newer`, nil,
		},
		{"a server that says no", map[string]answer{"/api": {403, "text/plain", "no"}}, "discover /api: forbidden: server said: no", core.ErrForbidden},
		{
			"the page of a login",
			map[string]answer{"/api": {200, "text/html", "<html>"}},
			`discover /api: content type "text/html": want application/json or application/vnd.kubernetes.protobuf; is this the address of a Kubernetes API server?`, nil,
		},
		{"half a document", map[string]answer{"/api": {200, "application/json", `{"kind":`}}, "discover /api: ", io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := clientOf(t, tc.in)
			d, err := discovery.Discover(t.Context(), c, nil)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || d != nil {
				t.Errorf("Discover = %v, %v; want %s", d, err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("error = %v, want one that matches %v", err, tc.is)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	d := discover(t)
	for _, tc := range []struct {
		name, in, want string // want is plural.group/version
	}{
		{"a plural", "pods", "pods/v1"},
		{"a singular", "pod", "pods/v1"},
		{"a short name", "po", "pods/v1"},
		{"a kind", "Pod", "pods/v1"},
		{"a kind in another case", "daemonSET", "daemonsets.apps/v1"},
		{"a plural in another case", "PODS", "pods/v1"},
		{"a custom resource", "wd", "widgets.example.com/v1"},
		{"a plural with its group", "deployments.apps", "deployments.apps/v1"},
		{"a short name with its group", "deploy.apps", "deployments.apps/v1"},
		{"a kind with its group", "Deployment.apps", "deployments.apps/v1"},
		{"a kind with version and group", "Deployment.v1.apps", "deployments.apps/v1"},
		{"a plural of the core group with its version", "pods.v1", "pods/v1"},
		{"a plural of the core group with its version, as kubectl writes it", "pods.v1.", "pods/v1"},
		{"what two groups have, the preferred first", "events", "events/v1"},
		{"what two groups have, of the second", "events.events.k8s.io", "events.events.k8s.io/v1"},
		{"what two versions have, the preferred first", "hpa", "horizontalpodautoscalers.autoscaling/v2"},
		{"what two versions have, of the second", "hpa.v1.autoscaling", "horizontalpodautoscalers.autoscaling/v1"},
		{"a plural that is its own singular", "endpoints", "endpoints/v1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := d.Resolve(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got.String()+"/"+got.Version != tc.want {
				t.Errorf("Resolve(%q) = %s/%s, want %s", tc.in, got, got.Version, tc.want)
			}
		})
	}
}

func TestResolveUnknown(t *testing.T) {
	d := discover(t)
	const stale = `", as far as it knows: metrics.example.com/v1beta1 did not answer it; `
	for _, tc := range []struct {
		name, in, want string
	}{
		{"a slip of the pen", "deploymets", "did you mean deployments.apps?"},
		{"a slip in a kind", "DeamonSet", "did you mean daemonsets.apps?"},
		{"a slip in a custom resource", "gadgets", "did you mean widgets.example.com?"},
		{"the wrong group", "deployments.extensions", "did you mean deployments.apps?"},
		{"the wrong version", "deployments.v2.apps", "did you mean deployments.apps?"},
		{"a slip in what two groups have", "evnts", "did you mean events or events.events.k8s.io?"},
		{"nothing that comes near", "unicorns", "a resource that a CustomResourceDefinition defines must be installed first"},
		{"nothing", "", "a resource that a CustomResourceDefinition defines must be installed first"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := d.Resolve(tc.in)
			unknown, ok := errors.AsType[*discovery.UnknownResourceError](err)
			if !ok || unknown.Name != tc.in || len(unknown.Nearby) > 3 {
				t.Fatalf("error = %#v, want an UnknownResourceError about %q", err, tc.in)
			}
			if want := `the server has no resource "` + tc.in + stale + tc.want; err.Error() != want {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
	fresh := &discovery.UnknownResourceError{Name: "x"}
	if got := fresh.Error(); got != `the server has no resource "x"; a resource that a CustomResourceDefinition defines must be installed first` {
		t.Errorf("Error() = %s", got)
	}
}

// FuzzResolve holds Resolve to this: what it finds has the name that was asked for, and never is it found by nothing.
func FuzzResolve(f *testing.F) {
	d := discover(f)
	for _, seed := range []string{"pods", "Deployment.v1.apps", "hpa.v1.autoscaling", "", ".", "..", "pods.v1.", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		res, err := d.Resolve(name)
		if err != nil {
			if _, ok := errors.AsType[*discovery.UnknownResourceError](err); !ok {
				t.Errorf("Resolve(%q): %v, want an UnknownResourceError", name, err)
			}
			return
		}
		first, rest, _ := strings.Cut(strings.ToLower(name), ".")
		names := append([]string{res.Plural, res.Singular, strings.ToLower(res.Kind)}, res.ShortNames...)
		if first == "" || !strings.Contains(" "+strings.Join(names, " ")+" ", " "+first+" ") {
			t.Errorf("Resolve(%q) = %s, which has no such name", name, res)
		}
		group := res.Group
		if rest != "" && rest != group && rest != res.Version+"."+group && (group != "" || rest != res.Version) {
			t.Errorf("Resolve(%q) = %s in version %s, which is not in %q", name, res, res.Version, rest)
		}
	})
}
