// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package load reads Go packages with the documentation and the markers of their declarations.
//
// The packages that are asked for are type-checked from source; what they import comes from the build cache, which is
// what makes a run take a fraction of a second. The sources of an import are parsed, and only the file in question, when
// somebody asks for the documentation of a declaration in it.
//
// The file that kube-derive writes may be missing or out of date when the package is loaded. So loading tolerates type
// errors; [Program.Check] finds those that remain once the new file is in its place.
package load
