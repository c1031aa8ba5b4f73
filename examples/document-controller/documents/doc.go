// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package documents is a controller that renders each Document into a ConfigMap and into a file. The document owns the
// ConfigMap. The file is outside the cluster, so a finalizer makes sure that it is removed with the document.
package documents
