// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroupName returns the name of the control groups of the node in dir.
func cgroupName(dir string) string {
	hash := sha256.Sum256([]byte(dir))
	return "kube-go-" + hex.EncodeToString(hash[:6])
}

// cgroupHierarchies returns the mount points of this machine's control group hierarchies. A unified hierarchy is the
// first: beside version 1, it tracks processes without accounting for them.
func cgroupHierarchies() ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	mounts, err := parseMounts(file)
	if err != nil {
		return nil, err
	}
	return hierarchies(mounts)
}

func hierarchies(mounts []mount) ([]string, error) {
	var unified, first []string
	for _, mount := range mounts {
		switch mount.fsType {
		case "cgroup2":
			unified = append(unified, mount.point)
		case "cgroup":
			first = append(first, mount.point)
		}
	}
	all := slices.Compact(append(unified, first...))
	if len(all) == 0 {
		return nil, errors.New("no control groups are mounted below /sys/fs/cgroup")
	}
	return all, nil
}

// mount is a line of a mountinfo file.
type mount struct{ point, fsType string }

// parseMounts parses a mountinfo file, see proc(5).
func parseMounts(r io.Reader) ([]mount, error) {
	var mounts []mount
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		before, after, ok := strings.Cut(scanner.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 1 {
			return nil, fmt.Errorf("mountinfo: cannot read %q", scanner.Text())
		}
		mounts = append(mounts, mount{point: left[4], fsType: right[0]})
	}
	return mounts, scanner.Err()
}

// makeCgroups creates the node's control group in each hierarchy, because a kubelet requires that its root exists, and
// the group for the daemons.
func makeCgroups(hierarchies []string, plan layout) error {
	if err := passControllers(hierarchies); err != nil {
		return err
	}
	for _, cgroup := range append(plan.Cgroups, plan.DaemonCgroup) {
		if err := os.MkdirAll(cgroup, 0o755); err != nil {
			return fmt.Errorf("make a control group: %w", err)
		}
	}
	return nil
}

// passControllers enables, at the top of a unified hierarchy, the controllers that a kubelet needs for the groups
// below. Version 1 has no such setting, and a unified hierarchy beside it has none of these controllers.
func passControllers(hierarchies []string) error {
	if len(hierarchies) > 1 {
		return nil
	}
	have, err := os.ReadFile(filepath.Join(hierarchies[0], "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var wanted []string
	for _, controller := range append(controllers(), "hugetlb") {
		if slices.Contains(strings.Fields(string(have)), controller) {
			wanted = append(wanted, "+"+controller)
		}
	}
	file := filepath.Join(hierarchies[0], "cgroup.subtree_control")
	if err := os.WriteFile(file, []byte(strings.Join(wanted, " ")), 0o644); err != nil {
		return fmt.Errorf(
			"turn on controllers (in a container, its processes must first leave the topmost control group): %w",
			err,
		)
	}
	return nil
}
