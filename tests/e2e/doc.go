// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the SDK on a real API server, with one file for each feature.
//
// The tests run on the cluster of the file in KUBECONFIG. If it is not set, they start the built-in cluster. A test
// that breaks a component requires the built-in cluster. The variable E2E_KUBERNETES_VERSION sets the version of the
// clusters that the tests start. The differences between versions are in versions_test.go.
//
// A run records everything that clients log at debug level and that tests and programs print. It fails if the record
// contains a secret. A test registers the secrets that it creates with the function secret. The secrets of
// configurations and clusters are registered automatically.
package e2e
