// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi holds the types of CustomResourceDefinitions as a server reads them, with whatever it refuses in them.
//
// Package structural has the form that this module writes. This one has every keyword that the API has, also those that
// no valid definition uses, since finding them is what it is for, see
// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/.
package openapi
