// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package node runs a Kubernetes node on this machine, possibly beside others: containerd, a kubelet and a bridge
// network, with real containers. It needs root and Linux; [Check] reports missing requirements.
//
// A node has its own mount namespace, in which /run, /var/lib and /var/log are folders of the node's directory, and its
// own control group with all of its processes. So nodes share only the kernel, and when the processes end, so do the
// mounts, the network namespaces and the containers.
package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/process"
	"github.com/kube-go/sdk/tests/cluster/internal/rest"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

// Input is the information about its cluster that a node needs.
type Input struct {
	// Name is the Node's name.
	Name string
	// Kubelet is the program of the kubelet, followed by the arguments that precede the flags.
	Kubelet []string
	// Kubeconfig is the file with which the kubelet reaches the API server. Its user is system:node:NAME in the group
	// system:nodes.
	Kubeconfig string
	// Server is the address of the API server, and Service that of its service, which pods use: both are HOST:PORT.
	Server, Service string
	// ClientCAFile is the certificate authority of the kubelet's clients.
	ClientCAFile string
	// CertFile and KeyFile are the kubelet's serving certificate, for 127.0.0.1.
	CertFile, KeyFile string
	// Port is the kubelet's port on 127.0.0.1, and HealthzPort that of its health check. No other program may take them
	// while the kubelet is down.
	Port, HealthzPort int
	// LogDir is the directory of the programs' logs. Default: the node's directory.
	LogDir string
	// Env is added to the environment of the node's programs.
	Env []string
}

// Node is a prepared node. It is safe for concurrent use.
type Node struct {
	dir    string
	bin    Binaries
	in     Input
	bridge string
}

// layout is the data from which a node's files are rendered.
type layout struct {
	Input
	Dir             string
	Bin             string
	Image           string
	Bridge          string
	Subnet, Gateway string
	Cgroup          string   // below each hierarchy's mount point
	Cgroups         []string // the directories
	DaemonCgroup    string
}

// Prepare creates a node's control groups, bridge and files. dir is an absolute path that only this node uses.
// [Node.Cleanup] undoes it. [Node.Specs] returns the processes to start.
func Prepare(dir string, bin Binaries, in Input) (*Node, error) {
	n := &Node{dir: dir, bin: bin, in: in}
	if err := n.prepare(); err != nil {
		return nil, fmt.Errorf("prepare node %s: %w", in.Name, errors.Join(err, n.Cleanup()))
	}
	return n, nil
}

func (n *Node) prepare() error {
	if err := n.Cleanup(); err != nil { // an earlier node may have left files
		return err
	}
	in := &n.in
	paths := []string{
		n.dir,
		n.bin.Dir,
		n.bin.Image,
		n.bin.Forwarder,
		in.Kubelet[0],
		in.Kubeconfig,
		in.ClientCAFile,
		in.CertFile,
		in.KeyFile,
	}
	if err := visible(paths...); err != nil {
		return err
	}
	if in.LogDir == "" {
		in.LogDir = n.dir
	}
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return err
	}
	plan := newLayout(n.dir, n.bin, *in, hierarchies)
	if err := plan.writeScripts(n.dir); err != nil { // before anything that cleanup has to remove if this process is killed
		return err
	}
	if err := claimBridge(&plan); err != nil {
		return err
	}
	n.bridge = plan.Bridge
	if err := plan.write(); err != nil {
		return err
	}
	return makeCgroups(hierarchies, plan)
}

func newLayout(dir string, bin Binaries, in Input, hierarchies []string) layout {
	plan := layout{Input: in, Dir: dir, Bin: bin.Dir, Image: testimage.Name, Cgroup: cgroupName(dir)}
	for _, hierarchy := range hierarchies {
		plan.Cgroups = append(plan.Cgroups, filepath.Join(hierarchy, plan.Cgroup))
	}
	plan.DaemonCgroup = filepath.Join(plan.Cgroups[0], "daemons")
	return plan
}

// visible returns an error if the node's private folders hide one of the paths.
func visible(paths ...string) error {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%s is not an absolute path", path)
		}
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, folder := range privateFolders() {
			if within(folder, path) || within(folder, resolved) {
				return fmt.Errorf("%s: a node has its own %s and can't see this path; use another folder", path, folder)
			}
		}
	}
	return nil
}

