// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook creates webhook configurations from the webhook markers of sources.
package webhook
