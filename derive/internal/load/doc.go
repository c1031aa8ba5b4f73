// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package load reads Go packages with the documentation and the markers of their declarations.
//
// Everything is read from source: the go command lists the packages and compiles nothing, so an empty build cache does
// not slow it down. All roots are parsed, and those with kinds are type-checked without function bodies. In the
// packages that they import, only the used declarations are type-checked, see checker.
//
// The file that kube-derive writes may be missing or out of date when a package is loaded, so loading tolerates type
// errors. [Program.Check] type-checks the packages with the new file and with function bodies, and reports the errors
// that remain.
package load
