// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition serves the kinds of CustomResourceDefinitions.
//
// [Admit] and [AdmitStatus] process definitions. [Accept] sets the status that the controllers of an API server set.
// [New] returns the versions of a definition. A [Version] processes objects in the steps of an API server:
//
//   - [Version.Decode] when a request is decoded,
//   - [Version.Create] or [Version.Update] before the object is stored,
//   - [Version.Convert] to the storage version when it is stored, and to the version of a request when it is read.
//
// Errors that a client sees are *core.StatusError values. All functions and methods are safe for concurrent use.
package definition
