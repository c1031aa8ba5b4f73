// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
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
		case strings.HasSuffix(r.URL.Path, "begun"):
			testserver.Reply(w, 200, jsonType, deletingJSON(t, "begun", []string{"example.com/a"}, 0))
		case strings.HasSuffix(r.URL.Path, "graceful"):
			testserver.Reply(w, 200, jsonType, deletingJSON(t, "graceful", nil, 30))
		case strings.HasSuffix(r.URL.Path, "finished"):
			testserver.Reply(w, 200, jsonType, deletingJSON(t, "finished", nil, 0))
		case r.URL.Path == "/api/v1/namespaces/prod":
			body := bytes.Replace(deletingJSON(t, "prod", nil, 0), []byte("ConfigMap"), []byte("Namespace"), 1)
			testserver.Reply(w, 200, jsonType, bytes.Replace(body, []byte(`"namespace":"prod",`), nil, 1))
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "gone"):
			testserver.Reply(w, 200, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"gone","uid":"u-1"}}`))
		case r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "web"):
			testserver.Reply(w, 200, jsonType, listBody(t, jsonType, "", "a"))
		default:
			testserver.Reply(w, 200, jsonType, configMapJSON(t, "web", "green"))
		}
	})
	c := s.Client(t)
	maps := client.Namespaced[leanConfigMap](c, "prod")
	build := leanWay().build
	patch := request.MergePatch([]byte(`{}`))
	apply := &request.ApplyOptions{FieldManager: "me"}
	const web = "configmaps prod/web version 7"
	for _, tc := range []struct {
		name string
		do   func(context.Context) error
		want string // the observed write; empty if none is observed
	}{
		{"create", func(ctx context.Context) error { _, err := maps.Create(ctx, build("web", ""), nil); return err }, web},
		{"update", func(ctx context.Context) error { _, err := maps.Update(ctx, build("web", ""), nil); return err }, web},
		{"patch", func(ctx context.Context) error { _, err := maps.Patch(ctx, "web", patch, nil); return err }, web},
		{"apply", func(ctx context.Context) error { _, err := maps.Apply(ctx, build("web", ""), apply); return err }, web},
		{"status", func(ctx context.Context) error { _, err := maps.Status().Patch(ctx, "web", patch, nil); return err }, web},
		{"patch during the deletion", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "begun", patch, nil)
			return err
		}, "configmaps prod/begun version 7"},
		{"patch during the grace period", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "graceful", patch, nil)
			return err
		}, "configmaps prod/graceful version 7"},
		{"patch that removes the last finalizer", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "finished", patch, nil)
			return err
		}, "configmaps prod/finished deleted u-1, which ends a deletion"},
		{"patch of a namespace, which has finalizers in its spec", func(ctx context.Context) error {
			_, err := client.ClusterWide[corev1.Namespace](c).Patch(ctx, "prod", patch, nil)
			return err
		}, "namespaces prod version 7"},
		{"get", func(ctx context.Context) error { _, err := maps.Get(ctx, "web", nil); return err }, ""},
		{"list", func(ctx context.Context) error { _, err := maps.List(ctx, nil); return err }, ""},
		{"delete", func(ctx context.Context) error { return maps.Delete(ctx, "gone", nil) }, "configmaps prod/gone deleted u-1"},
		{"delete of a kind whose response is the object", func(ctx context.Context) error {
			return maps.Delete(ctx, "web", nil)
		}, "configmaps prod/web deleted u-1"},
		{"delete without a grace period", func(ctx context.Context) error {
			return maps.Delete(ctx, "finished", nil)
		}, "configmaps prod/finished deleted u-1"},
		{"delete, which begins", func(ctx context.Context) error {
			return maps.Delete(ctx, "begun", nil)
		}, "configmaps prod/begun version 7"},
		{"delete with a grace period", func(ctx context.Context) error {
			return maps.Delete(ctx, "graceful", nil)
		}, "configmaps prod/graceful version 7"},
		{"a dry run of a delete", func(ctx context.Context) error {
			return maps.Delete(ctx, "gone", &request.DeleteOptions{DryRun: true})
		}, ""},
		{"a dry run", func(ctx context.Context) error {
			_, err := maps.Patch(ctx, "web", patch, &request.PatchOptions{DryRun: true})
			return err
		}, ""},
		{"an object that is not stored", func(ctx context.Context) error { _, err := maps.Update(ctx, build("virtual", ""), nil); return err }, ""},
		{"a rejected write", func(ctx context.Context) error {
			if _, err := maps.Update(ctx, build("broken", ""), nil); err == nil {
				t.Error("the write returned no error")
			}
			return nil
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var told []string
			ctx := client.WithWriteObserver(t.Context(), func(_ context.Context, w client.Write) {
				if w.Server != s.URL {
					t.Errorf("observed server %s, want %s", w.Server, s.URL)
				}
				what := "version " + w.Object.GetResourceVersion()
				if w.Deleted {
					what = fmt.Sprint("deleted ", w.Object.GetUID())
				}
				if w.Deleted && w.Object.GetDeletionTimestamp() != nil {
					what += ", which ends a deletion"
				}
				told = append(told, fmt.Sprint(w.Resource, " ", core.RefOf(w.Object), " ", what))
			})
			if err := tc.do(ctx); err != nil {
				t.Fatal(err)
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("observed writes (-want +got):\n%s", diff)
			}
			count := 0
			inner := client.WithWriteObserver(ctx, func(context.Context, client.Write) { count++ })
			if err := tc.do(inner); err != nil {
				t.Fatal(err)
			}
			if len(told) != 2*len(want) || count != len(want) {
				t.Errorf("%d calls of the outer observer and %d of the inner one, want %d each", len(told)-len(want), count, len(want))
			}
		})
	}
}

// deletingJSON is a stored object that is being deleted, in JSON.
func deletingJSON(t testing.TB, name string, finalizers []string, grace int64) []byte {
	t.Helper()
	cm := stored(name, "green")
	cm.APIVersion, cm.Kind = "v1", "ConfigMap"
	cm.DeletionTimestamp, cm.DeletionGracePeriodSeconds, cm.Finalizers = new(metav1.Now()), &grace, finalizers
	return testserver.JSON(t, cm)
}

// TestWriteObserverReceivesTheVersionThatAWriteReplaced checks that the version is empty unless the server must have
// made the write in one step from it.
func TestWriteObserverReceivesTheVersionThatAWriteReplaced(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, r *http.Request) {
		code := 200
		if r.Method == http.MethodDelete {
			testserver.Reply(w, 200, jsonType, deletingJSON(t, "web", nil, 30))
			return
		}
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
			ctx := client.WithWriteObserver(t.Context(), func(_ context.Context, w client.Write) { base = w.Base })
			if err := tc.do(ctx); err != nil {
				t.Fatal(err)
			}
			if base != tc.base {
				t.Errorf("base = %q, want %q", base, tc.base)
			}
		})
	}
}
