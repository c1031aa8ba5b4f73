// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema describes Go types as JSON Schema documents.
//
// It reads types as the type checker sees them, and their documentation and markers as package load finds them. What it
// makes is a document in which each named type is a definition; package structural turns that into what a server accepts.
package schema
