// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate generates files from Go types: kinds, deep copies, CRDs and samples, apply structs, roles, webhook
// configurations, reference documentation and JSON Schemas.
//
// It is the library of the command kube-derive:
//
//	files, err := generate.Run(ctx, []string{"./api/..."}, nil)
//	if err != nil {
//		return err // all mistakes, with their positions
//	}
//	written, err := files.Write()
//
// [Run] generates the files that the markers in the sources enable. [CRDs] and the other functions generate one kind of
// file each; those that describe kinds support any Go module. The functions read sources and return files. They write
// nothing, so [Files.Stale] can check whether a directory is up to date. The documentation of kube-derive describes the
// markers.
//
// # Errors
//
// A [*SourceError] has all mistakes in the sources, except for those that another mistake may cause. No files are
// returned with an error. With [Options.Lenient], mistakes are warnings, and the files are generated without them.
//
// # Concurrency
//
// The functions are safe for concurrent use. Files are plain values.
package generate
