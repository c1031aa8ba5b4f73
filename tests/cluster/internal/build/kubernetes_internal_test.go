// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultVersionIsTheEmbeddedOne(t *testing.T) {
	module, err := controlPlane.ReadFile("_controlplane/go.mod.txt")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`\sk8s\.io/kubernetes (v\S+)`).FindSubmatch(module)
	if match == nil || string(match[1]) != DefaultVersion {
		t.Errorf("the embedded go.mod requires %q, want %s", match, DefaultVersion)
	}
}

func TestModuleForTakesStagingModulesAndEtcdFromUpstream(t *testing.T) {
	proxy := t.TempDir()
	dir := filepath.Join(proxy, "k8s.io", "kubernetes", "@v")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	upstream := `module k8s.io/kubernetes

go 1.26.0

require (
	go.etcd.io/etcd/client/v3 v3.7.1
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.1.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/cri-api => ./staging/src/k8s.io/cri-api
)
`
	for name, content := range map[string]string{"v1.98.2.info": `{"Version":"v1.98.2"}`, "v1.98.2.mod": upstream} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw") // or the directory could not be removed
	cache := filepath.Join(t.TempDir(), "cache")
	got, err := moduleFor(t.Context(), "v1.98.2", cache)
	if err != nil {
		t.Fatal(err)
	}
	want := `module kube-all

go 1.26.0

require (
	go.etcd.io/etcd/server/v3 v3.7.1
	k8s.io/kubernetes v1.98.2
)

replace (
	k8s.io/api => k8s.io/api v0.98.2
	k8s.io/cri-api => k8s.io/cri-api v0.98.2
)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("moduleFor (-want +got):\n%s", diff)
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	if again, err := moduleFor(t.Context(), "v1.98.2", cache); err != nil || string(again) != want {
		t.Errorf("moduleFor without a network = %q, %v; want the same", again, err)
	}
}
