// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kube-go/sdk/wasm/registry"
	"github.com/kube-go/sdk/wasm/registry/registrytest"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "modules-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := registry.New(&registry.Options{Dir: dir, Prefixes: []string{"ghcr.io/example/"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.Pull(context.Background(), "ghcr.io/example/hello:v1") // an image has a digest, not a tag
	fmt.Println(err)
	// Output: image "ghcr.io/example/hello:v1" has no digest: append @sha256: and the digest of the manifest
}

func ExampleNewDirectory() {
	dir, err := os.MkdirTemp("", "modules-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	module := registrytest.Guest{Log: "hello"}.Module()
	if err := os.WriteFile(filepath.Join(dir, "hello.wasm"), module, 0o600); err != nil {
		fmt.Println(err)
		return
	}
	changes, err := registry.NewDirectory(dir).Poll()
	for _, c := range changes {
		fmt.Println(c.Name, c.Module.Digest[:7], c.Err)
	}
	fmt.Println(err)
	// Output:
	// hello sha256: <nil>
	// <nil>
}
