// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster"
)

// try runs the command with its own cache.
func try(t *testing.T, cache string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECLUSTER_CACHE", cache)
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestEachFormOfHelpPrintsTheUsage(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"up", "--help"}, {"logs", "-h"}} {
		code, stdout, stderr := try(t, t.TempDir(), args...)
		if code != 0 || stdout != usage || stderr != "" {
			t.Errorf("kubecluster %s = %d, %q, %q; want the usage text", strings.Join(args, " "), code, stdout, stderr)
		}
	}
}

func TestUsageErrorsAreReported(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(foreign, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"no command", nil, "missing command", 2},
		{"an unknown command", []string{"start"}, `unknown command "start"`, 2},
		{"an unknown flag", []string{"up", "--fast"}, "flag provided but not defined: -fast", 2},
		{"another command's flag", []string{"down", "--node"}, "not defined: -node", 2},
		{"a flag that is not a number", []string{"up", "--api-port", "x"}, "invalid value", 2},
		{"a feature gate without a value", []string{"up", "--feature-gate", "A"}, "want NAME=true or NAME=false", 2},
		{"too many arguments", []string{"up", "etcd"}, "up takes 0 arguments, not 1", 2},
		{"logs without a component", []string{"logs"}, "logs takes 1 arguments, not 0", 2},
		{"a name with a path", []string{"up", "--name", "../x"}, `the name "../x" is invalid`, 2},
		{"an invalid version", []string{"up", "--kubernetes-version", "latest"}, `"latest": want one like v1.`, 1},
		{"a kubeconfig of another program", []string{"up", "--kubeconfig", foreign}, "was not written by kubecluster", 1},
		{"a kubeconfig that is a device", []string{"up", "--kubeconfig", os.DevNull}, "is not a regular file", 1},
		{"status of a missing cluster", []string{"status"}, "the cluster \"default\" is not up; start it with `" + program() + " up`", 1},
		{"load without a file", []string{"load"}, "load takes 1 arguments, not 0", 2},
		{"logs of a missing cluster", []string{"logs", "etcd", "--name", "x"}, "start it with `" + program() + " up --name x`", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := try(t, t.TempDir(), tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("= %d, %q, %q; want %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
		})
	}
}

func TestFlagsOfUpReachTheOptions(t *testing.T) {
	t.Setenv("KUBECLUSTER_CACHE", "/cache")
	c := command{name: "default"}
	err := c.parse("up", []string{
		"--node", "--name", "a-1", "--kubernetes-version=v1.2.3", "--api-port=6443", "--kubeconfig", "file",
		"--api-server-arg=--a=1", "--api-server-arg=--b", "--feature-gate", "A=true", "--feature-gate=B=false",
		"--ready-timeout=5m",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.Options{
		Node: true, KubernetesVersion: "v1.2.3", APIPort: 6443, ReadyTimeout: 5 * time.Minute,
		APIServerArgs: []string{"--a=1", "--b"}, FeatureGates: map[string]bool{"A": true, "B": false},
	}
	if diff := cmp.Diff(want, c.options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if c.dir() != "/cache/clusters/a-1" || c.kubeconfig != "file" {
		t.Errorf("directory %q, kubeconfig %q", c.dir(), c.kubeconfig)
	}
}

func TestPrintedCommandsFindTheSameCluster(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"the default cluster", nil, "down"},
		{"a name", []string{"--name", "a"}, "down --name a"},
		{"a cache", []string{"--cache", "/x"}, "down --cache /x"},
		{"a name and a cache", []string{"--cache=/x", "--name=a"}, "down --name a --cache /x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECLUSTER_CACHE", "/variable") // it applies to the printed command, too
			c := command{name: "default"}
			if err := c.parse("up", tt.args); err != nil {
				t.Fatal(err)
			}
			if got, want := c.line("down"), program()+" "+tt.want; got != want {
				t.Errorf("line = %q, want %q", got, want)
			}
		})
	}
}

func TestPrintedCommandsHaveACacheThatTheyWouldNotFind(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECLUSTER_CACHE", "")
	c := command{name: "default"}
	if err := c.parse("up", nil); err != nil {
		t.Fatal(err)
	}
	for program, more := range map[string]string{
		"go -C /sdk run ./cmd/kubecluster": " --cache " + working + "/.cache/kubecluster",
		"kubecluster":                      "",
	} {
		if got, want := c.lineOf(program, "down"), program+" down"+more; got != want {
			t.Errorf("line = %q, want %q", got, want)
		}
	}
}

