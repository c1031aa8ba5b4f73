// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e proves on a real API server what the SDK promises, one file a promise.
//
// The tests run on the cluster that KUBECONFIG names, or else on the built-in one, which they start. What needs to
// break a component needs the built-in cluster.
package e2e
