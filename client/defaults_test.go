// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/client/internal/testserver"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/request"
)

// TestFieldManagerOfTheClientIsTheDefaultOfEachWrite sends each write with and without a field manager in its options.
func TestFieldManagerOfTheClientIsTheDefaultOfEachWrite(t *testing.T) {
	s := testserver.New(t, func(w http.ResponseWriter, _ *http.Request) {
		testserver.Reply(w, 200, jsonType, []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"prod","resourceVersion":"7"}}`))
	})
	c := testserver.NewClient(t, &client.Options{Config: s.Config(), FieldManager: "web-controller"})
	maps := client.Namespaced[corev1.ConfigMap](c, "prod")
	open := client.Of[corev1.ConfigMap](c, core.Resource{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}).In("prod")
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"a": "b"}}
	patch := request.MergePatch(map[string]any{"data": map[string]any{"a": "c"}})
	change := func(m *corev1.ConfigMap) error { m.Data = map[string]string{"a": "c"}; return nil }
	for name, write := range map[string]func(ctx context.Context, manager string) error{
		"create": func(ctx context.Context, m string) error {
			return second(maps.Create(ctx, obj, &request.CreateOptions{FieldManager: m}))
		},
		"update": func(ctx context.Context, m string) error {
			return second(maps.Update(ctx, obj, &request.UpdateOptions{FieldManager: m}))
		},
		"patch": func(ctx context.Context, m string) error {
			return second(maps.Patch(ctx, "m", patch, &request.PatchOptions{FieldManager: m}))
		},
		"apply": func(ctx context.Context, m string) error {
			return second(maps.Apply(ctx, obj, &request.ApplyOptions{FieldManager: m}))
		},
		"modify": func(ctx context.Context, m string) error {
			return second(maps.Modify(ctx, "m", change, &client.ModifyOptions{FieldManager: m}))
		},
		"patch of a subresource": func(ctx context.Context, m string) error {
			return second(open.Subresource("status").Patch(ctx, "m", patch, &request.PatchOptions{FieldManager: m}))
		},
	} {
		for options, want := range map[string]string{"": "web-controller", "other": "other"} {
			if err := write(t.Context(), options); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			asked := s.Asked()
			if last := asked[len(asked)-1].URI; !strings.Contains(last, "fieldManager="+want) {
				t.Errorf("%s with the field manager %q sent %s, want %s in it", name, options, last, want)
			}
		}
	}
	for name, write := range map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error { return second(maps.Create(ctx, obj, nil)) },
		"update": func(ctx context.Context) error { return second(maps.Update(ctx, obj, nil)) },
		"patch":  func(ctx context.Context) error { return second(maps.Patch(ctx, "m", patch, nil)) },
		"apply":  func(ctx context.Context) error { return second(maps.Apply(ctx, obj, nil)) },
	} {
		if err := write(t.Context()); err != nil {
			t.Errorf("%s without options: %v", name, err)
		}
		asked := s.Asked()
		if last := asked[len(asked)-1].URI; !strings.Contains(last, "fieldManager=web-controller") {
			t.Errorf("%s without options sent %s, want the field manager of the client", name, last)
		}
	}
}

// second returns the error of a verb.
func second[T any](_ T, err error) error { return err }

// TestContextChoosesAContextOfTheKubeconfig covers the option, and the combinations that New refuses.
func TestContextChoosesAContextOfTheKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	content := `{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"a"}},{"name":"b","context":{"cluster":"b","namespace":"team"}}],
		"clusters":[{"name":"a","cluster":{"server":"https://a.test"}},{"name":"b","cluster":{"server":"https://b.test"}}]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	c, err := client.New(t.Context(), &client.Options{Context: "b"})
	if err != nil || c.Server() != "https://b.test" || c.Namespace() != "team" {
		t.Fatalf("client = %v, %v; want that of context b", c, err)
	}
	for _, tc := range []struct {
		name string
		in   client.Options
		err  string
	}{
		{"an unknown context", client.Options{Context: "c"}, `"c"`},
		{"a context beside a config", client.Options{Context: "b", Config: newConfig("https://a.test")}, "Options.Context: is \"b\""},
		{"a context beside a shared client", client.Options{Context: "b", Share: c}, "Options.Context: is \"b\""},
		{"a field manager with a line break", client.Options{Context: "b", FieldManager: "a\nb"}, "Options.FieldManager: "},
		{"a field manager that is too long", client.Options{Context: "b", FieldManager: strings.Repeat("x", 129)}, "128"},
	} {
		if _, err := client.New(t.Context(), &tc.in); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error = %v, want %s in it", tc.name, err, tc.err)
		}
	}
}
