// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// way is one of the ways to declare ConfigMaps in Go.
type way[K any] struct {
	api    func(c *client.Client, namespace string) *client.API[K]
	build  func(name, color string) *K
	color  func(*K) string
	answer string // the content type of the responses
	sends  string // the content type of the requests
}

func builtinWay(answer string) way[corev1.ConfigMap] {
	return way[corev1.ConfigMap]{
		api: func(c *client.Client, namespace string) *client.API[corev1.ConfigMap] {
			return client.Of[corev1.ConfigMap](c, configMaps).In(namespace) // without known subresources
		},
		build: func(name, color string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"color": color}}
		},
		color:  func(cm *corev1.ConfigMap) string { return cm.Data["color"] },
		answer: answer,
		sends:  protobufType,
	}
}

func leanWay() way[leanConfigMap] {
	return way[leanConfigMap]{
		api: client.Namespaced[leanConfigMap],
		build: func(name, color string) *leanConfigMap {
			return &leanConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"color": color}}
		},
		color:  func(cm *leanConfigMap) string { return cm.Data["color"] },
		answer: jsonType,
		sends:  jsonType,
	}
}

func dynamicWay() way[unstructured.Unstructured] {
	return way[unstructured.Unstructured]{
		api: func(c *client.Client, namespace string) *client.API[unstructured.Unstructured] {
			return client.Dynamic(c, configMaps).In(namespace)
		},
		build: unstructuredConfigMap,
		color: func(u *unstructured.Unstructured) string {
			color, _, _ := unstructured.NestedString(u.Object, "data", "color")
			return color
		},
		answer: jsonType,
		sends:  jsonType,
	}
}

// TestVerbsSendTheirRequests checks every verb that returns an object, in every way to declare a kind and in both
// encodings.
func TestVerbsSendTheirRequests(t *testing.T) {
	t.Run("a kind of k8s.io/api in protobuf", func(t *testing.T) { testVerbs(t, builtinWay(protobufType)) })
	t.Run("a kind of k8s.io/api in JSON", func(t *testing.T) { testVerbs(t, builtinWay(jsonType)) })
	t.Run("a lean struct", func(t *testing.T) { testVerbs(t, leanWay()) })
	t.Run("unstructured", func(t *testing.T) { testVerbs(t, dynamicWay()) })
}

type verbCase[K any] struct {
	name   string
	do     func(ctx context.Context, api *client.API[K], obj *K) (*K, error)
	method string
	uri    string
	sends  string // the content type of the body; empty: no body
}

func verbCases[K any](objectType string) []verbCase[K] {
	const collection, object = "/api/v1/namespaces/prod/configmaps", "/api/v1/namespaces/prod/configmaps/web"
	patch := request.MergePatch(map[string]any{"data": map[string]any{"color": "blue"}})
	return []verbCase[K]{
		{"get", func(ctx context.Context, api *client.API[K], _ *K) (*K, error) {
			return api.Get(ctx, "web", nil)
		}, "GET", object, ""},
		{"get of any version", func(ctx context.Context, api *client.API[K], _ *K) (*K, error) {
			return api.Get(ctx, "web", &request.GetOptions{ResourceVersion: "0"})
		}, "GET", object + "?resourceVersion=0", ""},
		{"create", func(ctx context.Context, api *client.API[K], obj *K) (*K, error) {
			return api.Create(ctx, obj, &request.CreateOptions{FieldManager: "me"})
		}, "POST", collection + "?fieldManager=me", objectType},
		{"update", func(ctx context.Context, api *client.API[K], obj *K) (*K, error) {
			return api.Update(ctx, obj, &request.UpdateOptions{DryRun: true})
		}, "PUT", object + "?dryRun=All", objectType},
		{"patch", func(ctx context.Context, api *client.API[K], _ *K) (*K, error) {
			return api.Patch(ctx, "web", patch, nil)
		}, "PATCH", object, "application/merge-patch+json"},
		{"apply", func(ctx context.Context, api *client.API[K], obj *K) (*K, error) {
			return api.Apply(ctx, obj, &request.ApplyOptions{FieldManager: "me", Force: true})
		}, "PATCH", object + "?fieldManager=me&force=true", "application/apply-patch+yaml"},
		{"get the status", func(ctx context.Context, api *client.API[K], _ *K) (*K, error) {
			return api.Status().Get(ctx, "web", nil)
		}, "GET", object + "/status", ""},
		{"update the status", func(ctx context.Context, api *client.API[K], obj *K) (*K, error) {
			return api.Status().Update(ctx, obj, nil)
		}, "PUT", object + "/status", objectType},
		{"patch the status", func(ctx context.Context, api *client.API[K], _ *K) (*K, error) {
			return api.Status().Patch(ctx, "web", patch, nil)
		}, "PATCH", object + "/status", "application/merge-patch+json"},
		{"apply the status", func(ctx context.Context, api *client.API[K], obj *K) (*K, error) {
			return api.Status().Apply(ctx, obj, &request.ApplyOptions{FieldManager: "me"})
		}, "PATCH", object + "/status?fieldManager=me", "application/apply-patch+yaml"},
	}
}

