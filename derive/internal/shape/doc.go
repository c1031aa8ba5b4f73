// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package shape says what the schema of a Go type is where that does not depend on how the type is looked at, in its
// source or by reflection.
package shape
