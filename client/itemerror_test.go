// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// TestInvalidItemIsSkippedAndReported checks that a list and a watch continue without an object that can't be decoded,
// and report it.
func TestInvalidItemIsSkippedAndReported(t *testing.T) {
	const bad = `{"metadata":{"name":"b","namespace":"n","uid":"u-b","resourceVersion":"9"},"data":7}`
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			testserver.Reply(w, 200, jsonType, []byte(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}{"type":"DELETED","object":`+bad+`}`+
				`{"type":"ADDED","object":{"metadata":{"name":"c"}}}`))
			return
		}
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"ConfigMapList","metadata":{"resourceVersion":"9"},"items":[`+
			`{"metadata":{"name":"a"}},`+bad+`,{"metadata":{"name":"c"}}]}`))
	})
	var told []wire.Head
	strict := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	maps := strict.OnItemError(func(e *wire.ItemError) {
		told = append(told, e.Head)
		if !strings.HasPrefix(e.Error(), "n/b: decode json: ") {
			t.Errorf("error = %v", e)
		}
	})
	for _, tt := range []struct {
		name string
		read func() ([]string, error)
	}{
		{"List", func() (names []string, _ error) {
			list, err := maps.List(t.Context(), nil)
			if err != nil {
				return nil, err
			}
			for _, obj := range list.Items {
				names = append(names, obj.Name)
			}
			return names, nil
		}},
		{"All", func() ([]string, error) { return collect(maps.All(t.Context(), nil)) }},
		{"Watch", func() (names []string, err error) {
			for ev, err := range maps.WatchOnce(t.Context(), &request.WatchOptions{ResourceVersion: "1"}) {
				if err != nil {
					return names, err
				}
				names = append(names, ev.Object.Name)
			}
			return names, nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told = nil
			names, err := tt.read()
			if got := strings.Join(names, " "); err != nil || got != "a c" {
				t.Errorf("%s = %s, %v; want a c", tt.name, got, err)
			}
			want := []wire.Head{{Ref: core.ObjectRef{Namespace: "n", Name: "b"}, UID: "u-b", ResourceVersion: "9"}}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := strict.List(t.Context(), nil); err == nil {
		t.Error("OnItemError changed the API that it was called on")
	}
}
