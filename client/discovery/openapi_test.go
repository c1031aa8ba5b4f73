// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/client/discovery"
	"github.com/kube-go/sdk/core"
)

var deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// withOpenAPI returns a server with a reduced recording of the document of apps/v1.
func withOpenAPI(t testing.TB) *fakeServer {
	t.Helper()
	body, err := os.ReadFile("testdata/openapi_apps_v1.json")
	if err != nil {
		t.Fatal(err)
	}
	return &fakeServer{responses: map[string]response{
		"/openapi/v3":              indexOf("/openapi/v3/apis/apps/v1?hash=A"),
		"/openapi/v3/apis/apps/v1": plain(string(body)),
	}}
}

// indexOf returns an index with the URL of the document of apps/v1. Servers send it as plain text.
func indexOf(url string) response {
	return text(`{"paths":{"apis/apps/v1":{"serverRelativeURL":"` + url +
		`"},"version":{"serverRelativeURL":"/openapi/v3/version"}}}`)
}

func text(body string) response {
	return response{code: 200, contentType: "text/plain; charset=utf-8", body: body}
}

// apps fetches the document of apps/v1.
func apps(t testing.TB, s *fakeServer, o *discovery.Options) (*discovery.Document, error) {
	t.Helper()
	index, err := discovery.FetchOpenAPI(t.Context(), s.client(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return index.GroupVersion(t.Context(), deploymentKind.GroupVersion())
}

func TestOpenAPI(t *testing.T) {
	server := withOpenAPI(t)
	index, err := discovery.FetchOpenAPI(t.Context(), server.client(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := index.Documents(); !slices.Equal(got, []string{"apis/apps/v1", "version"}) {
		t.Errorf("Documents = %v", got)
	}
	doc, err := index.Document(t.Context(), "apis/apps/v1")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/openapi/v3", "/openapi/v3/apis/apps/v1?hash=A"}; !slices.Equal(server.takeAsked(), want) {
		t.Errorf("requests differ from %v", want)
	}
	if string(doc.Raw()) != server.responses["/openapi/v3/apis/apps/v1"].body {
		t.Error("Raw differs from the body that the server sent")
	}
	if !slices.Contains(doc.Kinds(), deploymentKind) {
		t.Errorf("Kinds = %v, which lacks deployments", doc.Kinds())
	}
	s, err := doc.Schema(deploymentKind)
	if err != nil || s.Type != "object" || !strings.HasPrefix(s.Description, "Deployment enables declarative updates") {
		t.Errorf("schema = %+v, %v", s, err)
	}
	_, err = index.GroupVersion(t.Context(), schema.GroupVersion{Version: "v1"})
	if want := `the server has no OpenAPI document "api/v1"; see OpenAPI.Documents`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if _, err := index.Document(t.Context(), "version"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("error = %v, want the server's", err)
	}
}

func TestField(t *testing.T) {
	doc, err := apps(t, withOpenAPI(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path, want string }{
		{"a field", "kind", "string Kind is a string value"},
		{"a reference", "spec", "object Specification of the desired behavior"},
		{"a field of the items of a list", "spec.template.spec.containers.image", "string Container image name"},
		{"a list", "spec.template.spec.containers", "array List of containers"},
		{"a map", "metadata.labels", "object Map of string keys"},
		{"a map of references", "spec.template.spec.containers.resources.limits", "object Limits describes"},
		{
			"an unknown field", "spec.template.spec.contaners",
			"Deployment.spec.template.spec has no field \"contaners\"; it has containers, nodeSelector, restartPolicy",
		},
		{"a field of a string", "kind.x", "Deployment.kind has no fields"},
		{"a field of the values of a map", "metadata.labels.app", "Deployment.metadata.labels has no fields"},
		{
			"a field of the items of a list of references", "spec.template.metadata.ownerReferences.uid",
			"string UID of the referent",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			s, err := doc.Field(deploymentKind, strings.Split(tc.path, ".")...)
			if err != nil {
				got = err.Error()
			} else {
				got = s.Type + " " + s.Description
			}
			if !strings.HasPrefix(got, tc.want) {
				t.Errorf("Field(%s) = %s, want %s", tc.path, got, tc.want)
			}
		})
	}
	containers, err := doc.Field(deploymentKind, "spec", "template", "spec", "containers")
	if err != nil || containers.ListType != "map" || !slices.Equal(containers.ListMapKeys, []string{"name"}) {
		t.Errorf("containers = %+v, %v; want a map by name", containers, err)
	}
	if _, err := doc.Field(schema.GroupVersionKind{Kind: "X"}); err == nil {
		t.Error("Field of the unknown kind X succeeds")
	}
}

// TestOpenAPIOddities checks unresolvable and circular references, and schemas that are true.
func TestOpenAPIOddities(t *testing.T) {
	server := withOpenAPI(t)
	ref := func(name string) string { return `{"$ref":"#/components/schemas/` + name + `"}` }
	server.set("/openapi/v3/apis/apps/v1", plain(`{"openapi":"3.0.0","components":{"schemas":{
		"D":{"x-kubernetes-group-version-kind":[{"group":"apps","version":"v1","kind":"Deployment"}],"properties":{
			"circle":`+ref("D1")+`,"nowhere":`+ref("none")+`,"self":`+ref("D")+`,
			"any":{"description":"anything","additionalProperties":true},"bad":`+ref("bad")+`,
			"lists":{"items":{"items":`+ref("D")+`}},
			"said":{"description":"here","default":{},"nullable":true,"allOf":[`+ref("S")+`]}}},
		"D1":`+ref("D2")+`,"D2":`+ref("D1")+`,"bad":{"type":7},
		"S":{"type":"string","description":"there","default":"x","enum":["x"]}}}}`))
	doc, err := apps(t, server, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"circle": "more than 32 references in a row", "nowhere": `no component "none"`, "bad": "OpenAPI component bad: ",
	} {
		if _, err := doc.Field(deploymentKind, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Field(%s): %v, want %s", path, err, want)
		}
	}
	if s, err := doc.Field(deploymentKind, "self", "lists", "self", "any"); err != nil || s.AdditionalProperties == nil ||
		s.Description != "anything" {
		t.Errorf("self.lists.self.any = %+v, %v", s, err)
	}
	s, err := doc.Field(deploymentKind, "said")
	want := &discovery.Schema{
		Type: "string", Description: "here", Nullable: true, Default: []byte("{}"), Enum: []json.RawMessage{[]byte(`"x"`)},
	}
	if diff := cmp.Diff(want, s); diff != "" || err != nil {
		t.Errorf("said: %v (-want +got):\n%s", err, diff)
	}
}

// TestResolvedSchema checks that the fields of a reference take precedence over those of its target, and that
// validations in allOf are not references.
func TestResolvedSchema(t *testing.T) {
	const ref = `{"$ref":"#/components/schemas/S"}`
	server := withOpenAPI(t)
	server.set("/openapi/v3/apis/apps/v1", plain(`{"openapi":"3.0.0","components":{"schemas":{
		"S":{"type":"object","description":"there","format":"f","pattern":"p","required":["r"],"enum":["e"],"default":1,
			"properties":{"name":{"type":"string"}},"x-kubernetes-map-type":"atomic","x-kubernetes-list-type":"set",
			"x-kubernetes-list-map-keys":["k"]},
		"Between":{"description":"between","x-kubernetes-map-type":"granular","allOf":[`+ref+`]}}}}`))
	doc, err := apps(t, server, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := map[string]*discovery.Schema{"name": {Type: "string"}}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	there := discovery.Schema{
		Type: "object", Description: "there", Format: "f", Pattern: "p", Required: []string{"r"},
		Enum: []json.RawMessage{raw(`"e"`)}, Default: raw("1"), Properties: name,
		MapType: "atomic", ListType: "set", ListMapKeys: []string{"k"},
	}
	granular, between := there, there
	granular.MapType = "granular"
	between.MapType, between.Description = "granular", "between"
	for _, tc := range []struct {
		name, in string
		want     discovery.Schema
	}{
		{"a reference", ref, there},
		{"a reference with a map type", `{"$ref":"#/components/schemas/S","x-kubernetes-map-type":"granular"}`, granular},
		{"allOf with a map type", `{"x-kubernetes-map-type":"granular","allOf":[` + ref + `]}`, granular},
		{"a reference to a reference with fields", `{"$ref":"#/components/schemas/Between"}`, between},
		{"allOf with a type", `{"type":"object","allOf":[` + ref + `]}`, there},
		{"a schema without a reference in allOf", `{"allOf":[{"type":"string"}]}`, discovery.Schema{Type: "string"}},
		{"null in allOf", `{"description":"d","allOf":[null]}`, discovery.Schema{Description: "d"}},
		{
			"an integer or a string of a built-in kind",
			`{"allOf":[{"oneOf":[{"type":"integer"},{"type":"string"}],"format":"int-or-string"}]}`,
			discovery.Schema{Format: "int-or-string", IntOrString: true},
		},
		{
			"all fields",
			`{"description":"here","format":"F","pattern":"P","required":["R"],"enum":["E"],"default":2,"nullable":true,
				"x-kubernetes-map-type":"granular","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["K"],
				"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true,"allOf":[` + ref + `]}`,
			discovery.Schema{
				Type: "object", Description: "here", Format: "F", Pattern: "P", Required: []string{"R"},
				Enum: []json.RawMessage{raw(`"E"`)}, Default: raw("2"), Nullable: true, Properties: name,
				MapType: "granular", ListType: "map", ListMapKeys: []string{"K"}, IntOrString: true,
				PreserveUnknownFields: true,
			},
		},
		{
			"validations of an object",
			`{"type":"object","properties":{"name":{"type":"string"}},"allOf":[{"required":["name"]}]}`,
			discovery.Schema{Type: "object", Properties: name, AllOf: []*discovery.Schema{{Required: []string{"name"}}}},
		},
		{
			"validations of an array", `{"items":{"type":"string"},"allOf":[{"enum":[[]]}]}`,
			discovery.Schema{
				Items: &discovery.Schema{Type: "string"},
				AllOf: []*discovery.Schema{{Enum: []json.RawMessage{raw("[]")}}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := new(discovery.Schema)
			if err := json.Unmarshal([]byte(tc.in), in); err != nil {
				t.Fatal(err)
			}
			got, err := doc.Resolve(in)
			if diff := cmp.Diff(&tc.want, got); diff != "" || err != nil {
				t.Errorf("Resolve: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestOpenAPIErrors(t *testing.T) {
	for _, tc := range []struct{ name, path, body, want string }{
		{"a server without OpenAPI", "/openapi/v3", "", "index of OpenAPI documents: not found"},
		{"a truncated index", "/openapi/v3", `{"paths":`, "index of OpenAPI documents: "},
		{
			"an index that refers to another host", "/openapi/v3", indexOf("https://evil.test/openapi/v3/apis/apps/v1").body,
			`OpenAPI document apis/apps/v1: the index refers to "https://evil.test/openapi/v3/apis/apps/v1", which is not ` +
				`below /openapi/v3`,
		},
		{
			"an index that refers to another path", "/openapi/v3", indexOf("/api/v1/secrets").body,
			`OpenAPI document apis/apps/v1: the index refers to "/api/v1/secrets"`,
		},
		{
			"another version of OpenAPI", "/openapi/v3/apis/apps/v1", `{"swagger":"2.0"}`,
			`OpenAPI document apis/apps/v1: its OpenAPI version is "", want 3`,
		},
		{
			"a truncated document", "/openapi/v3/apis/apps/v1", `{"openapi":"3.0.0","components":{`,
			"OpenAPI document apis/apps/v1: ",
		},
		{
			"an invalid component", "/openapi/v3/apis/apps/v1", `{"openapi":"3.0.0","components":{"schemas":{"X":7}}}`,
			"OpenAPI document apis/apps/v1: component X: ",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := withOpenAPI(t)
			if server.set(tc.path, plain(tc.body)); tc.body == "" {
				server.set(tc.path, response{})
			}
			index, err := discovery.FetchOpenAPI(t.Context(), server.client(t), nil)
			if err == nil {
				_, err = index.Document(t.Context(), "apis/apps/v1")
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error = %v, want %s", err, tc.want)
			}
		})
	}
}

// TestOpenAPICache checks that a document is fetched again only if its hash has changed.
func TestOpenAPICache(t *testing.T) {
	eachCache(t, 0, func(t *testing.T, open func() *discovery.Cache) {
		server := withOpenAPI(t)
		for _, tc := range []struct {
			hash     string
			requests int
		}{{"A", 2}, {"A", 1}, {"B", 2}, {"B", 1}, {"", 2}, {"", 2}} {
			server.set("/openapi/v3", indexOf("/openapi/v3/apis/apps/v1?hash="+tc.hash))
			doc, err := apps(t, server, &discovery.Options{Cache: open()})
			if err != nil || len(doc.Kinds()) == 0 {
				t.Fatalf("document = %v, %v", doc, err)
			}
			if asked := server.takeAsked(); len(asked) != tc.requests {
				t.Errorf("hash %q: requests = %v, want %d", tc.hash, asked, tc.requests)
			}
		}
	})
}

// TestReplacedOpenAPIDocument checks that a document that was replaced after the index was fetched is returned in its
// current version, and is cached with its current hash.
func TestReplacedOpenAPIDocument(t *testing.T) {
	eachCache(t, 0, func(t *testing.T, open func() *discovery.Cache) {
		const path = "/openapi/v3/apis/apps/v1"
		server := withOpenAPI(t)
		current := server.responses[path]
		current.etag = `"B"`
		server.set(path, current)
		for _, tc := range []struct {
			hash string
			want []string // requests
		}{
			{"A", []string{"/openapi/v3", path + "?hash=A", path}},
			{"A", []string{"/openapi/v3", path + "?hash=A", path}},
			{"B", []string{"/openapi/v3"}},
		} {
			server.set("/openapi/v3", indexOf(path+"?hash="+tc.hash))
			doc, err := apps(t, server, &discovery.Options{Cache: open()})
			if err != nil || len(doc.Kinds()) == 0 {
				t.Fatalf("hash %q: document = %v, %v", tc.hash, doc, err)
			}
			if asked := server.takeAsked(); !slices.Equal(asked, tc.want) {
				t.Errorf("hash %q: requests = %v, want %v", tc.hash, asked, tc.want)
			}
		}
		server.set("/openapi/v3", indexOf(path+"?hash=C"))
		server.set(path, response{code: 301, contentType: "text/html"})
		if _, err := apps(t, server, &discovery.Options{Cache: open()}); err == nil {
			t.Error("a server that redirects each request: no error")
		}
		if asked := server.takeAsked(); len(asked) != 3 {
			t.Errorf("a server that redirects each request: requests = %v, want 3", asked)
		}
	})
}

// FuzzDocument checks that each kind of a document has a schema or an error, and so has each field of a schema,
// whatever the document contains.
func FuzzDocument(f *testing.F) {
	f.Add(withOpenAPI(f).responses["/openapi/v3/apis/apps/v1"].body)
	f.Add(`{"openapi":"3.0.0","components":{"schemas":{"X":{"x-kubernetes-group-version-kind":[{"kind":"X"}],` +
		`"properties":{"x":{"allOf":[{"$ref":"#/components/schemas/X"}]}}}}}}`)
	f.Add(`{"openapi":"3.0.0","components":{"schemas":{"X":null,"Y":{"properties":{"y":null,"z":true},"items":null}}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		server := withOpenAPI(t)
		server.set("/openapi/v3/apis/apps/v1", plain(body))
		doc, err := apps(t, server, nil)
		if err != nil {
			return
		}
		for _, gvk := range doc.Kinds() {
			s, err := doc.Schema(gvk)
			if err != nil {
				continue
			}
			for name := range s.Properties {
				if field, err := doc.Field(gvk, name); (field == nil) == (err == nil) {
					t.Errorf("Field(%s, %q) = %v, %v", gvk, name, field, err)
				}
			}
		}
	})
}
