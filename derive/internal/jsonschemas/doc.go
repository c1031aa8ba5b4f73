// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonschemas writes the schema of a kind as JSON Schema, for editors and for tools that validate manifests.
//
// A schema accepts the objects that servers accept, as far as JSON Schema can express it. Unknown fields, which servers
// prune, are invalid, and fields with a default are optional. CEL rules and the keys of lists can't be expressed. The
// dialect is draft 7, which editors support best; later drafts have the same keywords.
package jsonschemas
