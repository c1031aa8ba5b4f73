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

// DefaultKubernetesVersion is the default version of Kubernetes.
const DefaultKubernetesVersion = build.DefaultVersion

// Options configure a cluster. The zero value is a control plane without a node, on free ports, in a temporary
// directory.
type Options struct {
	// KubernetesVersion is a released version such as "v1.37.2". Default: [DefaultKubernetesVersion]. The checksums of
	// another version's modules come from the Go checksum database when it is first built.
	KubernetesVersion string
	// Node adds a node that runs containers, with containerd and a kubelet. It needs root and Linux.
	Node bool
	// CacheDir stores the built programs. Many processes may share it. Default: [DefaultCacheDir].
	CacheDir string
	// Dir stores the cluster's state: keys, data, logs. It must be empty or not exist, and remains when the cluster is
	// stopped. Default: a temporary directory that is removed with the cluster.
	Dir string
	// Log receives a line for each step. Default: no log.
	Log io.Writer
	// APIPort is the API server's port on 127.0.0.1. Default: a free port.
	APIPort int
	// APIServerArgs are additional arguments of the API server, such as "--max-requests-inflight=10". A flag replaces the
	// same flag of this package with all of its values, and --authorization-config replaces --authorization-mode.
	APIServerArgs []string
	// FeatureGates are set for all components of Kubernetes.
	FeatureGates map[string]bool
	// ReadyTimeout limits the start after everything is built. Default: one minute, or two with a node.
	ReadyTimeout time.Duration
	// Detach makes the cluster independent of this process. To find it again, use [Open], which needs Dir.
	Detach bool
}

// resolve returns the options with their defaults.
func (o *Options) resolve() (Options, error) {
	var resolved Options
	if o != nil {
		resolved = *o
	}
	if resolved.Detach && resolved.Dir == "" {
		return Options{}, errors.New("a detached cluster needs Options.Dir, which Open takes")
	}
	if port := resolved.APIPort; port < 0 || port > 65535 {
		return Options{}, fmt.Errorf("the port %d of the API server is invalid: want one from 1 to 65535", port)
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

// featureGates returns the feature gates as a flag, or nothing.
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

// DefaultCacheDir returns the directory in the environment variable KUBECLUSTER_CACHE. If it is not set, it returns
// .cache/kubecluster beside the nearest go.work above the working directory, or otherwise beside the nearest go.mod, or
// otherwise in the user's cache directory.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv("KUBECLUSTER_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
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
