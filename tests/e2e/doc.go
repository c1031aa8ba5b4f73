// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e proves on a real API server what the SDK promises, one file a promise.
//
// The tests run on the cluster that KUBECONFIG names, or else on the built-in one, which they start. What needs to
// break a component needs the built-in cluster. The variable E2E_KUBERNETES_VERSION sets the version of the clusters that
// the tests start; versions_test.go has what differs between versions.
//
// A run records all that clients log at debug level and all that tests and programs print. It fails if a secret that it
// uses is in there. A test registers the secrets that it makes with the function secret; those of configurations and
// clusters are registered by themselves.
package e2e
