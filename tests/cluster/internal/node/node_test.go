// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-go/sdk/tests/cluster/internal/node"
	"github.com/kube-go/sdk/tests/cluster/internal/process"
)

// requireNode skips a test on a machine that can't run a node. With KUBECLUSTER_NODE=1, it fails the test instead.
func requireNode(t *testing.T) {
	t.Helper()
	err := node.Check()
	switch {
	case err == nil:
	case os.Getenv("KUBECLUSTER_NODE") == "1":
		t.Fatal(err)
	default:
		t.Skipf("not run: %v", err)
	}
}

// someBinaries and someInput are for a node without a cluster and without programs.
func someBinaries() node.Binaries {
	return node.Binaries{Dir: "/bin", Image: "/bin/true", Forwarder: "/bin/true"}
}

func someInput() node.Input {
	return node.Input{
		Name: "node-1", Kubelet: []string{"/bin/true"}, Kubeconfig: "/dev/null", ClientCAFile: "/dev/null",
		CertFile: "/dev/null", KeyFile: "/dev/null", Server: "127.0.0.1:6443", Service: "10.96.0.1:443",
	}
}

func prepare(t *testing.T, dir string) *node.Node {
	t.Helper()
	n, err := node.Prepare(dir, someBinaries(), someInput())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// hold starts the holder of the node's namespace, which is sufficient for processes and mounts.
func hold(t *testing.T, n *node.Node) *process.Process {
	t.Helper()
	holder, err := process.Start(t.Context(), n.Specs()[0])
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := holder.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return holder
}

// enter runs a command inside the node and returns its output.
func enter(t *testing.T, dir string, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "enter"), command...).CombinedOutput()
	if err != nil {
		t.Fatalf("enter %v: %v: %s", command, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestTwoNodesShareNothing(t *testing.T) {
	requireNode(t)
	first, second := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "a node")
	hold(t, prepare(t, first))
	hold(t, prepare(t, second))
	enter(t, first, "sh", "-c", "echo mine >/run/file && mkdir /var/lib/mine && mount -t tmpfs none /var/lib/mine")
	for _, path := range []string{"/run/file", "/var/lib/mine"} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of a node exists on the machine, too: %v", path, err)
		}
		if out := enter(t, second, "sh", "-c", "ls -d "+path+" 2>&1 || true"); !strings.Contains(out, "No such file") {
			t.Errorf("%s of a node exists in another node, too: %s", path, out)
		}
	}
	if a, b := bridge(t, first), bridge(t, second); a == b {
		t.Errorf("the bridge of both is %s", a)
	}
	if a, b := settings(t, first)["NODE_CGROUP"], settings(t, second)["NODE_CGROUP"]; a == b {
		t.Errorf("the control group of both is %s", a)
	}
}

// settings returns the content of the file.
func settings(t *testing.T, dir string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[name] = strings.Trim(value, "'")
		}
	}
	return all
}

func TestContainerdCanMountOverlayfsInANodeOnOverlayfs(t *testing.T) {
	requireNode(t)
	base := t.TempDir()
	mount := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "mount", args...).CombinedOutput(); err != nil {
			t.Fatalf("mount %v: %v: %s", args, err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("umount", args[len(args)-1]).CombinedOutput(); err != nil {
				t.Errorf("umount: %v: %s", err, out)
			}
		})
	}
	mount("-t", "tmpfs", "none", base) // the temporary directory may be on overlayfs
	for _, folder := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	merged := filepath.Join(base, "merged")
	layers := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", base)
	mount("-t", "overlay", "none", "-o", layers, merged)
	dir := filepath.Join(merged, "node")
	n := prepare(t, dir)
	hold(t, n)
	enter(t, dir, "sh", "-ec", "mkdir -p /var/lib/containerd; cd /var/lib/containerd; mkdir lower upper work merged; "+
		"mount -t overlay none -o lowerdir=lower,upperdir=upper,workdir=work merged")
	if err := n.Cleanup(); err != nil {
		t.Fatal(err)
	}
}

