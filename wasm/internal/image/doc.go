// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package image starts instances of WebAssembly modules from shared images of initialized ones, and stores idle
// instances as what differs from their image.
//
//	m, err := binary.Read(wasm)                        // the host checks the imports and exports
//	p, err := image.Compile(ctx, runtime, m)           // once per module
//	seed, err := p.Start(ctx, config)                  // writes the data segments
//	err = seed.Initialize(ctx)                         // calls the start function and _initialize
//	img, err := seed.Image()                           // of the memory and the globals
//	a, err := img.Start(ctx, config)                   // a further instance, copy-on-write
//	result, err := a.Call(ctx, "kube_tick")
//	a.Park()                                           // until the next Call
//	err = a.Snapshot(w)                                // while it is idle; then a.Close
//	a, err = img.Restore(ctx, config, r)               // continues where a was
//
// # What an image and a snapshot have
//
// They have the linear memory and all mutable globals. They do not have:
//
//   - Tables. They are as after the instantiation, and Compile finds the modules whose code can change one:
//     see [Program.CanImage]. An exported table is not changed either, if no other module imports it.
//   - Which passive data and element segments were dropped. In an instance from an image they exist again. This only
//     matters to code that uses a segment after it has dropped it, which would be a trap otherwise.
//   - The state of the functions that the module imports: open descriptors, clocks, random numbers, operations. The
//     host keeps what the module relies on. It must not let a clock go back.
//
// What a module reads in its initialization is part of the image: arguments, environment, clocks and random seeds. So
// instances with another environment need another image. An image of a seed before Initialize serves all environments,
// and its instances must be initialized. All instances of one image begin with the same state of generators that were
// seeded in the initialization, such as those of math/rand in Go; crypto/rand asks the host for each value.
//
// A snapshot belongs to one image. An image is not stored, so a snapshot is of no use to another process.
//
// # Memory
//
// On Linux the image is a sealed memory file that instances map privately: the kernel copies a page when an instance
// writes to it, and all others share it. Elsewhere each instance has a copy. Memory grows in place, up to a limit in
// bytes; beyond it memory.grow fails in the module.
//
// # Engines
//
// An engine is what wazero needs to run a module: tables, globals and a memory at fixed addresses. Its tables take much
// of the time of a start, and a third of the memory of an idle program in Go. So other instances of the image may take
// the engine of an instance that is parked: the kernel moves the pages of its memory to other addresses, and back for
// the next call. One parked instance for each CPU keeps its engine until another one needs it. This needs Linux 5.13,
// and a program that has many functions and drops no segments; the instances of others keep their engines. An engine in
// which a call has failed is closed.
//
// The memory of an instance is released by [Instance.Close], when no [Instance.Call] is active; never by wazero, which
// may close a module during a call because of a context.
//
// # Goroutines
//
// The package has no goroutines. The functions of one instance must be called one after another, except Close, and
// except Call from a function that the module has called. Programs and images may be used by many goroutines.
package image
