// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package registrytest has an OCI registry with modules, and a small module, for tests.
package registrytest
