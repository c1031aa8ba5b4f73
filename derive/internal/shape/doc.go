// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package shape contains the parts of schema generation that are the same for source code and for reflection.
package shape
