// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cel compiles and evaluates the validation rules of CustomResourceDefinitions as a server does: with its types,
// its libraries, its estimate of what a rule costs at worst, and its limit of what a rule may cost. See
// https://kubernetes.io/docs/reference/using-api/cel/.
package cel
