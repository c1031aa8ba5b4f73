// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package scaffold has the files that a new controller project begins with.
//
// They are in testdata/project, as they would be for the kind Widget: Go that compiles, with names that stand for those
// of a project. The end-to-end tests build and run what becomes of them.
package scaffold
