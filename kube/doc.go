// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kube is the front door of the Kubernetes SDK for Go.
package kube
