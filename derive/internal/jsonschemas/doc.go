// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package jsonschemas writes the schema of a kind as JSON Schema, for editors and for tools that check manifests before a
// server sees them.
//
// A schema accepts the objects that a server accepts from somebody who writes them, as far as JSON Schema has words for
// it: what a server would prune is refused, what it would set by default may be left out. Rules in CEL and the keys of
// lists have no such words. The dialect is draft 7: all that is said is spelt the same in all later drafts, and editors
// know it best.
package jsonschemas
