// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package applied_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-go/sdk/bench/internal/applied"
	"github.com/kube-go/sdk/core"
)

// TestWatchesHaveAppliedObjects applies an object, watches it, and applies its status.
//
//nolint:bodyclose // request closes the bodies at the end of the test
func TestWatchesHaveAppliedObjects(t *testing.T) {
	res := core.Resource{Group: "bench.example.com", Version: "v1", Kind: "Widget", Plural: "widgets", Namespaced: true}
	server := httptest.NewServer(applied.New(res))
	t.Cleanup(server.Close) // after the watch has ended
	const widgets, widget = "/apis/bench.example.com/v1/widgets", "/apis/bench.example.com/v1/namespaces/a/widgets/b"
	request := func(method, path, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/apply-patch+yaml")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	if r := request("GET", widget, ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("an object before it is applied: %s", r.Status)
	}
	if r := request("GET", strings.Replace(widget, "widgets", "gadgets", 1), ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("an object of an unknown kind: %s", r.Status)
	}
	if r := request("DELETE", widget, ""); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a delete: %s", r.Status)
	}
	request("PATCH", widget, `{"metadata":{"labels":{"x":"y"}},"spec":{"size":1}}`)
	lines := bufio.NewScanner(request("GET", widgets+"?watch=true&sendInitialEvents=true", "").Body)
	next := func(want ...string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the watch has ended: %v", lines.Err())
		}
		for _, want := range want {
			if !strings.Contains(lines.Text(), want) {
				t.Errorf("the line %s does not have %s", lines.Text(), want)
			}
		}
	}
	next(`"ADDED"`, `"namespace":"a"`, `"resourceVersion":"2"`, `"size":1`)
	next(`"BOOKMARK"`, `"kind":"Widget"`, `"k8s.io/initial-events-end":"true"`)
	request("PATCH", widget+"/status", `{"status":{"ready":true}}`)
	next(`"MODIFIED"`, `"ready":true`, `"size":1`, `"x":"y"`, `"resourceVersion":"3"`)
	stored, err := io.ReadAll(request("GET", widget, "").Body)
	if err != nil || !strings.Contains(lines.Text(), string(stored)) {
		t.Errorf("the object is %s, %v, and its last event %s", stored, err, lines.Text())
	}
}
