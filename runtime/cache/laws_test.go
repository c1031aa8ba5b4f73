// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/cache"
)

// accepted records whether requests prefer protobuf.
type accepted struct {
	http.RoundTripper
	list []string
}

func (a *accepted) RoundTrip(r *http.Request) (*http.Response, error) {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	if strings.HasPrefix(first, wire.MediaTypeProtobuf) {
		a.list = append(a.list, "protobuf")
	} else {
		a.list = append(a.list, "JSON")
	}
	return a.RoundTripper.RoundTrip(r)
}

func TestProtobufIsUsedIfAllTypesCanBeDecodedFromIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *cache.Cache)
		want string
	}{
		{"the kind", func(t *testing.T, c *cache.Cache) { start(t, cache.Of[corev1.ConfigMap](c, nil)) }, "protobuf"},
		{"metadata", func(t *testing.T, c *cache.Cache) { start(t, metadataView(c)) }, "protobuf"},
		{"the kind and metadata", func(t *testing.T, c *cache.Cache) {
			metadataView(c)
			start(t, cache.Of[corev1.ConfigMap](c, nil))
		}, "protobuf"},
		{"a struct with some fields", func(t *testing.T, c *cache.Cache) { start(t, cache.Of[valueOf](c, nil)) }, "JSON"},
		{"the kind and an object of any kind", func(t *testing.T, c *cache.Cache) {
			dynamicView(c)
			start(t, cache.Of[corev1.ConfigMap](c, nil))
		}, "JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &accepted{RoundTripper: newServer("prod/a")}
				tt.run(t, through(t, a))
				if !slices.Equal(a.list, []string{tt.want}) {
					t.Errorf("the requests prefer %q, want one that prefers %s", a.list, tt.want)
				}
			})
		})
	}
}
