// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

// DefaultKubernetesVersion is the version of Kubernetes that is built when Options ask for no other.
const DefaultKubernetesVersion = build.DefaultVersion

// Options say what cluster to start. The zero value is a control plane without a node, on free ports, in a temporary
// directory.
type Options struct {
	// KubernetesVersion is a released version such as "v1.36.3"; empty means [DefaultKubernetesVersion]. The sums of another
	// version's modules are not known beforehand: they are taken from the Go checksum database when it is first built.
	KubernetesVersion string
	// Node adds a node that runs containers: containerd and a kubelet. It needs root and Linux.
	Node bool
	// CacheDir keeps the programs that were built; empty means [DefaultCacheDir]. Any number of processes may share it.
	CacheDir string
	// Dir keeps the cluster's state: keys, data, logs. It must be empty or absent, and stays when the cluster is stopped. By
	// default the state is in a temporary directory, and is removed with the cluster.
	Dir string
	// Log receives a line for each step. Nil discards them.
	Log io.Writer
	// APIPort is the API server's port on 127.0.0.1. Zero means a free one.
	APIPort int
	// APIServerArgs are added to the API server's arguments, such as "--max-requests-inflight=10". They win over our own.
	APIServerArgs []string
	// FeatureGates are set for every component of Kubernetes.
	FeatureGates map[string]bool
	// ReadyTimeout bounds the start once everything is built. Zero means one minute, two with a node.
	ReadyTimeout time.Duration
	// Detach lets the cluster outlive this process. Find it again with [Open], which needs Dir.
	Detach bool
}

// resolve returns the options with defaults filled in.
func (o *Options) resolve() (Options, error) {
	var resolved Options
	if o != nil {
		resolved = *o
	}
	if resolved.Detach && resolved.Dir == "" {
		return Options{}, errors.New("a detached cluster needs Options.Dir, or nobody finds it again")
	}
	if resolved.KubernetesVersion == "" {
		resolved.KubernetesVersion = DefaultKubernetesVersion
	}
	if resolved.CacheDir == "" {
		dir, err := DefaultCacheDir()
		if err != nil {
			return Options{}, err
		}
		resolved.CacheDir = dir
	}
	for _, dir := range []*string{&resolved.CacheDir, &resolved.Dir} {
		if *dir == "" {
			continue
		}
		absolute, err := filepath.Abs(*dir)
		if err != nil {
			return Options{}, err
		}
		*dir = absolute
	}
	if resolved.Log == nil {
		resolved.Log = io.Discard
	}
	if resolved.ReadyTimeout == 0 {
		resolved.ReadyTimeout = time.Minute
		if resolved.Node {
			resolved.ReadyTimeout = 2 * time.Minute
		}
	}
	return resolved, nil
}

// featureGates returns the flag for the components, or nothing.
func featureGates(gates map[string]bool) []string {
	if len(gates) == 0 {
		return nil
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return []string{"--feature-gates=" + strings.Join(pairs, ",")}
}

// DefaultCacheDir returns .cache/kubecluster beside the nearest go.work upwards from the working directory, or else the
// nearest go.mod, or else in the user's cache directory.
func DefaultCacheDir() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for _, marker := range []string{"go.work", "go.mod"} {
		for dir := working; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, marker)); err == nil {
				return filepath.Join(dir, ".cache", "kubecluster"), nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "kubecluster"), err
}
