// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// DefaultVersion is the Kubernetes version whose go.mod and go.sum are embedded. To change it, build the new version
// once, copy the `sources` folder of its directory in the cache, and take both files from the copy after go mod tidy,
// which adds the modules that other operating systems need.
const DefaultVersion = "v1.37.2"

//go:embed _controlplane
var controlPlane embed.FS

// version is a released Kubernetes version. It is never changed.
var version = regexp.MustCompile(`^v1\.(\d+)\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Kubernetes returns the path of the program that contains etcd, the control plane and the kubelet of this version of
// Kubernetes. It builds the program if necessary. Default: [DefaultVersion].
func Kubernetes(ctx context.Context, wanted, cacheDir string, progress func(string)) (string, error) {
	if wanted == "" {
		wanted = DefaultVersion
	}
	match := version.FindStringSubmatch(wanted)
	if match == nil {
		return "", fmt.Errorf("kubernetes version %q: want one like %s", wanted, DefaultVersion)
	}
	sources, err := fs.Sub(controlPlane, "_controlplane")
	if err != nil {
		return "", err
	}
	var overlay map[string][]byte
	if wanted != DefaultVersion {
		module, err := moduleFor(ctx, wanted, cacheDir)
		if err != nil {
			return "", fmt.Errorf("kubernetes %s: %w", wanted, err)
		}
		overlay = map[string][]byte{"go.mod": module}
	}
	const stamp = "-X k8s.io/component-base/version."
	dir, err := GoBuild(ctx, Target{
		Name:    "kubernetes",
		Title:   "Kubernetes " + wanted,
		Version: wanted,
		Sources: sources,
		Overlay: overlay,
		LDFlags: stamp + "gitVersion=" + wanted + " " + stamp + "gitMajor=1 " + stamp + "gitMinor=" + match[1],
		Resolve: wanted != DefaultVersion,
	}, cacheDir, progress)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "kube-all"), nil
}

// upstreamModule returns the go.mod of that version of Kubernetes. It stores the file in the cache, so that later starts
// need no network.
func upstreamModule(ctx context.Context, wanted, cacheDir string) ([]byte, error) {
	file := filepath.Join(cacheDir, "kubernetes-"+wanted+".go.mod")
	if stored, err := os.ReadFile(file); err == nil {
		return stored, nil
	}
	content, err := lookUp(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("look it up: %w", err)
	}
	if err := MakeCache(cacheDir); err != nil {
		return nil, err
	}
	return content, WriteFile(file, content)
}

// lookUp returns the go.mod of that version from the go command.
func lookUp(ctx context.Context, wanted string) ([]byte, error) {
	cmd := goCommand(ctx, os.TempDir(), "list", "-m", "-json", "k8s.io/kubernetes@"+wanted)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s\n`go list -m -versions k8s.io/kubernetes` lists the versions",
			err, strings.TrimSpace(stderr.String()))
	}
	var info struct{ GoMod string }
	if err := json.Unmarshal(out, &info); err != nil {
		return nil, err
	}
	return os.ReadFile(info.GoMod)
}

// staging matches a replaced staging module, and etcdVersion matches the version of etcd's client. They are never
// changed.
var (
	staging     = regexp.MustCompile(`(?m)^\s*(k8s\.io/[a-z-]+) => \./staging/`)
	etcdVersion = regexp.MustCompile(`(?m)^\s*go\.etcd\.io/etcd/client/v3 (v\S+)`)
)

// moduleFor returns the control plane's go.mod for another version: with the published staging modules that upstream's
// go.mod replaces, and with the version of etcd that it was tested with.
func moduleFor(ctx context.Context, wanted, cacheDir string) ([]byte, error) {
	upstream, err := upstreamModule(ctx, wanted, cacheDir)
	if err != nil {
		return nil, err
	}
	replaced, etcd := staging.FindAllSubmatch(upstream, -1), etcdVersion.FindSubmatch(upstream)
	if len(replaced) == 0 || etcd == nil {
		return nil, errors.New("its go.mod has no staging modules or no etcd")
	}
	var b bytes.Buffer
	b.WriteString("module kube-all\n\ngo 1.26.0\n\n")
	fmt.Fprintf(&b, "require (\n\tgo.etcd.io/etcd/server/v3 %s\n\tk8s.io/kubernetes %s\n)\n\n", etcd[1], wanted)
	b.WriteString("replace (\n")
	for _, name := range replaced {
		fmt.Fprintf(&b, "\t%s => %s v0.%s\n", name[1], name[1], strings.TrimPrefix(wanted, "v1."))
	}
	b.WriteString(")\n")
	return b.Bytes(), nil
}
