// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests writes objects as YAML that is meant to be read: what says which object it is comes first, and each
// field may have its description above it.
package manifests
