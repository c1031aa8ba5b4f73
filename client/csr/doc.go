// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package csr provides the verbs that only certificate signing requests have: approve and deny.
//
//	_, err := csr.New(c).Approve(ctx, "web-client", &csr.Options{Reason: "KnownClient"})
package csr
