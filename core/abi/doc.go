// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package abi has the names, numbers and messages of the interface between a host and controllers that are WebAssembly
// modules, which are its guests. The document wasm/ABI.md defines the interface; this package is its form in Go, for
// the host in module wasm and for the guest side in client/guest.
//
// The import module's name, [Module], has the major version. Within a version, operations, features, flags, codes and
// fields of messages are only added: a host refuses an operation that it does not know with [UnknownOperation], both
// sides ignore unknown fields of messages, and a guest ignores unknown flags and treats an unknown code as a failure.
package abi
