// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain moves the pods of a node away, so that the node can be maintained or removed. It follows the rules of
// kubectl drain, but for these: it refuses before it cordons, not after; a pod that is ending already is waited for whatever
// made it, and not asked again unless there is a GracePeriod; a budget is asked again after half a second at first, then after up
// to five, or when the server says; and an error names all pods that stay.
//
//	report, err := drain.Node(ctx, c, "node-1", &drain.Options{
//		IgnoreDaemonSets: true,
//		Progress:         func(p drain.Pod) { fmt.Println(p) },
//	})
//	…
//	_, err = client.ClusterWide[corev1.Node](c).Uncordon(ctx, "node-1", nil)
//
// The node is cordoned first, and stays so. Its pods are then evicted all at once, each as soon as the disruption budgets
// allow it, and waited for until they are gone. Mirror pods, which the node itself keeps, are passed over. So are the
// pods of daemon sets, with IgnoreDaemonSets. Pods that would be lost, because no controller makes others of them or
// because they have an emptyDir volume, are a reason to refuse: before anything is changed, and all of them are named.
//
// # Errors
//
// What keeps the node from being empty is an [*Error], which names every such pod with the reason. The report says the
// same of all pods, also beside an error.
//
// # Retries and timeouts
//
// A drain goes on until the node is empty or ctx ends; give ctx a deadline. The pods of a node that is dead never end by
// themselves. An eviction that a disruption budget does not allow yet is asked for again after a while, and so is one that
// failed because of a busy server or a broken connection.
//
// # Concurrency
//
// Node may be called for several nodes at once; the disruption budgets see to the rest. All goroutines that it starts
// have ended when it returns.
package drain
