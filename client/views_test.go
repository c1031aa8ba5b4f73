// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestMetadataRequestsOnlyMetadata checks that only metadata is requested, and that the objects have their kind.
func TestMetadataRequestsOnlyMetadata(t *testing.T) {
	const partial = `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"prod","resourceVersion":"7"}`
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("watch"):
			testserver.Reply(w, 200, jsonType, []byte(`{"type":"ADDED","object":{`+partial+`}}`))
		case strings.HasSuffix(r.URL.Path, "configmaps"):
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{`+partial+`}]}`))
		case strings.HasSuffix(r.URL.Path, "whole"):
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "whole", "green"))
		default:
			testserver.Reply(w, 200, jsonType, []byte(`{`+partial+`}`))
		}
	})
	all := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	t.Run("of the API of a kind", func(t *testing.T) { testMetadata(t, s, all.Metadata()) })
	t.Run("of an explicit resource", func(t *testing.T) {
		testMetadata(t, s, client.Of[metav1.PartialObjectMetadata](s.Client(t), all.Resource()).In("prod"))
	})
	t.Run("of a type that embeds it", func(t *testing.T) {
		obj, err := client.Namespaced[configMapMetadata](s.Client(t), "prod").Get(t.Context(), "web", nil)
		if err != nil || obj.Name != "web" || obj.Kind != "ConfigMap" {
			t.Errorf("Get() = %+v, %v; want web of kind ConfigMap", obj, err)
		}
		wantMetadata(t, s.Asked()[len(s.Asked())-1], "PartialObjectMetadata")
	})
	t.Run("of a feed", func(t *testing.T) {
		events, err := all.Feed().Metadata().Watch(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range events {
			if err != nil {
				t.Error(err)
			}
		}
		wantMetadata(t, s.Asked()[len(s.Asked())-1], "PartialObjectMetadata")
	})
	t.Run("not of a subresource with another kind", func(t *testing.T) {
		_, _ = all.Metadata().Scale().Get(t.Context(), "web", nil)
		if ask := s.Asked()[len(s.Asked())-1]; strings.Contains(ask.Header.Get("Accept"), "as=") {
			t.Errorf("a Scale was requested as %s", ask.Header.Get("Accept"))
		}
	})
}

// configMapMetadata is a metadata type with a known kind.
type configMapMetadata struct{ metav1.PartialObjectMetadata }

func (*configMapMetadata) KubeResource() core.Resource { return (*leanConfigMap)(nil).KubeResource() }

// wantMetadata checks that a request accepts only metadata.
func wantMetadata(t *testing.T, ask testserver.Request, as string) {
	t.Helper()
	for mediaType := range strings.SplitSeq(ask.Header.Get("Accept"), ",") {
		if !strings.Contains(mediaType, ";as="+as+";v=v1;g=meta.k8s.io") {
			t.Errorf("Accept has %q, want only %s", mediaType, as)
		}
	}
}

func testMetadata(t *testing.T, s *testserver.Server, meta *client.API[metav1.PartialObjectMetadata]) {
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		read func() (*metav1.PartialObjectMetadata, error)
		as   string
	}{
		{"get", func() (*metav1.PartialObjectMetadata, error) { return meta.Get(ctx, "web", nil) }, "PartialObjectMetadata"},
		{"patch", func() (*metav1.PartialObjectMetadata, error) {
			return meta.Patch(ctx, "web", request.MergePatch([]byte(`{}`)), nil)
		}, "PartialObjectMetadata"},
		{"apply", func() (*metav1.PartialObjectMetadata, error) {
			obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			return meta.Apply(ctx, obj, &request.ApplyOptions{FieldManager: "me"})
		}, "PartialObjectMetadata"},
		{"list", func() (*metav1.PartialObjectMetadata, error) {
			list, err := meta.List(ctx, nil)
			if err != nil {
				return nil, err
			}
			return list.Items[0], nil
		}, "PartialObjectMetadataList"},
		{"watch", func() (obj *metav1.PartialObjectMetadata, err error) {
			for ev, err := range meta.WatchOnce(ctx, nil) {
				if err != nil {
					return nil, err
				}
				obj = ev.Object
			}
			return obj, nil
		}, "PartialObjectMetadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Asked())
			obj, err := tt.read()
			if err != nil {
				t.Fatal(err)
			}
			if obj.Name != "web" || obj.Kind != "ConfigMap" || obj.APIVersion != "v1" {
				t.Errorf("object = %+v, want web of kind ConfigMap", obj)
			}
			ask := s.Asked()[before]
			wantMetadata(t, ask, tt.as)
			if tt.name == "apply" && !strings.Contains(ask.Body, `"kind":"ConfigMap"`) {
				t.Errorf("applied as %s", ask.Body)
			}
		})
	}
	_, err := meta.Get(ctx, "whole", nil)
	const whole = `get configmaps prod/whole: the server sent "ConfigMap" of "v1" instead of PartialObjectMetadata of meta.k8s.io/v1`
	if text(err) != whole {
		t.Errorf("error = %v, want %s", err, whole)
	}
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	for verb, write := range map[string]func() error{
		"create": func() error { _, err := meta.Create(ctx, obj, nil); return err },
		"update": func() error { _, err := meta.Update(ctx, obj, nil); return err },
	} {
		want := verb + " configmaps prod/web: request not sent: object: would be stored without all but its metadata; use Patch or Apply"
		if err := write(); text(err) != want {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

// TestRowsAreDecoded checks lists, single rows and watches of tables, and responses that are not tables.
func TestRowsAreDecoded(t *testing.T) {
	const (
		columns = `[{"name":"Name","type":"string","format":"name","description":"its name","priority":0}]`
		list    = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7","continue":"p2"},"columnDefinitions":`
		row     = `{"cells":["web",2,1.5,null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` +
			`"metadata":{"name":"web","namespace":"prod","resourceVersion":"6"}}}`
		watched  = `{"type":"ADDED","object":` + list + columns + `,"rows":[` + row + `]}}`
		later    = `{"type":"MODIFIED","object":` + list + `null,"rows":[` + row + `]}}`
		bookmark = `{"type":"BOOKMARK","object":` + list + `null,"rows":[{"cells":["",0],"object":{"metadata":{"resourceVersion":"9"}}}]}}`
	)
	answers := map[string]string{
		"prod":    list + columns + `,"rows":[` + row + `]}`,
		"empty":   list + columns + `,"rows":null}`,
		"many":    list + columns + `,"rows":[` + row + `,` + row + `]}`,
		"list":    `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`,
		"object":  `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web"}}`,
		"broken":  `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":7}`,
		"unknown": list + columns + `,"rows":[{"cells":["web"],"object":null}]}`,
		"late":    `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[` + row + `],"columnDefinitions":` + columns + `}`,
		"page":    "<html>Log in</html>",
	}
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		ns := strings.Split(r.URL.Path, "/")[4]
		contentType, answer := jsonType, answers[ns]
		switch {
		case ns == "page":
			contentType = "text/html"
		case r.URL.Query().Has("watch") && ns == "prod":
			answer = watched + later + bookmark
		case r.URL.Query().Has("watch"):
			answer = `{"type":"ADDED","object":` + answer + `}`
		}
		testserver.Reply(w, 200, contentType, []byte(answer))
	})
	rows := client.Namespaced[corev1.ConfigMap](s.Client(t), "prod").Rows()
	check := func(what string, got *core.Row, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want := &core.Row{
			TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "prod", ResourceVersion: "6"},
			Columns:    []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: "its name"}},
			Cells:      []any{"web", int64(2), 1.5, nil},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	page, err := rows.List(t.Context(), &request.ListOptions{Limit: 1})
	if err != nil || len(page.Items) != 1 || page.Continue != "p2" {
		t.Fatalf("List = %+v, %v", page, err)
	}
	check("List", page.Items[0], nil)
	one, err := rows.Get(t.Context(), "web", nil)
	check("Get", one, err)
	var types []core.EventType
	for ev, err := range rows.WatchOnce(t.Context(), nil) {
		if types = append(types, ev.Type); ev.Type != core.Bookmark {
			check("WatchOnce", ev.Object, err)
		} else if ev.Object.ResourceVersion != "9" {
			t.Errorf("bookmark = %+v", ev.Object)
		}
	}
	if !slices.Equal(types, []core.EventType{core.Added, core.Modified, core.Bookmark}) {
		t.Errorf("events = %v", types)
	}
	for i, want := range []string{
		"/api/v1/namespaces/prod/configmaps?limit=1", "/api/v1/namespaces/prod/configmaps/web",
	} {
		if ask := s.Asked()[i]; ask.URI != want || ask.Header.Get("Accept") != "application/json;as=Table;v=v1;g=meta.k8s.io" {
			t.Errorf("request %s, Accept %s", ask.URI, ask.Header.Get("Accept"))
		}
	}
	if page, err := rows.In("empty").List(t.Context(), nil); err != nil || len(page.Items) != 0 {
		t.Errorf("an empty table = %+v, %v", page, err)
	}
	for ns, want := range map[string]string{
		"list":    `the server sent "ConfigMapList" of "v1" instead of Table of meta.k8s.io/v1`,
		"broken":  "json: want [, not number",
		"unknown": "table: a row has no metadata of its object",
		"late":    "table: the columns follow the rows",
		"page":    `content type "text/html": want application/json`,
		"":        "request not sent: namespace: is empty; name one, or use ClusterWide",
	} {
		if _, err := rows.In(ns).List(t.Context(), nil); !strings.Contains(text(err), want) {
			t.Errorf("List: error = %v, want %s", err, want)
		}
	}
	for ns, want := range map[string]string{
		"object": `get configmaps object/web: read list: the server's response is not a list but of kind "ConfigMap"`,
		"empty":  "get configmaps empty/web: the server did not send one row",
		"many":   "get configmaps many/web: the server did not send one row",
	} {
		if _, err := rows.In(ns).Get(t.Context(), "web", nil); text(err) != want {
			t.Errorf("Get: error = %v, want %s", err, want)
		}
	}
	for ns, want := range map[string]string{
		"many":   "watch configmaps in many: table: want one row for an object, not 2",
		"object": `watch configmaps in object: watch event: the server sent "ConfigMap" of "v1" instead of Table of meta.k8s.io/v1`,
	} {
		for _, err := range rows.In(ns).WatchOnce(t.Context(), nil) {
			if text(err) != want {
				t.Errorf("WatchOnce: error = %v, want %s", err, want)
			}
		}
	}
}

