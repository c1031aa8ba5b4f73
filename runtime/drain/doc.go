// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain moves the pods of a node to other nodes, so that the node can be maintained or removed. It follows the
// rules of kubectl drain, with these differences: it refuses before it cordons the node, not afterwards; it waits for a
// terminating pod whatever created it, and does not delete it again unless there is a GracePeriod; it repeats an
// eviction that a budget forbids after half a second at first, then after up to five, or when the server asks; and an
// error names all remaining pods.
//
//	report, err := drain.Node(ctx, c, "node-1", &drain.Options{
//		IgnoreDaemonSets: true,
//		Progress:         func(p drain.Pod) { fmt.Println(p) },
//	})
//	…
//	_, err = node.New(c).Uncordon(ctx, "node-1", nil)
//
// [Node] first checks all pods and that it may watch them, and changes nothing if it refuses. It then cordons the node,
// which stays cordoned, evicts all pods at the same time, each as soon as the disruption budgets allow it, and waits
// until they are deleted. It skips mirror pods, which the node itself runs, and with IgnoreDaemonSets the pods of
// DaemonSets. Otherwise it refuses, and names the pods, if a DaemonSet would recreate them, if no controller would, or
// if the data of an emptyDir volume would be lost; see [Options]. With [Options.Skip], other pods stay; with
// [Options.DryRun], it only reports what it would do.
//
// # Errors
//
// An [*Error] names every pod that remains and the reason. The [Report] has the state of all pods, even if there is an
// error.
//
// # Permissions
//
// The verbs get and patch for nodes; list and watch for pods, in all namespaces; create for pods/eviction, or delete
// for pods with [Options.DisableEviction]; and get for daemonsets of the group apps. The role of a user of kubectl
// drain may lack watch, which is an error before the node is cordoned.
//
// # Retries and timeouts
//
// A drain continues until the node is empty or ctx ends, so give ctx a deadline: the pods of a dead node never
// terminate. It repeats evictions that a disruption budget forbids or that fail because of a busy server or a broken
// connection. A pod that several disruption budgets select fails at once, because servers never evict it. The watch for
// deletions also recovers from failures, which are logged as warnings to [slog.Default]. The error names the last one
// if no event has arrived since.
//
// # Concurrency
//
// Node may be called for several nodes at the same time. When it returns, all its goroutines have ended.
package drain