func within(folder, path string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// privateFolders are the folders that scripts/hold mounts for the node.
func privateFolders() []string { return []string{"/run", "/var/lib", "/var/log"} }

// Specs returns the node's processes in the order in which they start, each when the previous one is ready: the holder
// of its mount namespace, then containerd, which is ready once it has the test image, then the forwarder and the
// kubelet.
func (n *Node) Specs() []process.Spec {
	enter := filepath.Join(n.dir, "enter")
	kubelet := append([]string{enter}, n.in.Kubelet...)
	kubelet = append(kubelet,
		"--config", filepath.Join(n.dir, "kubelet.yaml"),
		"--kubeconfig", n.in.Kubeconfig,
		"--hostname-override", n.in.Name,
		"--cloud-provider", "external", // so that it keeps the address that AfterReady gives it
	)
	specs := []process.Spec{
		n.spec("node", filepath.Join(n.dir, "hold")),
		n.spec("containerd", enter, "containerd", "--config", filepath.Join(n.dir, "containerd.toml")),
		n.spec("forwarder", enter, n.bin.Forwarder, n.bridge, n.in.Service, n.in.Server, forwarderPID(n.dir)),
		n.spec("kubelet", kubelet...),
	}
	checks := Checks(n.dir, n.bin.Image, n.in.HealthzPort)
	for i := range specs {
		specs[i].Ready = checks[specs[i].Name]
	}
	return specs
}

func (n *Node) spec(name string, command ...string) process.Spec {
	return process.Spec{
		Name:    name,
		Path:    command[0],
		Args:    command[1:],
		Env:     n.in.Env,
		LogFile: filepath.Join(n.in.LogDir, name+".log"),
	}
}

// Checks returns the checks of the processes of [Node.Specs] by their names, for a node in dir that another process may
// have prepared. The arguments are those of [Prepare]: image is [Binaries].Image, and healthzPort [Input].HealthzPort.
func Checks(dir, image string, healthzPort int) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"node":       func(context.Context) error { return held(dir) },
		"containerd": func(ctx context.Context) error { return importImage(ctx, dir, image) },
		"forwarder":  func(context.Context) error { return forwards(dir) },
		"kubelet":    rest.Healthy(http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/healthz", healthzPort)),
	}
}

func forwarderPID(dir string) string { return filepath.Join(dir, "forwarder.pid") }

// forwards reports whether the forwarder listens.
func forwards(dir string) error {
	pid, err := os.ReadFile(forwarderPID(dir))
	if err == nil {
		_, err = os.Stat(filepath.Join("/proc", string(pid)))
	}
	return err
}

// held reports whether the holder has created the mount namespace.
func held(dir string) error {
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return err
	}
	mark, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "root/run/kube-go-node"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(mark)) != dir {
		return errors.New("the mount namespace is another node's")
	}
	return nil
}

// importImage imports the test image, which succeeds when containerd works.
func importImage(ctx context.Context, dir, image string) error {
	if _, err := os.Stat(filepath.Join(dir, "run/containerd/containerd.sock")); err != nil {
		return err
	}
	archive, err := os.Open(image)
	if err != nil {
		return err
	}
	defer archive.Close()
	return Import(ctx, dir, archive)
}

// readTimeout is the time in which a Read of an archive must return after the import has ended.
const readTimeout = time.Second

// Import loads the images of an archive into the running node in dir. If a Read of the archive blocks, Import returns
// shortly after its context or ctr has ended, and that Read continues.
func Import(ctx context.Context, dir string, archive io.Reader) error {
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "enter"), "ctr", "--namespace", "k8s.io", "images", "import", "-")
	// With cmd.Stdin, Wait would wait until the last Read has returned, even after cmd.WaitDelay.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	read := make(chan error, 1)
	go func() {
		source := reader{Reader: archive}
		_, _ = io.Copy(stdin, &source) // a write fails only when ctr has ended
		_ = stdin.Close()
		read <- source.err
	}()
	if err = cmd.Wait(); err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(out.Bytes()))
	}
	select {
	case failed := <-read:
		err = errors.Join(failed, err)
	case <-time.After(readTimeout):
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reader remembers the error of an io.Reader.
type reader struct {
	io.Reader
	err error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("read the archive: %w", err)
	}
	return n, err
}

// Cleanup kills the remaining processes of the node, and removes its mounts, control groups and bridge. It may be
// called at any time, and more than once.
func (n *Node) Cleanup() error { return CleanupDir(n.dir) }

// CleanupProgram returns the path of a program that does the same as [CleanupDir], and needs only the directory.
func CleanupProgram(dir string) string { return filepath.Join(dir, "cleanup") }

// NewCleanupProgram writes [CleanupProgram] for the node in dir, whose files may have been deleted, to a new temporary
// directory, and returns its path. It returns "" if no node can run on this machine.
func NewCleanupProgram(dir string) (string, error) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return "", nil
	}
	hierarchies, err := cgroupHierarchies()
	if err != nil {
		return "", nil
	}
	temporary, err := os.MkdirTemp("", "kubecluster-cleanup-")
	if err != nil {
		return "", err
	}
	return CleanupProgram(temporary), newLayout(dir, Binaries{}, Input{}, hierarchies).writeScripts(temporary)
}

// CleanupDir is [Node.Cleanup] for a node that another process prepared. The files in dir remain.
func CleanupDir(dir string) error {
	program := CleanupProgram(dir)
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was prepared
	}
	if said, err := run(program); err != nil {
		return fmt.Errorf("clean up the node in %s: %w: %s", dir, err, said)
	}
	return nil
}
