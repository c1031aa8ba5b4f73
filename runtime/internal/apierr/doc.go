// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package apierr classifies the errors of requests for code that repeats requests.
package apierr
