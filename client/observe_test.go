// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestWriteObserverReceivesStoredWrites checks that an observer is called for each stored write, and for nothing else.
func TestWriteObserverReceivesStoredWrites(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "broken"):
			testserver.Fail(w, 409, "Conflict", "no")
		case strings.HasSuffix(r.URL.Path, "virtual"):
			testserver.Reply(w, 201, jsonType, []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"virtual"}}`))
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "gone"):
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"gone","uid":"u-1"}}`))
		case r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "web"):
			testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a"))
		default:
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
		}
	})
	maps := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	build := leanWay().build
	patch := request.MergePatch([]byte(`{}`))
	apply := &request.ApplyOptions{FieldManager: "me"}
	for _, tc := range []struct {
		name string
		do   func(context.Context) error
		told bool
	}{
		{"create", func(ctx context.Context) error { _, err := maps.Create(ctx, build("web", ""), nil); return err }, true},
		{"update", func(ctx context.Context) error { _, err := maps.Update(ctx, build("web", ""), nil); return err }, true},
		{"patch", func(ctx context.Context) error { _, err := maps.Patch(ctx, "web", patch, nil); return err }, true},
		{"apply", func(ctx context.Context) error { _, err := maps.Apply(ctx, build("web", ""), apply); return err }, true},
		{"status", func(ctx context.Context) error { _, err := maps.Status().Patch(ctx, "web", patch, nil); return err }, true},
		{"get", func(ctx context.Context) error { _, err := maps.Get(ctx, "web", nil); return err }, false},
		{"list", func(ctx context.Context) error { _, err := maps.List(ctx, nil); return err }, false},
		{"delete", func(ctx context.Context) error { return maps.Delete(ctx, "gone", nil) }, true},
		{"delete, which begins", func(ctx context.Context) error { return maps.Delete(ctx, "web", nil) }, true},
		{"a dry run of a delete", func(ctx context.Context) error {
			return maps.Delete(ctx, "gone", &request.DeleteOptions{DryRun: true})
		}, false},
		{"a dry run", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "web", patch, &request.PatchOptions{DryRun: true})
			return err
		}, false},
		{"an object that is not stored", func(ctx context.Context) error { _, err := maps.Update(ctx, build("virtual", ""), nil); return err }, false},
		{"a rejected write", func(ctx context.Context) error {
			if _, err := maps.Update(ctx, build("broken", ""), nil); err == nil {
				t.Error("the write returned no error")
			}
			return nil
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var told []string
			ctx := client.WithWriteObserver(t.Context(), func(w client.Write) {
				if w.Server != s.URL {
					t.Errorf("observed server %s, want %s", w.Server, s.URL)
				}
				what := w.Object.GetResourceVersion()
				if w.Deleted {
					what = fmt.Sprint("deleted ", w.Object.GetUID())
				}
				told = append(told, fmt.Sprint(w.Resource, " ", core.RefOf(w.Object), " ", what))
			})
			if err := tc.do(ctx); err != nil {
				t.Fatal(err)
			}
			var want []string
			switch {
			case tc.name == "delete":
				want = []string{"configmaps prod/gone deleted u-1"}
			case tc.told:
				want = []string{"configmaps prod/web 7"}
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("observed writes (-want +got):\n%s", diff)
			}
			count := 0
			inner := client.WithWriteObserver(ctx, func(client.Write) { count++ })
			if err := tc.do(inner); err != nil {
				t.Fatal(err)
			}
			if len(told) != 2*len(want) || count != len(want) {
				t.Errorf("%d calls of the outer observer and %d of the inner one, want %d each", len(told)-len(want), count, len(want))
			}
		})
	}
}
