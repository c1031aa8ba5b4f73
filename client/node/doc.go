// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package node provides the verbs that only nodes have: cordon, uncordon and proxy. Package runtime/drain moves the
// pods of a node to other nodes.
//
//	_, err := node.New(c).Cordon(ctx, "node-1", nil)
package node
