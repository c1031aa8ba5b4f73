// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests writes objects as readable YAML: the fields that identify the object are first, and each field may
// have its description as a comment.
package manifests
