// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/tests/cluster"
)

// copied is an original and its copy in a namespace.
type copied struct{ maps *kube.API[corev1.ConfigMap] }

// newCopied creates an original and a copy without data in a new namespace.
func newCopied(t *testing.T, c *kube.Client, greeting string) copied {
	t.Helper()
	maps := kube.Namespaced[corev1.ConfigMap](c, newNamespace(t, c))
	for _, cm := range []*corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Name: "original"}, Data: map[string]string{"greeting": greeting}},
		{ObjectMeta: metav1.ObjectMeta{Name: "copy", Labels: map[string]string{"copy-of": "original"}}},
	} {
		if _, err := maps.Create(limit(t), cm, nil); err != nil {
			t.Fatal(err)
		}
	}
	return copied{maps}
}

// change changes the original.
func (c copied) change(t *testing.T, greeting string) {
	t.Helper()
	patch := kube.MergePatch(map[string]any{"data": map[string]string{"greeting": greeting}})
	if _, err := c.maps.Patch(limit(t), "original", patch, nil); err != nil {
		t.Fatal(err)
	}
}

// await waits until the copy has the data.
func (c copied) await(t *testing.T, greeting string) {
	t.Helper()
	_, err := kube.Await(limit(t), c.maps, "copy", func(cm *corev1.ConfigMap) error {
		if got := cm.Data["greeting"]; got != greeting {
			return fmt.Errorf("the greeting is %q, want %q", got, greeting)
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatalf("the copy in %s: %v", c.maps.Namespace(), err)
	}
}

// TestSeveralClustersJoinFailAndLeaveIndependently checks the program several-clusters with two API servers, one of
// which joins, stops, comes back, leaves and joins again.
func TestSeveralClustersJoinFailAndLeaveIndependently(t *testing.T) {
	t.Parallel()
	here := newCopied(t, connect(t, nil), "here 1")
	other, err := startCluster(t.Context(), &cluster.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := kube.LoadConfig(t.Context(), &kube.ConfigOptions{Path: other.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	there := newCopied(t, connect(t, &kube.ClientOptions{Config: cfg}), "there 1")

	dir := t.TempDir()
	mounted := filepath.Join(dir, "..version") // as in a mounted Secret
	if err := os.Mkdir(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"..data": "..version", "..version/eu": other.Kubeconfig()} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	program := call{program: "several-clusters", args: []string{dir}}.start(t)
	awaitLog := func(text string, times int) {
		t.Helper()
		eventually(t, "the log", func(context.Context) error {
			if n := strings.Count(program.stderr.String(), text); n != times {
				return fmt.Errorf("it contains %q %d times, want %d:\n%s", text, n, times, program.stderr.String())
			}
			return nil
		})
	}
	join := func() {
		t.Helper()
		// With a part of the file, the cluster would join, leave and join again.
		if err := os.Symlink("..data/eu", filepath.Join(dir, "eu")); err != nil {
			t.Fatal(err)
		}
	}
	here.await(t, "here 1")
	join()
	there.await(t, "there 1")
	// The mapper finds the copies of each cluster.
	here.change(t, "here 2")
	there.change(t, "there 2")
	here.await(t, "here 2")
	there.await(t, "there 2")
	awaitLog("copied controller=configmap cluster=eu kind=ConfigMap object="+there.maps.Namespace()+"/copy", 2)

	server := other.Component(cluster.APIServer)
	if err := server.Stop(limit(t)); err != nil {
		t.Fatal(err)
	}
	here.change(t, "here 3")
	here.await(t, "here 3")
	if err := server.Start(limit(t)); err != nil {
		t.Fatal(err)
	}
	if err := other.Ready(limit(t)); err != nil {
		t.Fatal(err)
	}
	there.change(t, "there 3")
	there.await(t, "there 3")

	if err := os.Remove(filepath.Join(dir, "eu")); err != nil {
		t.Fatal(err)
	}
	awaitLog("the cluster has left", 1)
	there.change(t, "there 4")
	here.change(t, "here 4")
	here.await(t, "here 4")
	if cm, err := there.maps.Get(limit(t), "copy", nil); err != nil || cm.Data["greeting"] != "there 3" {
		t.Errorf("the copy in the cluster that has left is %v, %v, want it unchanged", cm, err)
	}
	join()
	there.await(t, "there 4")

	got := program.stop()
	if got.code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0:\n%s", got.code, got.stderr)
	}
	if strings.Contains(got.stderr, "panic") {
		t.Errorf("the log has a panic:\n%s", got.stderr)
	}
}
