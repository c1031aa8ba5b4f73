// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package emit writes the Go file that kube-derive adds to a package.
package emit
