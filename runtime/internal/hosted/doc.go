// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosted is the watch of a guest: the objects that the host of a WebAssembly module sends, and keeps. See
// wasm/ABI.md.
package hosted
