// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client/access"
	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/client/middleware"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/kube"
)

// TestDiscoveryIsCheap checks that discovery takes at most three requests, and that a program that starts again with a
// cache gets only the response that nothing has changed.
func TestDiscoveryIsCheap(t *testing.T) {
	sent, statuses := &requests{}, &statusCodes{}
	c := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{sent.layer, statuses.middleware}})
	disc, err := kube.Discover(limit(t), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := sent.count(); n > 3 {
		t.Errorf("discovery took %d requests, want at most 3", n)
	}
	for name, want := range map[string]string{
		"po": "pods/v1", "Deployment": "deployments.apps/v1", "crd": "customresourcedefinitions.apiextensions.k8s.io/v1",
		"events.events.k8s.io": "events.events.k8s.io/v1",
	} {
		if res, err := disc.Resolve(name); err != nil || res.String()+"/"+res.Version != want {
			t.Errorf("Resolve(%q) = %s/%s, %v; want %s", name, res, res.Version, err, want)
		}
	}
	all, err := disc.ResolveCategory("all")
	if err != nil || !slices.ContainsFunc(all, func(r kube.Resource) bool { return r.String() == "deployments.apps" }) {
		t.Errorf("ResolveCategory(all) = %v, %v", all, err)
	}

	// The server removes the kinds that other tests have deleted from its documents with a delay.
	eventually(t, "nothing changes between two starts", func(ctx context.Context) error {
		dir := t.TempDir()
		for _, want := range []int{http.StatusOK, http.StatusNotModified} {
			statuses.set(nil)
			cache := discovery.NewCache(&discovery.CacheOptions{Dir: dir, OnError: func(err error) { t.Error(err) }})
			mapper := kube.NewMapper(c, &discovery.MapperOptions{Discover: &discovery.Options{Cache: cache}})
			if _, err := mapper.Resolve(ctx, "pods"); err != nil {
				return err
			}
			if diff := cmp.Diff([]int{want, want}, statuses.get()); diff != "" {
				return fmt.Errorf("status codes (-want +got):\n%s", diff)
			}
		}
		return nil
	})
}

// statusCodes records the status codes of responses.
type statusCodes struct{ guarded[[]int] }

func (s *statusCodes) middleware(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.value = append(s.value, resp.StatusCode)
		}
		return resp, err
	})
}

// onlyPlainJSON is a middleware that hides from the server that the client supports aggregated discovery.
func onlyPlainJSON(next http.RoundTripper) http.RoundTripper {
	return middleware.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
		return next.RoundTrip(r)
	})
}

// TestLegacyDiscoveryFindsTheSameKinds compares the results with and without aggregated discovery.
func TestLegacyDiscoveryFindsTheSameKinds(t *testing.T) {
	old := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{onlyPlainJSON}})
	eventually(t, "the results are equal", func(ctx context.Context) error { // other tests install kinds meanwhile
		got, err := kube.Discover(ctx, old, nil)
		if err != nil {
			return err
		}
		want, err := kube.Discover(ctx, connect(t, nil), nil)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(describe(want), describe(got)); diff != "" {
			return fmt.Errorf("(-aggregated +legacy):\n%s", diff)
		}
		return nil
	})
}

// describe returns the discovered resources by kind, with sorted lists.
func describe(d *kube.Discovery) map[string]any {
	all := map[string]any{}
	for _, res := range d.Resources() {
		all[res.GroupVersionKind().String()] = sorted(res)
		for _, sub := range d.Subresources(res) {
			all[res.GroupVersionKind().String()+"/"+sub.Name] = sub.Kind
		}
	}
	return all
}

// dynamicWidgets returns the CustomResourceDefinition of widgets in a group.
func dynamicWidgets(group string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "plural": "widgets", "singular": "widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{"spec": map[string]any{
						"type": "object", "description": "The desired state of the widget.",
						"properties": map[string]any{
							"teeth": map[string]any{"type": "integer", "description": "The number of teeth."},
						},
					}},
				}},
			}},
		},
	}}
}

