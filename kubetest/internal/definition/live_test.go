// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/middleware"
)

// live is a real server.
type live struct {
	tb testing.TB
	c  *client.Client
}

// newLive returns the server of the current kubeconfig without the definitions of other stories.
func newLive(tb testing.TB) *live {
	tb.Helper()
	c, err := client.New(tb.Context(), &client.Options{OnWarning: func(context.Context, middleware.Warning) {}})
	if err != nil {
		tb.Fatal(err)
	}
	l := &live{tb, c}
	l.removeAll()
	tb.Cleanup(l.removeAll)
	return l
}

// settle is the time that controllers need to process a definition.
const settle = 3 * time.Second

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func (l *live) do(s step) response {
	path := definitions
	if s.Plural != "" {
		path = fmt.Sprintf("/apis/%s/%s/namespaces/default/%s", group, s.Version, s.Plural)
	}
	method := map[string]string{
		"create": http.MethodPost, "update": http.MethodPut, "updateStatus": http.MethodPut,
		"get": http.MethodGet, "delete": http.MethodDelete,
	}[s.Verb]
	item := path + "/" + s.Name
	if s.Verb != "create" {
		path = item
	}
	if method == http.MethodPut && !s.Unconditional {
		current := &unstructured.Unstructured{Object: l.request(http.MethodGet, path, nil).Body}
		(&unstructured.Unstructured{Object: s.Body}).SetResourceVersion(current.GetResourceVersion())
	}
	if s.Verb == "updateStatus" {
		path += "/status"
	}
	if s.FieldValidation != "" {
		path += "?fieldValidation=" + s.FieldValidation
	}
	r := l.request(method, path, s.Body)
	if s.Verb == "delete" {
		<-time.After(settle)
		r.Body = nil
	}
	if s.Plural == "" && (s.Verb == "create" || s.Verb == "update") && r.Code < 300 {
		name := (&unstructured.Unstructured{Object: r.Body}).GetName()
		r.Body = l.settled(definitions + "/" + name)
	}
	return r
}

// settled returns a definition when the controllers have processed it.
func (l *live) settled(path string) map[string]any {
	<-time.After(settle)
	return l.request(http.MethodGet, path, nil).Body
}

func (l *live) request(method, path string, body map[string]any) response {
	var payload bytes.Buffer
	if body != nil {
		payload.Write(encode(l.tb, body))
	}
	req, err := http.NewRequestWithContext(context.Background(), method, l.c.Server()+path, &payload)
	if err != nil {
		l.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.c.RoundTrip(req)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := response{Code: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&r.Body); err != nil {
		l.tb.Fatal(err)
	}
	for _, text := range resp.Header.Values("Warning") {
		text = strings.TrimSuffix(strings.TrimPrefix(text, `299 - "`), `"`)
		r.Warnings = append(r.Warnings, strings.ReplaceAll(text, `\"`, `"`))
	}
	return r
}

func (l *live) removeAll() {
	for range 100 {
		list, _ := l.request(http.MethodGet, definitions, nil).Body["items"].([]any)
		left := 0
		for _, item := range list {
			name := (&unstructured.Unstructured{Object: item.(map[string]any)}).GetName()
			if strings.HasSuffix(name, "."+group) {
				left++
				l.request(http.MethodDelete, definitions+"/"+name, nil)
			}
		}
		if left == 0 {
			return
		}
		<-time.After(200 * time.Millisecond)
	}
	l.tb.Fatal("definitions are not deleted")
}
