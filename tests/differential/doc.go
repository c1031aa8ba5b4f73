// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package differential compares this SDK with client-go: the meaning of kubeconfigs, the execution of exec plugins, and
// the requests to servers. It has only tests. Only this package and module bench import client-go.
//
// If the two differ on purpose, the test has the reason and checks both, so that neither can change unnoticed.
package differential
