// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind says what a kind is apart from the schema of its objects: names, scope, subresources, columns.
package kind
