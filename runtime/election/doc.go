// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package election chooses one leader among the replicas of a program, with a Lease of coordination.k8s.io/v1.
//
// Use it for work that only one replica may do at a time. The manager of package manager uses it for controllers.
//
//	e := election.New(c, &election.Options{Name: "document-controller"})
//	err := e.Run(ctx, func(ctx context.Context) error {
//		return ctl.Run(ctx, reconcile) // ctx ends when the replica no longer leads
//	})
//
// A replica leads for a term: it writes its identity into the lease, and renews the lease every [Options.RetryPeriod].
// The others read the lease, and one of them takes it when it has not changed for its duration. [Elector.Run] ends
// after one term, so that the program decides whether to end or to call it again.
//
// # Guarantees
//
//   - Terms never overlap, unless somebody deletes the lease or reduces its duration, see below: a term ends
//     [Options.RenewDeadline] after the last successful renewal was sent, and another replica waits
//     [Options.LeaseDuration] after it has observed that renewal. The term may end while the function still stops,
//     after the end of its context: the runs of a controller then end at once.
//   - Terms depend on the rates of the local clocks, not on their times: the times in the lease are for people. If a
//     clock jumps forward, such as after a suspension of the machine, the term of this replica ends within a second,
//     but no other's.
//   - The lease is released only after the function has returned, so that all of its work has ended. Meanwhile it is
//     renewed. The next leader begins within about a second of the release. If runs of a controller have not returned,
//     the lease is not released, and expires: the program should end before then. A manager renews it until they
//     return.
//   - If somebody removes the holder from the lease, it is free after [Options.LeaseDuration]. Nobody may reduce the
//     duration in the lease while a replica leads.
//   - If somebody deletes the lease, a replica that has known it replaces it with one that nobody holds and that nobody
//     takes for [Options.LeaseDuration]; the former leader stops meanwhile. Only a replica that starts before that, in
//     about the first second, creates the lease at once, and may lead before the former leader has noticed. So don't
//     delete the lease of running replicas.
//   - Two replicas with the same identity never lead together.
//
// The end of a context stops a program cooperatively. [Elector.Fence] also refuses the writes of a function that
// continues after its term.
//
// # Compatibility
//
// Leases and times are those of client-go's leaderelection: programs that use either package can compete for one lease.
//
// # Requests
//
// A rate limit of the client does not delay the requests for the lease. A request without a response fails after half
// of [Options.RenewDeadline]. The next one is sent at once, over a new connection, since HTTP/2 notices later than the
// end of a term that a connection is dead, see [client.Client.Reconnect]. A client with Options.Transport must notice
// that itself: set the timeouts of its pings to less than half of RenewDeadline.
//
// # Permissions
//
// The program needs the verbs get, create and update for leases of the group coordination.k8s.io, in
// [Options.Namespace].
//
// # Concurrency
//
// An [Elector] is safe for concurrent use, but only one Run may be active at a time.
package election
