// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
	"github.com/kube-go/sdk/runtime/internal/fakesource"
)

// TestCacheResumesFromSnapshots checks which views of a new cache resume from the files of an old one.
func TestCacheResumesFromSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, dir := newServer(), t.TempDir()
		for _, name := range []string{"prod/a", "prod/b", "test/a", "test/b"} {
			obj := configMap(name, "first")
			obj.Data["fill"] = strings.Repeat("x", 270<<10)
			server.Put(configMaps, obj)
		}
		server.Kind(configMaps).Behave(fakesource.Behaviour{Bookmarks: time.Minute})
		// restart runs a view of a new cache, and returns what it has requested first.
		restart := func(o *cache.Options, s *cache.Selection, names ...string) string {
			server.Kind(configMaps).Requests()
			o.SnapshotDir = dir
			v := cache.Of[corev1.ConfigMap](cache.New(fakeapi.ClientOf(server), o), s)
			stop := start(t, v)
			if err := v.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantNames(t, v, names...)
			stop()
			return server.Kind(configMaps).Requests()[0]
		}
		all := []string{"prod/a", "prod/b", "test/a", "test/b"}
		for _, want := range []string{"stream", "watch rv=5"} { // first without files, then with them
			var got []string
			got = append(got, restart(&cache.Options{}, nil, all...))
			got = append(got, restart(&cache.Options{Cluster: "other"}, nil, all...))
			got = append(got, restart(&cache.Options{}, &cache.Selection{Namespace: "prod"}, all[:2]...))
			got = append(got, restart(&cache.Options{}, &cache.Selection{Namespace: "test"}, all[2:]...))
			got = append(got, restart(&cache.Options{}, &cache.Selection{LabelSelector: "value in (first)"}, all...))
			if files, err := os.ReadDir(dir); err != nil || len(files) != 5 {
				t.Fatalf("the directory has %v, %v; want 5 files", files, err)
			}
			if !slices.Equal(got, slices.Repeat([]string{want}, 5)) {
				t.Errorf("the first requests are %q, want only %q", got, want)
			}
		}
	})
}
