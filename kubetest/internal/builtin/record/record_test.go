// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/config"
	"github.com/kube-go/sdk/kubetest/internal/builtin"
	"github.com/kube-go/sdk/kubetest/internal/builtin/record"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// documents returns the documents of a small server with a custom resource.
func documents() map[string]string {
	return map[string]string{
		"/version": `{"gitVersion":"v1.37.2"}`,
		"/api":     `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1"}]}]}`,
		"/apis": `{"kind":"APIGroupDiscoveryList","items":[
			{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]},
			{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1"}]},
			{"metadata":{"name":"example.com"},"versions":[{"version":"v1"}]}]}`,
		"/apis/apiregistration.k8s.io/v1/apiservices": `{"items":[
			{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}},"spec":{"version":"v1"}},
			{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}},"spec":{"group":"apps"}},
			{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}},"spec":{"group":"example.com"}},
			{"metadata":{},"spec":{"group":"metrics.k8s.io"}}]}`,
		"/openapi/v3/api/v1": `{"paths":{"/api/v1":{}},"components":{"schemas":{
			"Options":{"type":"object","description":"x","x-kubernetes-group-version-kind":[{"kind":"A"}]},
			"Definition":{"properties":{"description":{"type":"string","description":"x"},
				"list":{"items":{"allOf":[{"$ref":"#/x","description":"x"}],"default":{},"description":"x"}}}}}}}`,
		"/openapi/v3/apis/apps/v1": `{"components":{"schemas":{
			"Options":{"type":"object","x-kubernetes-group-version-kind":[{"kind":"A"},{"kind":"B"}]}}}}`,
	}
}

func serve(t *testing.T, documents map[string]string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		contentType := "application/json"
		if r.URL.Path == "/api" || r.URL.Path == "/apis" {
			contentType = aggregated
		}
		if r.Header.Get("Accept") != contentType {
			t.Errorf("Accept of %s is %q, want %q", r.URL.Path, r.Header.Get("Accept"), contentType)
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(t.Context(), &client.Options{Config: &config.Config{Server: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func TestRecordKeepsBuiltInGroupsWithoutDescriptions(t *testing.T) {
	recorded, err := record.Record(t.Context(), serve(t, documents()))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, document := range recorded {
		got[name] = string(document)
	}
	want := map[string]string{
		builtin.VersionDocument: "v1.37.2\n",
		builtin.DiscoveryDocument: `{"kind":"APIGroupDiscoveryList","metadata":{},"items":[` +
			`{"metadata":{},"versions":[{"version":"v1"}]},` +
			`{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]}]}`,
		builtin.SchemasDocument: `{"Definition":{"properties":{"description":{"type":"string"},` +
			`"list":{"items":{"allOf":[{"$ref":"#/x"}],"default":{}}}}},` +
			`"Options":{"type":"object","x-kubernetes-group-version-kind":[{"kind":"A"},{"kind":"B"}]}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Record() returns other documents (-want +got):\n%s", diff)
	}
}

func TestRecordReportsDifferentDefinitions(t *testing.T) {
	served := documents()
	served["/openapi/v3/apis/apps/v1"] = `{"components":{"schemas":{"Options":{"type":"string"}}}}`
	_, err := record.Record(t.Context(), serve(t, served))
	want := "/openapi/v3/apis/apps/v1: definition Options is different in another document"
	if err == nil || err.Error() != want {
		t.Errorf("Record() = %v, want %s", err, want)
	}
}

func TestRecordReportsMissingDocuments(t *testing.T) {
	for path := range documents() {
		served := documents()
		delete(served, path)
		if _, err := record.Record(t.Context(), serve(t, served)); err == nil || !strings.Contains(err.Error(), "get "+path) {
			t.Errorf("Record() without %s = %v", path, err)
		}
	}
}
