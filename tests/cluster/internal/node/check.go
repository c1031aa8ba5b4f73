// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Packages are the Debian packages that a node needs beside what Debian always has. deps.sh installs them.
const Packages = "iproute2 mount runc util-linux"

// Check returns an error that names everything this machine lacks to run a node, and what to do about it. It changes
// nothing.
func Check() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a node needs Linux: this is %s", runtime.GOOS)
	}
	if os.Geteuid() != 0 {
		return errors.New("a node needs root: run this as root, as with sudo, or do without a node")
	}
	if missing := missingPrograms(exec.LookPath); len(missing) > 0 {
		return fmt.Errorf("a node needs programs that are missing: %s; on Debian and its relatives `make node-deps` installs them "+
			"(the packages %s), elsewhere install the packages that have them", strings.Join(missing, ", "), Packages)
	}
	return errors.Join(checkRunc(), checkCgroups(), checkKernel())
}

func missingPrograms(look func(string) (string, error)) []string {
	var missing []string
	for _, program := range []string{"ip", "mount", "nsenter", "runc", "unshare"} {
		if _, err := look(program); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// checkRunc looks for seccomp, without which containerd makes no pods.
func checkRunc() error {
	out, err := exec.Command("runc", "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("a node needs runc, which does not run: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if !strings.Contains(string(out), "libseccomp") {
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
		// Of version 2: the file lists the controllers. Of version 1: the folder is named after them.
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
		return fmt.Errorf("a node needs the control group controllers %s: turn them on in the kernel, or give them to this container",
			strings.Join(missing, ", "))
	}
	return nil
}

// controllers are those that a kubelet insists on.
func controllers() []string { return []string{"cpu", "cpuset", "memory", "pids"} }

// checkKernel tries what containers are made of in namespaces that are gone at once.
func checkKernel() error {
	script, err := scripts.ReadFile("scripts/probe")
	if err != nil {
		return err
	}
	if out, err := exec.Command("unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", string(script)).CombinedOutput(); err != nil {
		return fmt.Errorf("a node needs a kernel that lets root do this: %s", strings.TrimSpace(string(out)))
	}
	return nil
}
