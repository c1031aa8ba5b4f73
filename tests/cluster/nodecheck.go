// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/kube-go/sdk/tests/cluster/internal/node"

// CheckNode returns an error with everything that this machine lacks for a cluster with a node, and how to install it.
// It returns nil if [Options.Node] will work.
func CheckNode() error { return node.Check() }