func testVerbs[K any](t *testing.T, w way[K]) {
	for _, tc := range verbCases[K](w.sends) {
		t.Run(tc.name, func(t *testing.T) {
			s := testserver.New(t, func(rw http.ResponseWriter, r *http.Request) {
				if w.answer == protobufType {
					testserver.Reply(rw, 200, protobufType, envelope(t, "ConfigMap", stored("web", "green")))
					return
				}
				testserver.Reply(rw, 200, jsonType, configMapJSON(t, "web", "green"))
			})
			obj := w.build("web", "blue")
			got, err := tc.do(t.Context(), w.api(s.Client(t), "prod"), obj)
			if err != nil {
				t.Fatal(err)
			}
			checkObject(t, w, got, "web", "green")
			if diff := cmp.Diff(w.build("web", "blue"), obj); diff != "" {
				t.Errorf("the caller's object was changed (-before +after):\n%s", diff)
			}
			asks := s.Asked()
			if len(asks) != 1 {
				t.Fatalf("%d requests, want 1", len(asks))
			}
			checkAsk(t, asks[0], tc.method, tc.uri, tc.sends)
			wantAccept := jsonType
			if w.sends == protobufType {
				wantAccept = protobufType + "," + jsonType
			}
			if accept := asks[0].Header.Get("Accept"); accept != wantAccept {
				t.Errorf("Accept = %q, want %q", accept, wantAccept)
			}
		})
	}
}

// checkObject compares an object with that of the server, and checks that it has its kind.
func checkObject[K any](t *testing.T, w way[K], obj *K, name, color string) {
	t.Helper()
	o := any(obj).(core.Object)
	if kind := o.GetObjectKind().GroupVersionKind(); kind != configMaps.GroupVersionKind() {
		t.Errorf("kind = %v, want %v", kind, configMaps.GroupVersionKind())
	}
	if ref := core.RefOf(o).String(); ref != "prod/"+name || w.color(obj) != color || o.GetResourceVersion() != "7" {
		t.Errorf("object = %s of color %q at version %s, want prod/%s of color %q at version 7",
			ref, w.color(obj), o.GetResourceVersion(), name, color)
	}
}

// checkAsk compares a request, whose body has the color blue.
func checkAsk(t *testing.T, got testserver.Request, method, uri, contentType string) {
	t.Helper()
	if got.Method != method || got.URI != uri {
		t.Errorf("request = %s %s, want %s %s", got.Method, got.URI, method, uri)
	}
	if ct := got.Header.Get("Content-Type"); ct != contentType {
		t.Errorf("Content-Type = %q, want %q", ct, contentType)
	}
	var sent any
	switch contentType {
	case "":
		if got.Body != "" {
			t.Errorf("body = %q, want no body", got.Body)
		}
		return
	case protobufType:
		cm := new(corev1.ConfigMap)
		if err := wire.Unmarshal([]byte(got.Body), contentType, cm); err != nil {
			t.Fatal(err)
		}
		got.Body = string(testserver.JSON(t, cm))
	}
	if err := json.Unmarshal([]byte(got.Body), &sent); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"data": map[string]any{"color": "blue"}}
	if !strings.Contains(contentType, "merge-patch") {
		want["apiVersion"], want["kind"] = "v1", "ConfigMap"
		want["metadata"] = map[string]any{"name": "web"}
	}
	if diff := cmp.Diff(any(want), sent); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestDeletesSendTheirOptions checks the requests of the two verbs without a result.