func TestNodeDoesNotChangeTheMachinesParameters(t *testing.T) {
	requireNode(t)
	const parameter = "/proc/sys/net/ipv4/ip_forward"
	before, err := os.ReadFile(parameter)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hold(t, prepare(t, dir))
	if got := enter(t, dir, "sh", "-c", "echo 17 >"+parameter+"; cat "+parameter); got != "17" {
		t.Errorf("the node reads %s where it wrote 17", got)
	}
	after, err := os.ReadFile(parameter)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("%s (-before +after):\n%s", parameter, diff)
	}
}

func TestCleanupRemovesEverythingOfANode(t *testing.T) {
	requireNode(t)
	for _, test := range []struct {
		name    string
		cleanup func(n *node.Node, dir string) error
	}{
		{"by the process that prepared the node", func(n *node.Node, _ string) error { return n.Cleanup() }},
		{"by a process that has only its directory", func(_ *node.Node, dir string) error { return node.CleanupDir(dir) }},
		{"by a program", func(_ *node.Node, dir string) error {
			return exec.CommandContext(t.Context(), node.CleanupProgram(dir)).Run()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			n := prepare(t, dir)
			holder := hold(t, n)
			// A process that has left its parents, like those of containers, and a network like that of a pod.
			enter(t, dir, "sh", "-c", "setsid sleep 1h >/dev/null 2>&1 & ip link set "+bridge(t, dir)+" up")
			for range 2 {
				if err := test.cleanup(n, dir); err != nil {
					t.Fatal(err)
				}
				noTrace(t, dir, settings(t, dir))
			}
			<-holder.Done()
			if _, err := os.Stat(filepath.Join(dir, "kubelet.yaml")); err != nil {
				t.Errorf("the node's files do not remain: %v", err)
			}
		})
	}
}

// noTrace checks that the kernel has no objects of the node with these settings.
func noTrace(t *testing.T, dir string, known map[string]string) {
	t.Helper()
	for cgroup := range strings.FieldsSeq(known["NODE_CGROUPS"]) {
		if _, err := os.Stat(cgroup); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the control group %s remains: %v", cgroup, err)
		}
	}
	if left := bridges(t, dir); len(left) > 0 {
		t.Errorf("the bridges %v remain", left)
	}
	mounts, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range mounts {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), dir+"/") {
			t.Errorf("the process of %s still sees mounts of the node", file)
		}
	}
}

