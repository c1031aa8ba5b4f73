// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind describes kinds, except for the schemas of their objects: names, scope, subresources, columns.
package kind
