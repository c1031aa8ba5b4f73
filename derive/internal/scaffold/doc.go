// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold writes controller projects, and extends them.
//
// The files of a new project are in testdata/project, as they would be for the kind Widget: Go that compiles, with
// names that stand for those of a project. The end-to-end tests build and run the result.
//
// A [Tree] is a started project in memory. [Tree.AddKind], [Tree.AddVersion] and [Tree.AddWebhook] add files to it, and
// few lines to files of its authors, at places that they find in the syntax: a call beside the calls of the same form.
// If a file does not have the expected form, the result is an [EditError] with the lines to add by hand. A line that is
// already there is not added again, so the command can be repeated then. [Tree.Changes] are written all or none.
package scaffold