func TestDeletesSendTheirOptions(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
	})
	maps := client.Namespaced[corev1.ConfigMap](s.Client(t), "prod")
	if err := maps.Delete(t.Context(), "web", &request.DeleteOptions{GracePeriod: new(2 * time.Second), UID: "u-1"}); err != nil {
		t.Fatal(err)
	}
	if err := maps.DeleteCollection(t.Context(), nil, &request.ListOptions{LabelSelector: "app=web"}); err != nil {
		t.Fatal(err)
	}
	asks := s.Asked()
	if len(asks) != 2 {
		t.Fatalf("%d requests, want 2", len(asks))
	}
	if got, want := asks[0].Method+" "+asks[0].URI, "DELETE /api/v1/namespaces/prod/configmaps/web"; got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
	const body = `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":2,"preconditions":{"uid":"u-1"}}`
	if asks[0].Body != body {
		t.Errorf("body = %s, want %s", asks[0].Body, body)
	}
	if got, want := asks[1].Method+" "+asks[1].URI, "DELETE /api/v1/namespaces/prod/configmaps?labelSelector=app%3Dweb"; got != want {
		t.Errorf("request = %s, want %s", got, want)
	}
}

// TestServerMayChooseTheName checks a create with generateName.
func TestServerMayChooseTheName(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		testserver.Reply(w, 201, jsonType, configMapJSON(t, "web-x7", "blue"))
	})
	got, err := client.Namespaced[leanConfigMap](s.Client(t), "prod").Create(t.Context(),
		&leanConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "web-x7" {
		t.Errorf("name = %q, want the one that the server chose", got.Name)
	}
	if body := s.Asked()[0].Body; !strings.Contains(body, `"generateName":"web-"`) {
		t.Errorf("body = %s, want generateName in it", body)
	}
}

