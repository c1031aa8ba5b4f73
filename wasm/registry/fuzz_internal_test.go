// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"path/filepath"
	"strings"
	"testing"
)

// FuzzManifest checks that the layer of any manifest has an allowed size, and a file in the folder of the modules.
func FuzzManifest(f *testing.F) {
	const maxBytes = 64
	manifest := func(config, mediaType, digest, size string) string {
		return `{"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"` + config +
			`"},"layers":[{"mediaType":"` + mediaType + `","digest":"` + digest + `","size":` + size + `}]}`
	}
	digest := "sha256:" + strings.Repeat("0", 64)
	for _, seed := range []string{
		"", "null", "{}", `{"layers":[null]}`, manifest(configType, layerType, digest, "1"),
		manifest(configType, layerType, digest, "-1"), manifest(configType, layerType, digest, "65"),
		manifest(configType, layerType, digest, "1e300"), manifest(configType, layerType, "sha256:../../etc/passwd", "1"),
		manifest(configType, layerType, "sha512:"+strings.Repeat("0", 128), "1"), manifest("x", layerType, digest, "1"),
		manifest(configType, "application/tar", digest, "1"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		s := &Store{options: Options{MaxBytes: maxBytes}, folder: folder{root: "root"}}
		layer, err := s.layer(document)
		if err != nil {
			return
		}
		if layer.Size < 0 || layer.Size > maxBytes {
			t.Errorf("the layer has %d bytes, want at most %d", layer.Size, maxBytes)
		}
		path := s.folder.path(modules, layer.Digest.String())
		if name := filepath.Base(path); path != filepath.Join("root", modules, name) || len(name) != len(digest) {
			t.Errorf("the layer with the digest %q has the path %s", layer.Digest, path)
		}
	})
}
