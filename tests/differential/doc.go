// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package differential compares this SDK with client-go, side by side: what a kubeconfig means, how exec plugins are run,
// and what is sent to the server. It holds tests alone, and is the only place in which client-go is imported.
//
// Where the two differ on purpose, the test says why and holds both to it, so that neither can change unnoticed.
package differential
