// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharding divides the objects of a controller among the replicas of a program, with Leases of
// coordination.k8s.io/v1.
//
// Use it if one replica is too slow for all objects. If a standby is enough, use package election. The manager of
// package manager uses it for controllers:
//
//	m := manager.New(c, &manager.Options{Sharding: "shop"})
//	m.Add(controller.New(controller.For[v1.Document](cache), nil).With(reconcileDocument))
//	err := m.Run(ctx)
//
// For other work, [Member.Begin] reports whether this replica owns an object:
//
//	member := sharding.New(c, &sharding.Options{Name: "shop"})
//	err := member.Run(ctx, func(ctx context.Context) error {
//		…
//		if end, ok := member.Begin(doc.UID, doc.Namespace); ok {
//			defer end()
//			…
//		}
//	})
//
// # Members
//
// Each replica is a member while it renews a Lease of its own, whose name is random. The Lease "NAME-shards" has a
// table in an annotation: the hashes of the objects are divided into 256 slots, and each slot has one owner. When a
// member joins, the others give it some of their slots; as few as possible move, and the shares differ by at most one
// slot. A member gives up a slot when its current work in this slot has ended. A member that ends gives away
// everything, and the others have it about a second later. A member that stops renewing loses its term after
// [Options.RenewDeadline], and the others take its slots after [Options.LeaseDuration].
//
// # Guarantees
//
//   - A slot never has two owners, whatever happens to processes, clocks and connections: the owner gives it up in a
//     write of the table that replaces the version that it knows; or its term has ended before another member deletes
//     its Lease, which must not have changed for LeaseDuration, and only then takes the slot.
//   - Terms depend on the rates of the local clocks, not on their times. See package election, which keeps the Lease.
//   - Deleting one of the Leases by hand does not break this: without its Lease a member loses its term, and without
//     the table all of them do; they join again. Don't delete all Leases at once while members run.
//   - The end of a term ends the context of the work, which stops cooperatively. [Member.Begin] refuses new work at
//     once. [Member.Fence] also refuses the writes of work that continues.
//
// # Changes of a Deployment
//
// Replicas of an old and a new version of a program run beside each other during a rolling update. They must divide the
// objects in the same way: a change of [Options.ByNamespace], and one from or to the election of a leader, need the
// strategy Recreate of the Deployment. Replicas that differ in ByNamespace from the members of the group own nothing,
// but those with another name of the group, or with an election, do not know of the members.
//
// # Permissions
//
// The program needs the verbs get, list, create, update and delete for leases of the group coordination.k8s.io, in
// [Options.Namespace].
//
// # Concurrency
//
// A [Member] is safe for concurrent use, but only one Run may be active at a time.
package sharding
