// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package testimage builds the container image that tests run in pods: one static program with subcommands for the
// tests, which tool/main.go lists.
package testimage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/kube-go/sdk/tests/cluster/internal/build"
)

// Name is the name of the image. It runs `tool pause` unless a pod sets other arguments (`args: [serve, "8080"]`) or
// another command (`command: [tool, cat]`).
const Name = "kube-go.test/tool:1"

//go:embed tool/main.go tool/archive.go tool/commands.go tool/stream.go tool/terminal.go tool/serve.go tool/go.mod.txt
var sources embed.FS

// Build returns the path of the image's archive. It builds and packs the program if the cache does not have it.
func Build(ctx context.Context, cacheDir string, progress func(string)) (string, error) {
	tool, err := fs.Sub(sources, "tool")
	if err != nil {
		return "", err
	}
	target := build.Target{Name: "test-image", Title: "the test image", Sources: tool}
	dir, err := build.GoBuild(ctx, target, cacheDir, progress)
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(filepath.Join(dir, "tool"))
	if err != nil {
		return "", fmt.Errorf("pack the test image: %w", err)
	}
	var image bytes.Buffer
	if err := Write(&image, program, runtime.GOARCH); err != nil {
		return "", fmt.Errorf("pack the test image: %w", err)
	}
	// The program does not determine the content, and other versions of this package may use the same directory.
	sum := sha256.Sum256(image.Bytes())
	archive := filepath.Join(dir, "image-"+hex.EncodeToString(sum[:6])+".tar")
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	if err := build.WriteFile(archive, image.Bytes()); err != nil {
		return "", fmt.Errorf("pack the test image: %w", err)
	}
	return archive, nil
}

// The media types and file names of an OCI image layout:
// https://github.com/opencontainers/image-spec/blob/main/image-layout.md
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type config struct {
	platform
	Config process `json:"config"`
	RootFS rootFS  `json:"rootfs"`
}

type process struct {
	Env        []string
	Entrypoint []string
	Cmd        []string
	WorkingDir string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// Write writes an image with this program, built for Linux on arch, as a tar archive of an OCI image layout. The result
// is reproducible.
func Write(w io.Writer, program []byte, arch string) error {
	layer, err := layerOf(program)
	if err != nil {
		return err
	}
	image := layout{tar: tar.NewWriter(w)}
	image.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	target := platform{Architecture: arch, OS: "linux"}
	top := image.blob(layerType, layer)
	settings := image.json(configType, config{
		platform: target,
		Config: process{
			Env:        []string{"PATH=/bin"},
			Entrypoint: []string{"/bin/tool"},
			Cmd:        []string{"pause"},
			WorkingDir: "/",
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{top.Digest}}, // the layer is not compressed
	})
	entry := image.json(manifestType, manifest{2, manifestType, settings, []descriptor{top}})
	entry.Platform = &target
	entry.Annotations = map[string]string{
		"io.containerd.image.name":          Name,
		"org.opencontainers.image.ref.name": Name,
	}
	content, err := json.Marshal(index{2, indexType, []descriptor{entry}})
	if err != nil {
		return err
	}
	image.file("index.json", content)
	return image.close()
}

// layerOf returns the image's file system as a tar archive.
func layerOf(program []byte) ([]byte, error) {
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, header := range []*tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "bin/tar", Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: "tool"},
		{Name: "bin/tool", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
	} {
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	if _, err := archive.Write(program); err != nil {
		return nil, err
	}
	err := archive.Close()
	return b.Bytes(), err
}

// layout writes the files of an image layout, and keeps the first error.
type layout struct {
	tar *tar.Writer
	err error
}

func (l *layout) file(name string, content []byte) {
	if l.err == nil {
		l.err = l.tar.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))})
	}
	if l.err == nil {
		_, l.err = l.tar.Write(content)
	}
}

func (l *layout) blob(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	l.file("blobs/sha256/"+digest, content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: len(content)}
}

func (l *layout) json(mediaType string, value any) descriptor {
	content, err := json.Marshal(value)
	if l.err == nil {
		l.err = err
	}
	return l.blob(mediaType, content)
}

func (l *layout) close() error {
	if l.err != nil {
		return l.err
	}
	return l.tar.Close()
}
