// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// example is a layout with a value in each field.
func example(dir string) layout {
	plan := newLayout(dir, Binaries{Dir: "/cache/containerd", Image: "/cache/image.tar"}, Input{
		Name:         "node-1",
		Kubelet:      []string{"/cache/kube-all", "kubelet"},
		Kubeconfig:   "/cluster/kubelet.kubeconfig",
		ClientCAFile: "/cluster/ca.crt",
		CertFile:     "/cluster/kubelet.crt",
		KeyFile:      "/cluster/kubelet.key",
		Port:         20001,
		HealthzPort:  20002,
	}, []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"})
	plan.Bridge, plan.Subnet, plan.Gateway = "kubego7", "10.213.7.0/24", "10.213.7.1"
	return plan
}

func TestConfigurationsMatchTheGoldenFiles(t *testing.T) {
	for _, name := range []string{"containerd.toml", "kubelet.yaml", "bridge.conflist", "env"} {
		t.Run(name, func(t *testing.T) {
			got, err := example("/cluster/node").render(name)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs; run with -update to accept the change (-golden +rendered):\n%s", name, diff)
			}
		})
	}
}

func TestNetworkConfigurationIsJSON(t *testing.T) {
	text, err := example(`/a "strange" folder`).render("bridge.conflist")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Plugins []struct{ Bridge string } }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Plugins) != 1 || list.Plugins[0].Bridge != "kubego7" {
		t.Errorf("plugins = %v, want one with the bridge kubego7", list.Plugins)
	}
}

func TestShellReadsTheEnvironmentUnchanged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), `a $strange "folder" that's called `+"`node`")
	if err := example(dir).writeScripts(dir); err != nil {
		t.Fatal(err)
	}
	script := `. "$0"; printf '%s\n' "$NODE_DIR" "$NODE_BIN" "$NODE_CGROUP" "$NODE_CGROUPS"`
	out, err := exec.CommandContext(t.Context(), "sh", "-euc", script, filepath.Join(dir, "env")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	group := cgroupName(dir)
	want := []string{
		dir, "/cache/containerd", "/sys/fs/cgroup/unified/" + group + "/daemons",
		"/sys/fs/cgroup/unified/" + group + " /sys/fs/cgroup/cpu/" + group,
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); diff != "" {
		t.Errorf("the shell reads (-want +got):\n%s", diff)
	}
}

func TestEveryFileOfANodeIsWritten(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(example(dir).writeScripts(dir), example(dir).write()); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{
		"hold": 0o700, "enter": 0o700, "cleanup": 0o700, "probe": 0o700, "env": 0o600, "containerd.toml": 0o600,
		"kubelet.yaml": 0o600, "cni/10-bridge.conflist": 0o600, "resolv.conf": 0o600, "run/kube-go-node": 0o600,
		"sysctl/net.ipv4.ip_forward": 0o600, "sysctl/vm.overcommit_memory": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != mode {
			t.Errorf("mode of %s = %v, want %v", name, info.Mode(), mode)
		}
	}
	for _, folder := range privateFolders() {
		if info, err := os.Stat(filepath.Join(dir, folder)); err != nil || !info.IsDir() {
			t.Errorf("the node's %s is not a folder: %v", folder, err)
		}
	}
}

func TestHolderMountsThePrivateFolders(t *testing.T) {
	script, err := scripts.ReadFile("scripts/hold")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(script), "for folder in ")
	list, _, _ = strings.Cut(list, ";")
	if !ok {
		t.Fatal("the script has no list of folders")
	}
	folders := map[string]bool{}
	for _, folder := range privateFolders() {
		folders[folder] = true
	}
	mounted := map[string]bool{}
	for folder := range strings.FieldsSeq(list) {
		mounted[folder] = true
	}
	if diff := cmp.Diff(folders, mounted); diff != "" {
		t.Errorf("folders (-checked +mounted):\n%s", diff)
	}
}
