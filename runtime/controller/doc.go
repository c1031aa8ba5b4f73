// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller runs a reconcile for every object of a kind whenever something about it may have changed.
//
//	cache := cache.New(c, nil)
//	ctl := controller.New(controller.For[v1.Document](cache), nil).
//		Owns(controller.Source[corev1.ConfigMap](cache)).
//		Watches(controller.Source[corev1.Secret](cache).Map(documentsUsing))
//	err := ctl.Run(ctx, func(ctx context.Context, doc *v1.Document) (controller.Action, error) {
//		…
//		return controller.RequeueAfter(5 * time.Minute), nil
//	})
//
// # Guarantees
//
//   - A reconcile receives a copy of the newest state that the cache has when the run begins.
//   - Two runs of one object never overlap. Changes during a run start exactly one more run.
//   - Every object is reconciled once after the start, with a lower priority than changes in the meantime.
//   - Predicates, see [Primary.Where], only suppress modifications: every object still runs once after the start, and
//     deletions, replacements and the beginning of a deletion are never suppressed.
//   - A run sees the writes and deletes that the previous run made with its context, of the object and of objects of
//     the sources' kinds: the object is held back until the cache has observed them, for at most [Options.HoldTimeout].
//     Of a delete that finalizers or a grace period delay, it sees the deletion timestamp. A DeleteCollection, and the
//     delete of an object that the cache has not received yet, are not waited for.
//   - If an object that a run has written disappears, the object of the run runs again, also if the watch was
//     disconnected meanwhile and no event reports it.
//   - A change by a run of the object itself causes another run, unless [Options.IgnoreOwnWrites] is set or
//     [WithoutRun] was used.
//   - A failed run is retried with a delay that grows from 5 ms to 1000 s and is reset by a success, or after the
//     server's Retry-After if that is longer. A [Terminal] error is not retried. A run that requests another one
//     without a delay waits in the same way, see [RequeueAfter].
//   - A panic of the reconcile, or a call of runtime.Goexit, is an error of that run. A panic of [Options.OnResult] is
//     logged, and affects nothing else.
//   - A state of an object whose mapping fails, see [Secondary.Map], is mapped again with a delay that grows in the
//     same way. A slow function delays neither other sources nor changes: it maps initial objects last.
//   - No run begins before every source of the object's cluster has delivered its existing objects, or has taken longer
//     than [Options.SyncTimeout]: one forbidden kind does not stop the others, and neither does another cluster.
//
// A reconcile receives an object, and not what happened to it: it changes the cluster to the state that the object
// specifies, whatever the current state is. Deleted objects are not reconciled: for work that must precede a deletion,
// use package finalizer. [Options.OnGone] is called when an object no longer exists, never during a run of the object.
//
// # Other triggers
//
// [On] starts runs for events from outside the cluster, and [Controller.ReconcileAll] runs all objects again. A [Feed]
// is a source that is not a view.
//
// [RunOf] returns why a run takes place, such as for metrics: the first events since the last run, and the number of
// the others. The log records of [Logger], of failed runs and of stuck runs name the first event, and have the number of
// the others.
//
// # Metrics
//
// [Controller.Metrics] returns the numbers and durations of runs by result; package contrib/prometheus has a collector
// of them. [Options.OnResult] is called with each result. [Track] is for packages that keep something for each object
// of a controller, such as package fsm.
//
// # Namespaces and clusters
//
// [ForView] and [SourceView] take several views: of several namespaces, or of several clusters. A [Key] has the name of
// the object's cluster. A changed object concerns objects of its own cluster, and a run receives the object of the
// cluster in its key. With several views of one cluster, it is the object of the first view that has it.
//
// [Controller.Engage] adds a cluster while Run is active: it runs all sources on the cache of that cluster until its
// context ends. [RunOf] returns the name of the cluster, both in a reconcile and in a function of [Secondary.Map], so
// that they find the client, the store or the index of this cluster in a map of the program. The name may be missing
// from the map by then: runs that have begun continue when their cluster leaves.
//
// # Errors
//
// [Options.OnResult] and the logger receive the error of a failed run, and the object is retried. An object that can't
// be decoded is a failed run, too; it runs again when it changes. [Controller.Run] returns when it stops, with the
// cause of its context, or immediately if a source is invalid. [Controller.Health] returns errors from which sources
// recover automatically, and [Controller.Stats] the amount of pending work.
//
// # Stopping
//
// When the context of Run ends, no more runs begin. Current runs have [Options.StopTimeout] to finish; then their
// context ends, too, with the same cause. Run returns when all of them have returned, or 10 s after the end of their
// context, with an error that names the objects of the runs that ignore it. It logs the stack of each of these runs.
//
// [Options.RunTimeout] limits each run, and each call of a function of [Secondary.Map]. [Controller.Runs] reports the
// current runs and calls, such as for a health check.
//
// # Concurrency
//
// A [Controller] is built in one goroutine, and only one Run may be active at a time. Its other methods are safe for
// concurrent use. Different objects are reconciled concurrently, up to [Options.Concurrency].
package controller
