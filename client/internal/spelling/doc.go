// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling measures the difference between two words, to suggest a correction for a misspelled one.
package spelling
