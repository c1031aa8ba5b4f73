// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"testing"

	"github.com/kube-go/sdk/runtime/cache"
	"github.com/kube-go/sdk/runtime/watcher"
)

func TestSelectionNamesWhoSelectsAShard(t *testing.T) {
	for _, tt := range []struct {
		name   string
		in     cache.Selection
		status watcher.Status
		want   string
	}{
		{"everything", cache.Selection{}, watcher.Status{Lists: 1}, ""},
		{
			"everything that can be selected",
			cache.Selection{Namespace: "prod", LabelSelector: "a=b", FieldSelector: "metadata.name=c"},
			watcher.Status{Lists: 1},
			"namespace prod, labels a=b, fields metadata.name=c",
		},
		{"a shard before the first list", cache.Selection{Sharded: true}, watcher.Status{}, "sharded"},
		{"a shard that the server selects", cache.Selection{Sharded: true}, watcher.Status{Lists: 1}, "sharded by the server"},
		{
			"a shard that the server does not select",
			cache.Selection{Sharded: true},
			watcher.Status{Lists: 1, AllShards: true},
			"sharded by the cache: the server sends all objects",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := selectionOf(&cache.Watch{Selection: tt.in, Status: tt.status}); got != tt.want {
				t.Errorf("selectionOf(%+v, %+v) = %q, want %q", tt.in, tt.status, got, tt.want)
			}
		})
	}
}
