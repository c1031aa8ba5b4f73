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
// [Controller] lists what is guaranteed.
//
// A reconcile receives an object, and not what happened to it: it changes the cluster to the state that the object
// specifies, whatever the current state is. Deleted objects are not reconciled: for work that must precede a deletion,
// use package finalizer. [Options.OnGone] is called when an object no longer exists, never during a run of the object.
//
// # Other triggers
//
// [On] starts runs for events from outside the cluster, and [Controller.ReconcileAll] runs all objects again. Objects
// from elsewhere, such as another process, come through [cache.Options.Source].
//
// [RunOf] returns why a run takes place, such as for metrics: the first events since the last run, and the number of
// the others. The log records of [Logger], of failed runs and of stuck runs name the first event, and have the number
// of the others.
//
// # Namespaces and clusters
//
// [ForView] and [SourceView] take several views: of several namespaces, or of several clusters. A [Key] has the name of
// the object's cluster. A changed object concerns objects of its own cluster, and a run receives the object of the
// cluster in its key. With several views of one cluster, it is the object of the first view that has it.
//
// [Controller.Engage] adds a cluster until its context ends: while Run is active, it runs all sources on the cache of
// that cluster. [RunOf] returns the name of the cluster, both in a reconcile and in a function of [Secondary.Map], so
// that they find the client, the store or the index of this cluster in a map of the program. The name may be missing
// from the map by then: runs that have begun continue when their cluster leaves.
//
// # Errors
//
// [Options.OnResult] and the logger receive the error of a failed run, and the object is retried. An object that can't
// be decoded is a failed run, too; it runs again when it changes. [Controller.Run] returns when it stops, with the
// cause of its context, or immediately if a source is invalid. [Controller.Health] returns errors from which sources
// recover automatically, and [Controller.Metrics] the amount of pending work.
//
// # Stopping
//
// When the context of Run ends, no more runs begin. Current runs have [Options.StopTimeout] to finish; then their
// context ends, too, with the same cause. Run returns when all of them have returned, or 10 s after the end of their
// context, with an error that names the objects of the runs that ignore it. It logs the stack of each of these runs.
//
// [Options.RunTimeout] limits each run, and each call of a function of [Secondary.Map]. [Controller.Runs] reports them.
//
// # Concurrency
//
// A [Controller] is built in one goroutine before Run: a source that is added later has no effect, and an error is
// logged. Only one Run may be active at a time. The other methods are safe for concurrent use. Different objects are
// reconciled concurrently, up to [Options.Concurrency].
package controller
