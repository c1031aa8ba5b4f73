// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package documents is a controller that renders each Document into a ConfigMap that the document owns, and into a file
// outside the cluster that a finalizer removes again.
package documents