// TestMapperFindsNewKinds checks that a mapper finds a kind that is installed while the program is running, that
// objects of this kind can be written without a Go type, and that the schema of the kind can be read.
func TestMapperFindsNewKinds(t *testing.T) {
	c := connect(t, nil)
	ns := newNamespace(t, c)
	group := ns + ".example.com"
	mapper := kube.NewMapper(c, &discovery.MapperOptions{MinInterval: 50 * time.Millisecond})
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "cog", "namespace": ns}, "spec": map[string]any{"teeth": int64(12)},
	}}
	if _, err := mapper.ForObject(limit(t), widget); err == nil {
		t.Fatal("the mapper finds a kind that is not installed")
	} else if _, ok := errors.AsType[*kube.UnknownResourceError](err); !ok {
		t.Fatal(err)
	}

	crds := kube.Dynamic(c, kube.CRDResource())
	crd := dynamicWidgets(group)
	if _, err := crds.Create(limit(t), crd, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := crds.Delete(context.WithoutCancel(t.Context()), crd.GetName(), nil); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the widget is written", func(ctx context.Context) error {
		widgets, err := mapper.Dynamic(ctx, widget)
		if err != nil {
			return err
		}
		_, err = widgets.Apply(ctx, widget, &kube.ApplyOptions{FieldManager: "e2e"})
		return err
	})
	var openAPI *discovery.OpenAPI
	teeth := func(ctx context.Context) (*discovery.Schema, error) {
		gvk := widget.GroupVersionKind()
		doc, err := openAPI.GroupVersion(ctx, gvk.GroupVersion())
		if err != nil {
			return nil, err
		}
		return doc.Field(gvk, "spec", "teeth")
	}
	eventually(t, "the schema is served", func(ctx context.Context) (err error) {
		if openAPI, err = discovery.FetchOpenAPI(ctx, c, nil); err != nil {
			return err
		}
		s, err := teeth(ctx)
		if err == nil && (s.Type != "integer" || s.Description != "The number of teeth.") {
			t.Fatalf("spec.teeth = %+v", s)
		}
		return err
	})
	_, err := crds.Modify(limit(t), crd.GetName(), func(crd *unstructured.Unstructured) error {
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(versions[0].(map[string]any), "How many teeth it has.",
			"schema", "openAPIV3Schema", "properties", "spec", "properties", "teeth", "description"); err != nil {
			return err
		}
		return unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The server redirects requests for the replaced document.
	eventually(t, "the changed schema is served", func(ctx context.Context) error {
		s, err := teeth(ctx)
		if err == nil && s.Description != "How many teeth it has." {
			err = fmt.Errorf("the description is %q", s.Description)
		}
		return err
	})
}

// TestDeadAPIServiceIsReportedWithoutLongDelay checks discovery while the server of one API does not exist.
func TestDeadAPIServiceIsReportedWithoutLongDelay(t *testing.T) {
	c := connect(t, nil)
	old := connect(t, &kube.ClientOptions{Middleware: []kube.Middleware{onlyPlainJSON}})
	group := fmt.Sprintf("dead-%d.example.com", time.Now().UnixNano())
	services := kube.Dynamic(c, kube.Resource{
		Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Plural: "apiservices",
	})
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1." + group},
		"spec": map[string]any{
			"group": group, "version": "v1", "groupPriorityMinimum": int64(10), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "nobody"},
		},
	}}
	if _, err := services.Create(limit(t), service, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := services.Delete(context.WithoutCancel(t.Context()), service.GetName(), nil); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]*kube.Client{"aggregated": c, "legacy": old} {
		eventually(t, name+" discovery reports the dead group", func(ctx context.Context) error {
			began := time.Now()
			disc, err := kube.Discover(ctx, c, nil)
			if err != nil {
				return err
			}
			// The dead group takes two seconds. A busy machine may need more time in one attempt, but not in all.
			if took := time.Since(began); took > 4*time.Second {
				return fmt.Errorf("%s discovery took %v, want at most 4s", name, took)
			}
			if _, err := disc.Resolve("deployments.apps"); err != nil { // a busy machine may need two seconds for it, too
				return err
			}
			for _, failed := range disc.Failed() {
				if failed.GroupVersion.Group == group {
					t.Logf("%s discovery in %v: %v", name, time.Since(began), failed)
					_, err := disc.Resolve("things." + group)
					if !strings.Contains(fmt.Sprint(err), failed.GroupVersion.String()+" could not be discovered") {
						t.Errorf("error = %v, want it to name the dead group", err)
					}
					return nil
				}
			}
			return fmt.Errorf("failed groups = %v, want %s", disc.Failed(), group)
		})
	}
}

