// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"embed"
	"io/fs"
	"path/filepath"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
	"github.com/kube-go/sdk/tests/cluster/internal/testimage"
)

//go:embed _programs
var programs embed.FS

//go:embed forwarder/main.go forwarder/go.mod.txt
var forwarder embed.FS

// Binaries are the built programs of a node.
type Binaries struct {
	// Dir is the directory with containerd, containerd-shim-runc-v2, ctr and the CNI plugins bridge and host-local.
	Dir string
	// Image is the archive of the test image.
	Image string
	// Forwarder is the program that forwards connections of pods to the API server.
	Forwarder string
}

// Build builds what the cache does not have. progress receives a line from time to time, and may be nil.
func Build(ctx context.Context, cacheDir string, progress func(msg string)) (Binaries, error) {
	image, err := testimage.Build(ctx, cacheDir, progress)
	if err != nil {
		return Binaries{}, err
	}
	sources, err := fs.Sub(forwarder, "forwarder")
	if err != nil {
		return Binaries{}, err
	}
	target := build.Target{Name: "forwarder", Title: "the forwarder", Sources: sources}
	forwarders, err := build.GoBuild(ctx, target, cacheDir, progress)
	if err != nil {
		return Binaries{}, err
	}
	if sources, err = fs.Sub(programs, "_programs"); err != nil {
		return Binaries{}, err
	}
	const (
		containerd = "github.com/containerd/containerd/v2"
		plugins    = "github.com/containernetworking/plugins/plugins"
	)
	dir, err := build.GoBuild(ctx, build.Target{
		Name:    "containerd",
		Title:   "containerd v2.4.2",
		Version: "v2.4.2",
		Sources: sources,
		Packages: []string{
			containerd + "/cmd/containerd", containerd + "/cmd/containerd-shim-runc-v2", containerd + "/cmd/ctr",
			plugins + "/main/bridge", plugins + "/ipam/host-local",
		},
		LDFlags: "-X " + containerd + "/version.Version=2.4.2",
		Tags:    "no_btrfs,no_devmapper,no_tracing,no_zfs", // features that a node does not need
	}, cacheDir, progress)
	return Binaries{Dir: dir, Image: image, Forwarder: filepath.Join(forwarders, "forwarder")}, err
}
