// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package node provides the verbs that only nodes have: cordon, uncordon and proxy.
//
// Use it to keep new pods away from a node, and to send requests to its kubelet. Package runtime/drain also moves the
// pods of a node to other nodes.
//
//	c, err := client.New(ctx, nil)
//	if err != nil {
//		return err
//	}
//	nodes := node.New(c)
//	if _, err := nodes.Cordon(ctx, "node-1", nil); err != nil {
//		return err
//	}
//	resp, err := nodes.Proxy(ctx, "node-1", &request.ProxyOptions{Path: "stats/summary"})
//
// # Errors
//
// Each verb wraps its error in one [client.OpError]. [core.ErrNotFound] means that the node does not exist, or, for
// [API.Proxy], that the kubelet does not serve the path.
//
// # Concurrency
//
// An [API] is immutable and safe for concurrent use.
package node