func TestNodeWhoseFilesWereDeletedIsRemoved(t *testing.T) {
	requireNode(t)
	dir := filepath.Join(t.TempDir(), "node")
	n := prepare(t, dir)
	holder := hold(t, n)
	known := settings(t, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	program, err := node.NewCleanupProgram(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(filepath.Dir(program))
	if out, err := exec.CommandContext(t.Context(), program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	<-holder.Done()
	noTrace(t, dir, known)
}

func TestPrepareReplacesAnEarlierNode(t *testing.T) {
	requireNode(t)
	dir := t.TempDir()
	earlier := hold(t, prepare(t, dir))
	hold(t, prepare(t, dir))
	<-earlier.Done()
	bridge(t, dir) // there is one
}

func TestFailedPrepareRemovesEverything(t *testing.T) {
	requireNode(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cni"), nil, 0o600); err != nil { // which should be a folder
		t.Fatal(err)
	}
	if _, err := node.Prepare(dir, someBinaries(), someInput()); err == nil || !strings.Contains(err.Error(), "prepare node node-1: ") {
		t.Errorf("Prepare() = %v, want an error with the node's name", err)
	}
	if left := bridges(t, dir); len(left) > 0 {
		t.Errorf("the bridges %v remain", left)
	}
}

// bridges returns the names of the interfaces that belong to the node in dir. Other nodes may start and end in the
// meantime.
func bridges(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/sys/class/net/*/ifalias")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		if alias, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(alias)) == dir {
			names = append(names, filepath.Base(filepath.Dir(file)))
		}
	}
	return names
}

// bridge returns the name of the bridge of the node in dir.
func bridge(t *testing.T, dir string) string {
	t.Helper()
	names := bridges(t, dir)
	if len(names) != 1 {
		t.Fatalf("the node in %s has the bridges %v, want one", dir, names)
	}
	return names[0]
}

func TestEnterFailsWhenTheNodeIsNotRunning(t *testing.T) {
	requireNode(t)
	dir := t.TempDir()
	holder := hold(t, prepare(t, dir))
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "enter"), "echo", "done").CombinedOutput(); err == nil {
		t.Errorf("it was run: %s", out)
	}
	// Now another process has the PID: this one.
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte("self\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "enter"), "echo", "done").CombinedOutput()
	if want := "the node in " + dir + " does not run"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("enter prints %q, %v, want %q", out, err, want)
	}
}

func TestRestartedHolderHoldsTheSameNode(t *testing.T) {
	requireNode(t)
	dir := t.TempDir()
	n := prepare(t, dir)
	holder := hold(t, n)
	enter(t, dir, "sh", "-c", "mkdir /run/mount && mount -t tmpfs none /run/mount && echo kept >/run/mount/file")
	enter(t, dir, "sh", "-c", "setsid sleep 1h >/dev/null 2>&1 &") // like containerd in a real node
	if err := holder.Kill(); err != nil {
		t.Fatal(err)
	}
	hold(t, n)
	if got := enter(t, dir, "cat", "/run/mount/file"); got != "kept" {
		t.Errorf("the file in the mount has %q", got)
	}
}

func TestNodesThatArePreparedConcurrentlyHaveDifferentBridges(t *testing.T) {
	requireNode(t)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	var wait sync.WaitGroup
	for _, dir := range dirs {
		wait.Go(func() {
			if _, err := node.Prepare(dir, someBinaries(), someInput()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	used := map[string]string{}
	for _, dir := range dirs {
		name := bridge(t, dir)
		if other, ok := used[name]; ok {
			t.Errorf("%s and %s both have the bridge %s", dir, other, name)
		}
		used[name] = dir
		if err := node.CleanupDir(dir); err != nil {
			t.Error(err)
		}
	}
}

func TestImportEndsWhileItsReaderBlocks(t *testing.T) {
	cause := errors.New("out of patience")
	for _, test := range []struct {
		name, enter string // the script in place of enter
		timeout     time.Duration
		wantErr     string
	}{
		{name: "when the context ends", enter: "exec sleep 1000", timeout: 100 * time.Millisecond, wantErr: cause.Error()},
		{name: "when ctr fails", enter: "echo broken; exit 1", timeout: time.Hour, wantErr: "exit status 1: broken"},
		{name: "when ctr succeeds", enter: "exit 0", timeout: time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\n" + test.enter + "\n"
			if err := os.WriteFile(filepath.Join(dir, "enter"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			archive, writer := io.Pipe()
			t.Cleanup(func() { _ = writer.Close() }) // never fails
			ctx, cancel := context.WithTimeoutCause(t.Context(), test.timeout, cause)
			defer cancel()
			result := make(chan error, 1)
			go func() { result <- node.Import(ctx, dir, archive) }()
			select {
			case err := <-result:
				if got := fmt.Sprint(err); test.wantErr != "" && got != test.wantErr || test.wantErr == "" && err != nil {
					t.Errorf("Import = %v, want %q", err, test.wantErr)
				}
			case <-time.After(time.Minute):
				t.Error("Import does not return")
			}
		})
	}
}

func TestImportReportsTheErrorOfItsReader(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "enter"), []byte("#!/bin/sh\nexec cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := node.Import(t.Context(), dir, iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("Import = %v, want %v", err, broken)
	}
}

func TestCleanupOfADirectoryWithoutANodeSucceeds(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if err := node.CleanupDir(dir); err != nil {
			t.Errorf("CleanupDir() = %v", err)
		}
	}
}
