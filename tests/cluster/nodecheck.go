// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/kube-go/sdk/tests/cluster/internal/node"

// CheckNode returns an error that names everything this machine lacks for a cluster with a node, and how to get it; nil
// when [Options.Node] will work.
func CheckNode() error { return node.Check() }
