// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package host runs controllers that are WebAssembly modules, in one process and with shared watches. The interface
// between a host and its modules is defined in wasm/ABI.md.
//
//	h, err := host.New(ctx, client, nil)
//	…
//	err = h.Set(ctx, host.Module{Name: "hello", Binary: wasm, ServiceAccount: core.ObjectRef{Namespace: "apps", Name: "hello"}})
//	…
//	err = h.Run(ctx) // until ctx ends
//
// A module is added, replaced and removed while others run. Each has its own instance, memory, limits and identity; a
// failure ends only the instance, which is started again after a back-off. After repeated failures the module is
// quarantined until [Host.Set] changes it.
//
// # Memory
//
// The instances of a module start from an image of an initialized one, which they share copy-on-write. On Linux, those
// of a large program also share, between calls, the tables that wazero, the WebAssembly runtime, needs to run it. The
// memory of an idle actor, a module that keeps its state between calls, is stored in a file, as the difference from the
// image, and released; see [Options.IdleAfter]. Its watches, requests and timers go on meanwhile.
//
// The host keeps the objects of a watch once for all modules. [Limits] bounds the memory for the objects that a module
// watches, counted as if no other module had the watch.
//
// # Goroutines
//
// An idle guest has no goroutine of its own. Items wait in its operations, and a goroutine runs the guest while there
// are any. At most [Options.Workers] instances run at the same time, not counting those that have run for more than 0.1
// s. Each request and each watch of a guest has goroutines.
package host
