// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager runs the controllers and servers of a program together: with leader election, health endpoints and
// metrics, under one Run.
//
//	cache := cache.New(c, nil)
//	m := manager.New(c, &manager.Options{LeaderElection: "shop", HealthAddr: ":8081"})
//	m.Add(controller.New(controller.For[v1.Document](cache), nil).With(reconcileDocument))
//	m.Add(controller.New(controller.For[v1.Order](cache), nil).With(reconcileOrder))
//	err := m.Run(ctx)
//
// A program that has a single controller and needs none of this calls only [controller.Controller.Run].
//
// # Replicas
//
// With [Options.LeaderElection], the leader runs the Runnables of [Manager.Add], and every replica runs those of
// [Manager.AddToAll]. The other replicas are on standby: their caches are synced, so that the first reconcile of the
// next leader does not wait for them. A replica that loses the lease stops its controllers and is on standby again; its
// process continues. See [Manager] for when it is a candidate. See package election for the guarantees, and
// [Manager.Fence] for work that ignores its context.
//
// With [Options.Sharding], every replica runs everything, and the controllers of each replica reconcile a share of the
// objects. One that loses its membership stops its controllers, and joins again. Each replica watches all objects, or
// only its share with views that have Selection.Sharded, see package cache.
//
// # Start and stop
//
// Run starts the HTTP servers, then what runs in every replica, then the standby and the election. When its context
// ends, or something that it runs fails, it stops them in the opposite order: the controllers first, each after its
// current runs; then it releases the lease; then it stops what runs in every replica; the HTTP servers are the last, so
// that livez succeeds and readyz fails meanwhile.
//
// Run returns an error that names each Runnable that does not stop within [Options.StopTimeout], and each run of a
// controller that has not returned. The lease is then kept and renewed until they end, even after Run: end the program,
// so that the lease expires and another replica begins.
//
// # Health
//
// The endpoints /livez, /healthz and /readyz of [Options.HealthAddr] are those of Kubernetes' components: ?verbose
// lists the checks, ?exclude=NAME omits one, and /readyz/NAME is a single one. They do not show errors, which may
// contain anything: a failing check is logged.
//
//   - livez fails if a run of a controller with [controller.Options.RunTimeout] is stuck, or a check of
//     [Manager.AddLivenessCheck] fails, so that the kubelet restarts the process.
//   - readyz fails until the sources of all controllers, and all views that were added, are synced, in every replica;
//     until the lease was reached once; while a check of [Manager.AddReadinessCheck] fails; and when Run is stopping.
//     Clusters that [controller.Controller.Engage] has added do not count, since one of them does not stop the work on
//     the others.
//
// The checks are named "runs-NAME" and "sources-NAME" for a controller, "lease-NAME" for an election or a sharding, and
// "view-RESOURCE" for a view. A number follows a name that repeats, as in "view-secrets-2".
//
// # Metrics
//
// [Options.MetricsAddr] serves the metrics of the election, and of everything that was added: the controllers, the
// caches of their views and the state machines that their reconciles use; see package metrics. To add other parts, use
// [Manager.Metrics]. Two controllers must not have the same name.
//
// # Concurrency
//
// A [Manager] is built in one goroutine, before Run. After that, only [Manager.AddTable], [Manager.Leading],
// [Manager.Sharding], [Manager.Metrics] and [Manager.Fence] may be called, at any time.
package manager
