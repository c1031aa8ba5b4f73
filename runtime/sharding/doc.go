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
// Each replica is a member while it renews a Lease of its own, whose name is random. The Lease "NAME-shards" has a table
// in an annotation: the hashes of the objects are divided into 256 slots, and each slot has one owner. When a member
// joins, the others give it some of their slots; as few as possible move, and the shares differ by at most one slot. A
// member gives a slot when its current work in this slot has ended. A member that ends gives away everything, and the
// others have it about a second later. A member that stops renewing loses its term after [Options.RenewDeadline], and
// the others take its slots after [Options.LeaseDuration].
//
// # Guarantees
//
//   - A slot never has two owners, whatever happens to processes, clocks and connections: the owner gives it in a write
//     of the table that replaces the version that it knows; or its term has ended before another member deletes its
//     Lease, which must not have changed for LeaseDuration, and only then takes the slot.
//   - Only local clocks count, and their rates, not their times. See package election, which keeps the Lease.
//   - Deleting one of the Leases by hand does not break this: without its Lease a member loses its term, and without the
//     table all of them do; they join again. Don't delete all Leases at once while members run.
//   - The end of a term ends the context of the work, which stops cooperatively. [Member.Begin] refuses new work at once.
//     [Member.Fence] also refuses the writes of work that continues.
//
// # Sharded views
//
// By default, each replica watches all objects, and reconciles its own. With Selection.Sharded of package cache, it
// also lists, watches and holds nothing but its own objects. The order is:
//
//   - A replica that gains slots has them in the table first. Then its views list the objects of all its slots again,
//     and only then work in the gained ones begins. The list is requested after the former owner has given the slots,
//     or has lost its term, and all lists request the newest state. So work never begins with an object that lacks a
//     write of the former owner, unless a write that was sent before the end of a lost term reaches the server later.
//   - A replica that loses slots first ends its work in them, then gives them away. Its views select less about two
//     RetryPeriods after that, with one list for all slots that leave meanwhile.
//
// Objects that leave a view for this reason are not deleted: no reconcile and no OnGone runs for them. The order holds
// for views that are sharded. An unsharded view, such as that of a source of a controller whose objects are divided by
// UID, may be behind the writes of the former owner when a run begins, as it may after a restart of the program.
//
// Either the views of the reconciled kind are sharded; or, with [Options.ByNamespace], also those of other namespaced
// sources. Then a changed object must concern only objects of its own namespace.
//
// The API server needs the feature gate ShardedListAndWatch, which is alpha in Kubernetes 1.36. Without the gate it
// ignores the selector and sends all objects: no response says so. The client notices the first object of another
// shard. Then the views request all objects, and drop the others, so that everything above holds, at the cost of the
// traffic. The status of the view has AllShards then, and the debug page of the manager shows it.
//
// # Which objects
//
// By default, the slot of an object is that of its UID. An object and a later one of the same name may then have
// different owners, and the later one may be reconciled before the owner of the former one has noticed the deletion.
// With [Options.ByNamespace], all objects of a namespace have one owner. Use it only with many namespaces whose names
// differ in more than the last characters: the hash, which is that of the API server, does not distinguish the others
// well. All cluster-scoped objects have one owner then.
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
