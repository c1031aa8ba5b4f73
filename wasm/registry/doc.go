// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry reads WebAssembly modules from OCI registries, files and folders.
//
//	store, err := registry.New(&registry.Options{Dir: "/var/cache/modules"})
//	…
//	m, err := store.Pull(ctx, "ghcr.io/example/hello@sha256:…")
//
// # Artifacts
//
// An artifact has the layout "Wasm OCI Artifact" of the CNCF: a manifest whose config has the media type
// application/vnd.wasm.config.v0+json, and one layer of the type application/wasm, which is the module. It is always
// pulled by the digest of its manifest.
//
// # What is verified
//
// Nothing that a registry sends is trusted: manifests and modules have a maximum size, and must have their digests.
// They are kept in a directory by digest, and verified again when they are read from it, so that the directory needs no
// repair after a crash.
//
// Registries may refer to other hosts, for blobs and for tokens. The addresses of the metadata services of clouds are
// refused. To restrict the registries, set [Options.Prefixes].
package registry