// TestRowsAreOnlyForReads checks that each write of rows is an error without a request, and so is another way to rows.
func TestRowsAreOnlyForReads(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`))
	})
	c, ctx := s.Client(t), t.Context()
	rows := client.Dynamic(c, configMaps).In("prod").Metadata().Rows()
	row := &core.Row{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	for verb, write := range map[string]func() error{
		"create": func() error { _, err := rows.Create(ctx, row, nil); return err },
		"update": func() error { _, err := rows.Update(ctx, row, nil); return err },
		"patch":  func() error { _, err := rows.Patch(ctx, "web", request.MergePatch(`{}`), nil); return err },
		"apply": func() error {
			_, err := rows.Apply(ctx, row, &request.ApplyOptions{FieldManager: "me"})
			return err
		},
		"delete": func() error { return rows.Delete(ctx, "web", nil) },
	} {
		if err := write(); !strings.Contains(text(err), "tables are for get, list and watch") {
			t.Errorf("%s: error = %v", verb, err)
		}
	}
	if _, err := client.Of[core.Row](c, configMaps).List(ctx, nil); !strings.Contains(text(err), "use API.Rows") {
		t.Errorf("the error of Of = %v", err)
	}
	if n := len(s.Asked()); n != 0 {
		t.Fatalf("%d requests for writes or invalid reads", n)
	}
	if _, err := rows.List(ctx, nil); err != nil {
		t.Error(err)
	}
	if as := s.Asked()[0].Header.Get("Accept"); as != "application/json;as=Table;v=v1;g=meta.k8s.io" {
		t.Errorf("Accept %s", as)
	}
	if _, err := rows.Metadata().List(ctx, nil); err == nil || strings.Contains(s.Asked()[1].Header.Get("Accept"), "Table") {
		t.Errorf("the metadata of rows: Accept %s, %v", s.Asked()[1].Header.Get("Accept"), err)
	}
}

// TestScaleHasItsOwnKind checks the requests for a scale, and that reads are not reported to observers of writes.
func TestScaleHasItsOwnKind(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"prod","resourceVersion":"7"},`+
			`"spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}}`))
	})
	scales := client.Namespaced[appsv1.Deployment](s.Client(t), "prod").Scale()
	got, err := scales.Get(t.Context(), "web", nil)
	if err != nil || got.Spec.Replicas != 3 || got.Status.Selector != "app=web" {
		t.Fatalf("Get = %+v, %v", got, err)
	}
	got.Spec.Replicas = 0
	told := 0
	ctx := client.WithWriteObserver(t.Context(), func(_ context.Context, w client.Write) {
		if told++; w.Resource.Kind != "Deployment" {
			t.Errorf("observed a write of a %s", w.Resource.Kind)
		}
	})
	if _, err := scales.Update(ctx, got, nil); err != nil || told != 1 {
		t.Fatalf("%v; observed %d writes", err, told)
	}
	ask := s.Asked()[1]
	if ask.URI != "/apis/apps/v1/namespaces/prod/deployments/web/scale" || !strings.Contains(ask.Body, `"kind":"Scale","apiVersion":"autoscaling/v1"`) ||
		!strings.Contains(ask.Body, `"spec":{"replicas":0}`) || ask.Header.Get("Content-Type") != jsonType {
		t.Errorf("request = %+v", ask)
	}
}

