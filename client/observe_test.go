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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestWriteObserverReceivesTheVersionThatAWriteReplaced checks that the version is empty unless the server must have
// made the write in one step from it.
func TestWriteObserverReceivesTheVersionThatAWriteReplaced(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		code := 200
		if r.Method == http.MethodPost || strings.HasSuffix(r.URL.Path, "new") {
			code = 201
		}
		testserver.Reply(w, code, jsonType, configMapJSON(t, "web", "green"))
	})
	lean := client.Namespaced[leanConfigMap](s.Client(t), "prod")
	maps := client.Namespaced[corev1.ConfigMap](s.Client(t), "prod") // in protobuf
	object := func(name, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version}}
	}
	apply := &request.ApplyOptions{FieldManager: "me"}
	merge := func(body string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := lean.Patch(ctx, "web", request.MergePatch([]byte(body)), nil)
			return err
		}
	}
	for _, tc := range []struct {
		name, base string
		do         func(context.Context) error
	}{
		{"create", "0", func(ctx context.Context) error { _, err := maps.Create(ctx, object("web", ""), nil); return err }},
		{"create of a subresource", "", func(ctx context.Context) error {
			pods := client.Namespaced[corev1.Pod](s.Client(t), "prod")
			evictions := client.SubresourceOf[corev1.ConfigMap](pods, "eviction", corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			_, err := evictions.Create(ctx, "web", object("web", ""), nil)
			return err
		}},
		{"update", "", func(ctx context.Context) error { _, err := maps.Update(ctx, object("web", ""), nil); return err }},
		{"update of a version in protobuf", "6", func(ctx context.Context) error {
			_, err := maps.Update(ctx, object("web", "6"), nil)
			return err
		}},
		{"update of a version in JSON", "6", func(ctx context.Context) error {
			obj := leanWay().build("web", "")
			obj.SetResourceVersion("6")
			_, err := lean.Update(ctx, obj, nil)
			return err
		}},
		{"apply", "", func(ctx context.Context) error { _, err := maps.Apply(ctx, object("web", ""), apply); return err }},
		{"apply of a version", "6", func(ctx context.Context) error {
			_, err := maps.Apply(ctx, object("web", "6"), apply)
			return err
		}},
		{"apply of a new object", "0", func(ctx context.Context) error {
			_, err := maps.Apply(ctx, object("new", ""), apply)
			return err
		}},
		{"patch", "", merge(`{"data":{"a":"b"}}`)},
		{"patch of a version", "6", merge(`{"metadata":{"resourceVersion":"6"}}`)},
		{"patch with an invalid version", "", merge(`{"metadata":{"resourceVersion":6}}`)},
		{"JSON patch of a version", "", func(ctx context.Context) error {
			test := request.Op{Op: "test", Path: "/metadata/resourceVersion", Value: "6"}
			_, err := maps.Patch(ctx, "web", request.JSONPatch(test), nil)
			return err
		}},
		{"delete, which begins", "", func(ctx context.Context) error {
			return maps.Delete(ctx, "web", &request.DeleteOptions{ResourceVersion: "6"})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := "the observer was not called"
			ctx := client.WithWriteObserver(t.Context(), func(w client.Write) { base = w.Base })
			if err := tc.do(ctx); err != nil {
				t.Fatal(err)
			}
			if base != tc.base {
				t.Errorf("base = %q, want %q", base, tc.base)
			}
		})
	}
}
