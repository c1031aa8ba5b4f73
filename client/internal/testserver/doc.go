// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package testserver provides a TLS server for the tests of the packages in this module. It records the requests that
// it receives.
package testserver
