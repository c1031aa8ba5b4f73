// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac creates roles from the RBAC markers of sources.
package rbac
