// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate writes the files that follow from Go types: kinds, deep copies, descriptors, CRDs and their samples,
// apply structs, roles, webhook configurations, reference documentation and JSON Schemas.
//
// It is what the command kube-derive does, for programs that want to do it themselves:
//
//	files, err := generate.Run(ctx, []string{"./api/..."}, nil)
//	if err != nil {
//		return err // all mistakes, each with its file and line
//	}
//	written, err := files.Write()
//
// [Run] makes what the markers in the sources ask for. [CRDs] and the other functions make one output each, and those that
// describe kinds take any Go module. They read sources and return what the files should be. They change nothing, so
// [Files.Stale] can tell whether a tree is up to date. What the sources may say is described in the documentation of
// kube-derive.
//
// # Errors
//
// Mistakes in the sources are a [*SourceError], which has all of them, except for those that may follow from another. No files
// are returned with an error. With [Options.Lenient], mistakes are warnings: each is left out, and the files have the rest.
//
// # Concurrency
//
// Functions may be called from many goroutines at once. Files are a plain value.
package generate
