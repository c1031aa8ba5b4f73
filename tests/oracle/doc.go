// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package oracle compares the CRDs of kube-derive with those of controller-gen, on real API modules.
package oracle
