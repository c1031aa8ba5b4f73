// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac makes roles of what the sources say they need to do.
package rbac