// TestRequestsGoToTheGivenNamespace checks the namespace of requests, and errors for missing namespaces.
func TestRequestsGoToTheGivenNamespace(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/nodes/") {
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}`))
			return
		}
		testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "blue"))
	})
	c := s.Client(t)
	everywhere := client.ClusterWide[leanConfigMap](c)
	in := func(ns string) *leanConfigMap {
		return &leanConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: ns}}
	}
	for _, tc := range []struct {
		name    string
		do      func(context.Context) error
		want    string // URI
		wantErr string
	}{
		{"cluster-wide, the namespace of the object", func(ctx context.Context) error {
			_, err := everywhere.Update(ctx, in("blue"), nil)
			return err
		}, "/api/v1/namespaces/blue/configmaps/web", ""},
		{"cluster-wide create, the namespace of the object", func(ctx context.Context) error {
			_, err := everywhere.Create(ctx, in("blue"), nil)
			return err
		}, "/api/v1/namespaces/blue/configmaps", ""},
		{"cluster-wide status, the namespace of the object", func(ctx context.Context) error {
			_, err := everywhere.Status().Update(ctx, in("blue"), nil)
			return err
		}, "/api/v1/namespaces/blue/configmaps/web/status", ""},
		{"cluster-wide, an object without a namespace", func(ctx context.Context) error {
			_, err := everywhere.Update(ctx, in(""), nil)
			return err
		}, "", "update configmaps web: request not sent: namespace: is empty, but configmaps live in namespaces; name one"},
		{"cluster-wide, only a name", func(ctx context.Context) error {
			_, err := everywhere.Get(ctx, "web", nil)
			return err
		}, "", "get configmaps web: request not sent: namespace: is empty, but configmaps live in namespaces; name one"},
		{"narrowed to a namespace", func(ctx context.Context) error {
			_, err := everywhere.In("red").Get(ctx, "web", nil)
			return err
		}, "/api/v1/namespaces/red/configmaps/web", ""},
		{"in one namespace, an object of another", func(ctx context.Context) error {
			_, err := everywhere.In("red").Update(ctx, in("blue"), nil)
			return err
		}, "", `update configmaps red/web: request not sent: metadata.namespace: is "blue", but the request goes to namespace "red"`},
		{"the empty namespace", func(ctx context.Context) error {
			_, err := client.Namespaced[leanConfigMap](c, "").Get(ctx, "web", nil)
			return err
		}, "", "get configmaps web: request not sent: namespace: is empty; name one, or use ClusterWide"},
		{"narrowed to the empty namespace, an object with one", func(ctx context.Context) error {
			_, err := everywhere.In("").Update(ctx, in("blue"), nil)
			return err
		}, "", "update configmaps web: request not sent: namespace: is empty; name one, or use ClusterWide"},
		{"a list of the empty namespace", func(ctx context.Context) error {
			_, err := client.Namespaced[leanConfigMap](c, "").List(ctx, nil)
			return err
		}, "", "list configmaps: request not sent: namespace: is empty; name one, or use ClusterWide"},
		{"deletion in all namespaces at once", func(ctx context.Context) error {
			return everywhere.DeleteCollection(ctx, nil, nil)
		}, "", "deletecollection configmaps: request not sent: namespace: is empty, but configmaps live in namespaces; name one"},
		{"a cluster-scoped kind", func(ctx context.Context) error {
			_, err := client.ClusterWide[corev1.Node](c).Get(ctx, "n1", nil)
			return err
		}, "/api/v1/nodes/n1", ""},
		{"a cluster-scoped kind in a namespace", func(ctx context.Context) error {
			_, err := client.Namespaced[corev1.Node](c, "prod").Get(ctx, "n1", nil)
			return err
		}, "", `get nodes prod/n1: request not sent: namespace: "prod" was given, but nodes are cluster-scoped; leave it empty`},
		{"an explicit resource", func(ctx context.Context) error {
			_, err := client.Dynamic(c, nodes).Get(ctx, "n1", nil)
			return err
		}, "/api/v1/nodes/n1", ""},
		{"an explicit resource without a kind", func(ctx context.Context) error {
			_, err := client.Dynamic(c, core.Resource{Version: "v1", Plural: "nodes"}).Get(ctx, "n1", nil)
			return err
		}, "", "get nodes n1: resource: Kind is empty"},
		{"an unknown type", func(ctx context.Context) error {
			_, err := client.Namespaced[unstructured.Unstructured](c, "prod").Get(ctx, "web", nil)
			return err
		}, "", "get objects prod/web: unstructured.Unstructured: "},
		{"a name with an escaped character", func(ctx context.Context) error {
			_, err := client.Dynamic(c, nodes).Get(ctx, "system:a b?c#d", nil)
			return err
		}, "/api/v1/nodes/system:a%20b%3Fc%23d", ""},
		{"a name that would change the path", func(ctx context.Context) error {
			return client.Namespaced[leanConfigMap](c, "prod").Delete(ctx, "../secrets", nil)
		}, "", `delete configmaps prod/../secrets: request not sent: name: "../secrets" can't be a path segment`},
		{"no name", func(ctx context.Context) error {
			return client.Namespaced[leanConfigMap](c, "prod").Delete(ctx, "", nil)
		}, "", "delete configmaps in prod: request not sent: name: is empty; name the object"},
		{"no object", func(ctx context.Context) error {
			_, err := client.Namespaced[leanConfigMap](c, "prod").Create(ctx, nil, nil)
			return err
		}, "", "create configmaps in prod: request not sent: object: is nil"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := len(s.Asked())
			err := tc.do(t.Context())
			asks := s.Asked()[before:]
			if tc.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.wantErr) {
					t.Errorf("error = %v, want %s", err, tc.wantErr)
				}
				if len(asks) > 0 {
					t.Errorf("a request was sent: %s %s", asks[0].Method, asks[0].URI)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(asks) != 1 || asks[0].URI != tc.want {
				t.Errorf("requests = %+v, want one to %s", asks, tc.want)
			}
		})
	}
}

// TestAPIReturnsItsScope checks the methods that describe an API.
func TestAPIReturnsItsScope(t *testing.T) {
	c := testserver.NewClient(t, &client.Options{Config: newConfig("https://cluster.test/")})
	api := client.ClusterWide[corev1.ConfigMap](c).In("prod")
	if api.Namespace() != "prod" || api.Resource().Plural != "configmaps" || api.Feed().Resource().Kind != "ConfigMap" {
		t.Errorf("API of %s in %q, feed of %s; want configmaps in prod", api.Resource(), api.Namespace(), api.Feed().Resource().Kind)
	}
	if c.Server() != "https://cluster.test" || c.Namespace() != "mine" {
		t.Errorf("client of %s, namespace %q", c.Server(), c.Namespace())
	}
}
