// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook makes webhook configurations of what the sources say they serve.
package webhook
