// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel compiles and evaluates the validation rules of CustomResourceDefinitions as an API server does: with the
// same types, libraries, cost estimates and cost limits. See https://kubernetes.io/docs/reference/using-api/cel/.
package cel
