// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling tells how far apart two words are, to say what a misspelt one was meant to be.
package spelling
