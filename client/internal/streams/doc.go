// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package streams has the operations of a guest that are in progress: the host delivers their items, goroutines of the
// guest read them. It has no IO of its own, so that it can be tested on every platform.
package streams
