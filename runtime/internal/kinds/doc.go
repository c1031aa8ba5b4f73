// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds adapts sources and objects to the Go type that a caller gives for a kind.
package kinds
