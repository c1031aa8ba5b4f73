// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestObjectsOfOtherKindsAreRejected checks that no verb accepts objects of another kind or version than requested.
func TestObjectsOfOtherKindsAreRejected(t *testing.T) {
	const secret = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"web","namespace":"prod"}}`
	bodies := map[string]string{
		"get":             secret,
		"list":            `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"name":"web"}}]}`,
		"list of none":    `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
		"list of version": `{"kind":"PodList","apiVersion":"v2","items":[]}`,
		"list with items": `{"kind":"PodList","apiVersion":"v1","items":[` + secret + `]}`,
		"second page":     `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"more"},"items":[]}`,
		"watch":           `{"type":"ADDED","object":` + secret + `}`,
		"watch bookmark":  `{"type":"BOOKMARK","object":` + secret + `}`,
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("continue") {
					body = bodies["list"]
				}
				testserver.Reply(w, 200, jsonType, []byte(body))
			})
			pods := client.Namespaced[corev1.Pod](s.Client(t), "prod")
			var err error
			switch verb, _, _ := strings.Cut(name, " "); verb {
			case "get":
				_, err = pods.Get(t.Context(), "web", nil)
			case "list":
				_, err = pods.List(t.Context(), nil)
			case "second":
				for _, err = range pods.All(t.Context(), &request.ListOptions{Limit: 1}) {
				}
			case "watch":
				for _, err = range pods.WatchOnce(t.Context(), nil) {
				}
			}
			kind, ok := errors.AsType[*wire.KindError](err)
			if !ok || !strings.HasPrefix(kind.Want.Kind, "Pod") {
				t.Errorf("error = %v, want a KindError", err)
			}
		})
	}
}
