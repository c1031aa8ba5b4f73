// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi contains the types of CustomResourceDefinitions, including fields that are never valid.
//
// Package structural has the schemas that this module writes. In contrast, this package has all keywords of the API, so
// that validation can report unsupported ones, see
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/.
package openapi
