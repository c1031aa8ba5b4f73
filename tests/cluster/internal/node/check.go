// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Packages are the Debian packages that a node needs besides the essential ones. deps.sh installs them.
const Packages = "iproute2 mount runc util-linux"

// ServicePort is the port of the API server's service, on which the forwarder listens.
const ServicePort = 443

// Check returns an error with everything that this machine lacks to run a node, and with how to install it. It changes
// nothing.
func Check() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node needs Linux: this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("a node needs root: run this as root, such as with sudo, or use a cluster without a node")
	}
	if missing := missingPrograms(exec.LookPath); len(missing) > 0 {
		return fmt.Errorf(
			"a node needs programs that are missing: %s; on Debian and its derivatives `make node-deps` installs them "+
				"(the packages %s), elsewhere install the packages that have them",
			strings.Join(missing, ", "),
			Packages,
		)
	}
	return errors.Join(checkRunc(), checkCgroups(), checkKernel(), checkPort(ServicePort))
}

// checkPort returns an error if a program listens on all addresses at the forwarder's port: the forwarder could not
// listen on its own address. The forwarders of other nodes do not matter. Every address in 127.0.0.0/8 is the machine's,
// so a random one is free unless all are taken.
func checkPort(port int) error {
	address := fmt.Sprintf("127.%d.%d.%d:%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254), port)
	listener, err := net.Listen("tcp4", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("a node needs TCP port %d on an address of its own, and a program listens on that port of all "+
			"addresses: stop it, or make it listen on one address; `ss -ltnp sport = :%[1]d` names it", port)
	}
	if err != nil {
		return fmt.Errorf("a node needs TCP port %d: %w", port, err)
	}
	return listener.Close()
}

func missingPrograms(look func(string) (string, error)) []string {
	var missing []string
	for _, program := range []string{"flock", "ip", "mount", "nsenter", "runc", "unshare"} {
		if _, err := look(program); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// run runs a short program, and returns its output.
func run(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// checkRunc checks that runc supports seccomp, which containerd requires.
func checkRunc() error {
	said, err := run("runc", "--version")
	if err != nil {
		return fmt.Errorf("a node needs runc, which does not work: %w: %s", err, said)
	}
	if !strings.Contains(said, "libseccomp") {
		return errors.New("a node needs a runc that was built with seccomp: use the one of your distribution")
	}
	return nil
}

func checkCgroups() error {
	all, err := cgroupHierarchies()
	if err != nil {
		return fmt.Errorf("a node needs control groups: %w", err)
	}
	var have []string
	for _, hierarchy := range all {
		// Version 2: the file lists the controllers. Version 1: the folder is named after them.
		if controllers, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers")); err == nil {
			have = append(have, strings.Fields(string(controllers))...)
			continue
		}
		have = append(have, strings.Split(filepath.Base(hierarchy), ",")...)
	}
	var missing []string
	for _, controller := range controllers() {
		if !slices.Contains(have, controller) {
			missing = append(missing, controller)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf(
			"a node needs the control group controllers %s: turn them on in the kernel, or give them to this container",
			strings.Join(missing, ", "),
		)
	}
	return nil
}

// controllers are the controllers that a kubelet requires.
func controllers() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// checkKernel creates what containers need in temporary namespaces.
func checkKernel() error {
	script, err := scripts.ReadFile("scripts/probe")
	if err != nil {
		return err
	}
	if said, err := run("unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", string(script)); err != nil {
		return fmt.Errorf("a node needs a kernel that allows root to do this: %s", said)
	}
	return nil
}