// TestSubresourceOfAcceptsAllResponses creates subresources whose response is the same kind, a Status, or another kind.
func TestSubresourceOfAcceptsAllResponses(t *testing.T) {
	answer := `{"kind":"Status","apiVersion":"v1","status":"Success","code":201}`
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) { testserver.Reply(w, 201, jsonType, []byte(answer)) })
	pods := client.Namespaced[corev1.Pod](s.Client(t), "prod")
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Binding"}
	bindings := client.SubresourceOf[unstructured.Unstructured](pods, "binding", kind)
	binding := &unstructured.Unstructured{Object: map[string]any{"target": map[string]any{"name": "n1"}}}
	got, err := bindings.Create(t.Context(), "web-0", binding, &request.CreateOptions{FieldManager: "me"})
	if err != nil || got != nil {
		t.Errorf("Create = %v, %v; want nil", got, err)
	}
	ask := s.Asked()[0]
	if ask.Method != http.MethodPost || ask.URI != podPath+"/binding?fieldManager=me" || ask.Body != `{"apiVersion":"v1","kind":"Binding","target":{"name":"n1"}}` {
		t.Errorf("request = %+v", ask)
	}
	answer = `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"web-0"}}`
	if got, err = bindings.Create(t.Context(), "web-0", binding, nil); err != nil || got.GetName() != "web-0" {
		t.Errorf("Create = %v, %v", got, err)
	}
	answer = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0"}}`
	const want = `create pods/binding prod/web-0: the server sent "Pod" of "v1" instead of Binding of v1`
	if _, err = bindings.Create(t.Context(), "web-0", binding, nil); text(err) != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	const noKind = "create pods/binding prod/web-0: request not sent: kind: has no version or no name; set the kind in which the subresource is written"
	nothing := client.SubresourceOf[unstructured.Unstructured](pods, "binding", schema.GroupVersionKind{})
	if _, err = nothing.Create(t.Context(), "web-0", binding, nil); text(err) != noKind {
		t.Errorf("error = %v, want %s", err, noKind)
	}
	const noObject = "create pods/binding prod/web-0: request not sent: object: is nil"
	if _, err = bindings.Create(t.Context(), "web-0", nil, nil); text(err) != noObject {
		t.Errorf("error = %v, want %s", err, noObject)
	}
}