func TestPrintedCommandsRunThisProgram(t *testing.T) {
	const path = "go run github.com/kube-go/sdk/tests/cluster/cmd/kubecluster"
	module := filepath.Join(t.TempDir(), "a folder")
	if err := os.Mkdir(module, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(module, "cmd/kubecluster/main.go")
	for _, tt := range []struct{ name, version, source, want string }{
		{"a release", "v1.2.3", checkout, path + "@v1.2.3"},
		{"a release candidate", "v1.2.3-rc.1", checkout, path + "@v1.2.3-rc.1"},
		{"a checkout", "(devel)", checkout, "go -C '" + module + "' run ./cmd/kubecluster"},
		{"a commit", "v0.0.0-20261129000000-0123456789ab+dirty", checkout, "go -C '" + module + "' run ./cmd/kubecluster"},
		{"a checkout that was removed", "(devel)", "/missing/cmd/kubecluster/main.go", path},
		{"a build without paths", "(devel)", "github.com/kube-go/sdk/tests/cluster/cmd/kubecluster/main.go", path},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := goRun(tt.version, tt.source); got != tt.want {
				t.Errorf("goRun = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestKubeconfigIsReadableOnlyByItsOwner(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	existing, link := filepath.Join(dir, "existing"), filepath.Join(dir, "link")
	if err := os.Symlink(existing, link); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "folder", "new"), existing, link} {
		if err := os.WriteFile(existing, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(existing, 0o644); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		c := command{kubeconfig: file}
		if err := c.writeKubeconfig(source); err != nil {
			t.Fatal(err)
		}
		if content, err := os.ReadFile(file); err != nil || string(content) != "key" {
			t.Errorf("%s has %q, %v; want key", file, content, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, want -rw-------", file, info.Mode())
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link has the mode %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}

func TestKubeconfigThatKubectlHasRewrittenIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	for content, want := range map[string]bool{
		"clusters:\n- cluster:\n    server: a\n  name: kubecluster\n":                                          true,
		"clusters:\n- cluster:\n    server: a\n  name: kubecluster\n- cluster:\n    server: b\n  name: mine\n": false,
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c := command{kubeconfig: file}
		if err := c.checkKubeconfig(); (err == nil) != want {
			t.Errorf("a file with %q: %v, want success: %t", content, err, want)
		}
	}
}

func TestDownWithoutAClusterSucceeds(t *testing.T) {
	code, stdout, stderr := try(t, t.TempDir(), "down")
	if code != 0 || stdout != "The cluster \"default\" is not up, and nothing of it remains.\n" || stderr != "" {
		t.Errorf("down = %d, %q, %q", code, stdout, stderr)
	}
}

func TestDownEndsAClusterWhoseFilesWereDeleted(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are found only in /proc")
	}
	cache := t.TempDir()
	process := exec.Command("sleep", "1000")
	process.Env = append(os.Environ(), "KUBECLUSTER_DIR="+filepath.Join(cache, "clusters", "default"))
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill() }) // fails if it has ended
	if code, _, stderr := try(t, cache, "down"); code != 0 {
		t.Errorf("down = %d, %q", code, stderr)
	}
	if err := process.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process ends with %v", err)
	}
}

func TestUpStatusLogsAndDownOfACluster(t *testing.T) {
	programs, err := cluster.DefaultCacheDir() // for the built programs; the cluster belongs to this test
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	name := fmt.Sprintf("test-%d", os.Getpid())
	on := func(args ...string) (int, string, string) { return try(t, programs, append(args, "--name", name)...) }
	t.Cleanup(func() {
		run(context.Background(), []string{"down", "--name", name, "--cache", programs}, t.Output(), t.Output())
	})

	code, stdout, stderr := on("up", "--kubeconfig", file)
	if code != 0 || !strings.Contains(stdout, "export KUBECONFIG="+file) || !strings.Contains(stderr, "ready: https://127.0.0.1:") {
		t.Fatalf("up = %d, %q, %q", code, stdout, stderr)
	}
	content, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(content, []byte("client-certificate-data")) {
		t.Errorf("kubeconfig = %q, %v", content, err)
	}
	if code, _, stderr := on("up"); code != 1 || !strings.Contains(stderr, "is up already") {
		t.Errorf("a second up = %d, %q", code, stderr)
	}
	if code, stdout, stderr := on("status"); code != 0 || strings.Count(stdout, "  ready\n") != 4 {
		t.Errorf("status = %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := on("load", "missing.tar"); code != 1 || !strings.Contains(stderr, "open missing.tar: ") {
		t.Errorf("load of a missing file = %d, %q", code, stderr)
	}
	if code, _, stderr := on("load", os.DevNull); code != 1 || !strings.Contains(stderr, "the cluster has no node") {
		t.Errorf("load without a node = %d, %q", code, stderr)
	}
	listed := name + " " + cluster.DefaultKubernetesVersion + " 4 of 4 running https://127.0.0.1:"
	if code, stdout, stderr := on("list"); code != 0 || !strings.Contains(strings.Join(strings.Fields(stdout), " "), listed) {
		t.Errorf("list = %d, %q, %q; want %q in it", code, stdout, stderr, listed)
	}
	if code, stdout, stderr := on("logs", cluster.Etcd); code != 0 || !strings.Contains(stdout, `"level":"info"`) {
		t.Errorf("logs = %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := on("logs", "kube-proxy"); code != 1 || !strings.Contains(stderr, "want one of etcd, kube-apiserver, ") {
		t.Errorf("logs of an unknown component = %d, %q", code, stderr)
	}

	dir := filepath.Join(programs, "clusters", name)
	opened, err := cluster.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	paused := opened.Component(cluster.ControllerManager)
	if err := paused.Pause(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := on("status"); code != 1 || !strings.Contains(stderr, "1 of 4 components") {
		t.Errorf("status with a paused controller manager = %d, %q, %q", code, stdout, stderr)
	}
	if err := paused.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := opened.Component(cluster.Scheduler).Kill(); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := on("logs", "--follow", cluster.Scheduler); code != 0 || stdout == "" { // until now
		t.Errorf("logs of an ended component = %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, stderr := on("status"); code != 1 || !strings.Contains(stderr, "1 of 4 components") ||
		!strings.Contains(stdout, "ended; see "+program()+" logs kube-scheduler") {
		t.Errorf("status with a dead scheduler = %d, %q, %q", code, stdout, stderr)
	}

	if code, stdout, stderr := on("down"); code != 0 || !strings.Contains(stdout, "is down") {
		t.Errorf("down = %d, %q, %q", code, stdout, stderr)
	}
	if left, err := filepath.Glob(dir + "*"); err != nil || len(left) > 0 {
		t.Errorf("remaining files: %v, %v", left, err)
	}
}
