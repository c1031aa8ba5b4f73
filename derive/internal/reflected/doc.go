// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflected describes Go types as JSON Schema documents by reflection.
//
// It generates the same documents as package schema, which uses source code, except for the contents of comments, which
// are not available at run time.
package reflected
