// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is version v1alpha1 of the API group wasm.kube-go.dev. Its kind is WasmController: a controller that
// runs as a WebAssembly module in a host, see package wasm/operator.
package v1alpha1

//go:generate go run ../../derive/cmd/kube-derive
