// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema describes Go types as JSON Schema documents.
//
// It reads types from the type checker, and their documentation and markers from package load. Each named type becomes
// a definition of the document. Package structural rewrites the document into a structural schema, which servers
// accept.
package schema
