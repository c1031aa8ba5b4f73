// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition says what an API server finds wrong in a CustomResourceDefinition, in the server's words.
//
// What a server calls spec.validation is the schema of all versions, when they have the same one; spec.subresources and
// spec.additionalPrinterColumns likewise. The paths are the server's, so that its answer can be compared with ours.
package definition
