// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzRequests sends one request to a server with an object. No request may cause a panic.
func FuzzRequests(f *testing.F) {
	const item = "/api/v1/namespaces/shop/configmaps/a"
	for _, seed := range []struct{ method, path, query, contentType, body string }{
		{"GET", item, "", "", ""},
		{"GET", "/api/v1/configmaps", "limit=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Da", "", ""},
		{"GET", "/api/v1/configmaps", "watch=1&timeoutSeconds=1&resourceVersion=5", "", ""},
		{"POST", "/api/v1/namespaces/shop/configmaps", "dryRun=All", "application/json", `{"metadata":{"generateName":"b"}}`},
		{"PUT", item, "fieldValidation=Strict", "application/yaml", "metadata: {name: a}\ndata: {x: y}"},
		{"PATCH", item, "fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"y"}}`},
		{"PATCH", item, "", "application/json-patch+json", `[{"op":"add","path":"/data","value":{}}]`},
		{"PATCH", item, "", "application/strategic-merge-patch+json", `{"data":{"$patch":"replace"}}`},
		{"DELETE", item, "propagationPolicy=Foreground", "application/json", `{"preconditions":{"uid":"u"}}`},
		{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", "application/json", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1"}`},
		{"PUT", "/apis/apps/v1/namespaces/shop/deployments/a/scale", "", "application/json", `{"spec":{"replicas":1}}`},
		{"POST", "/api/v1/namespaces/shop/pods/a/binding", "", "application/json", `{"target":{"name":"n"}}`},
		{"GET", "/openapi/v3/api/v1", "", "", ""},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.contentType, seed.body)
	}
	f.Fuzz(func(t *testing.T, method, path, query, contentType, body string) {
		s := newServer(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "shop"}})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // for watches
		defer cancel()
		r := &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Content-Type": {contentType}},
			Body: io.NopCloser(strings.NewReader(body)),
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r.WithContext(ctx))
		if w.Code < http.StatusOK || w.Code > 599 {
			t.Errorf("the status is %d", w.Code)
		}
	})
}
