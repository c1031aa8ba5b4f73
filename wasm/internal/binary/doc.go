// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package binary reads the sections of core WebAssembly modules, and rewrites modules so that a host can take an image
// of an initialized instance.
//
// [Read] checks the structure of a module and leaves the rest to wazero, which validates a module when it compiles it.
// An error names the section and the offset. The memory that Read needs is proportional to the size of the module,
// whatever the counts in the module claim. Read also protects wazero, which trusts these counts when it allocates
// memory, and which does not bound tables, local variables and the time and memory of a compilation: only a module
// that was read must be compiled. A section has at most 100,000 functions or segments, and at most 1,000,000 items of
// element segments, names, or parameters and results in total.
//
// [Module.Rewrite] returns a module that does the same as the original, with these differences:
//
//   - Each mutable global is exported under a reserved name, so that a host can read and set it.
//   - The active data segments are separate, and the host writes them. So an instance that starts from an image does
//     not write them again. Passive segments stay and keep their indexes, since memory.init refers to them.
//   - The start function is not called by the instantiation, but exported under a reserved name.
//
// [Module.WithoutStart] makes only the last change, for modules of which no image can be taken.
//
// One rewritten module serves first instances and those from images, so its code is compiled only once.
package binary