// TestAccessReportsIdentityAndPermissions checks WhoAmI and Can for an administrator and for a user with few
// permissions.
func TestAccessReportsIdentityAndPermissions(t *testing.T) {
	admin := connect(t, nil)
	cfg := loadConfig(t, "")
	cfg.Impersonate.User = "mallory"
	cfg.Impersonate.Groups = []string{"readers", "system:authenticated"}
	mallory := connect(t, &kube.ClientOptions{Config: cfg})

	me, err := access.WhoAmI(limit(t), mallory)
	if err != nil || me.Username != "mallory" || !slices.Contains(me.Groups, "readers") {
		t.Errorf("WhoAmI = %+v, %v", me, err)
	}
	ns := newNamespace(t, admin)
	grant(t, admin, ns, "mallory", "configmaps")
	maps := core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}
	for _, tc := range []struct {
		name string
		c    *kube.Client
		in   access.Action
		want bool
	}{
		{
			"everything is allowed for the administrator",
			admin,
			access.Action{Verb: "*", Resource: core.Resource{Group: "*", Plural: "*"}},
			true,
		},
		{
			"a granted verb is allowed",
			mallory,
			access.Action{Verb: "get", Resource: maps, Namespace: ns, Name: "x"},
			true,
		},
		{"another verb is denied", mallory, access.Action{Verb: "delete", Resource: maps, Namespace: ns}, false},
		{"another namespace is denied", mallory, access.Action{Verb: "get", Resource: maps, Namespace: "default"}, false},
		{
			"a subresource is denied",
			mallory,
			access.Action{Verb: "get", Resource: maps, Subresource: "status", Namespace: ns},
			false,
		},
		{"a public path is allowed", mallory, access.Action{Verb: "get", Path: "/version"}, true},
		{"another path is denied", mallory, access.Action{Verb: "get", Path: "/metrics"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// The authorizer observes a new grant with a delay.
			eventually(t, "the decision", func(ctx context.Context) error {
				got, err := access.Can(ctx, tc.c, tc.in)
				if err == nil && got.Allowed != tc.want {
					err = fmt.Errorf("Can(%+v) = %+v, want allowed = %t", tc.in, got, tc.want)
				}
				return err
			})
		})
	}
}

// TestServerReportsVersionAndHealth checks the version and the health reports of a server.
func TestServerReportsVersionAndHealth(t *testing.T) {
	c := connect(t, nil)
	v, err := discovery.Version(limit(t), c)
	if err != nil || v.Major != "1" || !strings.HasPrefix(v.GitVersion, "v1.") || v.Platform == "" {
		t.Errorf("Version = %+v, %v", v, err)
	}
	for _, probe := range []discovery.Probe{discovery.Ready, discovery.Live} {
		var report *discovery.HealthReport
		eventually(t, string(probe), func(ctx context.Context) (err error) { // a busy server fails its checks
			report, err = discovery.Health(ctx, c, probe, &discovery.HealthOptions{Exclude: []string{"ping"}})
			if err == nil && !report.Healthy {
				err = fmt.Errorf("it is not healthy: %+v", report)
			}
			return err
		})
		i := slices.IndexFunc(report.Checks, func(check discovery.HealthCheck) bool { return check.Name == "ping" })
		if i < 0 || report.Checks[i].Detail != "excluded: ok" || len(report.Checks) < 5 {
			t.Errorf("%s: %+v", probe, report.Checks)
		}
	}
}

// TestOpenAPIDescribesAllDiscoveredKinds checks that every OpenAPI document of the server can be read, and that the
// documents contain all discovered kinds.
func TestOpenAPIDescribesAllDiscoveredKinds(t *testing.T) {
	c := connect(t, nil)
	openAPI, err := discovery.FetchOpenAPI(limit(t), c, &discovery.Options{Cache: discovery.NewCache(nil)})
	if err != nil {
		t.Fatal(err)
	}
	disc, err := kube.Discover(limit(t), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	documents := openAPI.Documents()
	seen := 0
	for _, res := range disc.Preferred() {
		name := "apis/" + res.APIVersion()
		if res.Group == "" {
			name = "api/" + res.Version
		}
		if !slices.Contains(documents, name) || strings.HasSuffix(res.Group, ".example.com") {
			continue // other tests install and delete these kinds
		}
		doc, err := openAPI.Document(limit(t), name)
		if err != nil {
			t.Errorf("%s: %v", res, err)
			continue
		}
		s, err := doc.Schema(res.GroupVersionKind())
		if err != nil {
			t.Errorf("%s: %v", res, err)
			continue
		}
		if seen++; s.Properties["metadata"] == nil && res.Kind != "Status" {
			t.Errorf("%s: the schema has no metadata", res)
		}
	}
	if seen < 50 {
		t.Errorf("%d schemas, want more than 50", seen)
	}
}
