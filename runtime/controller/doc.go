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
//   - A run sees the writes and deletes that the previous run made with its context, of the object and of objects of
//     the sources' kinds: the object is held back until the cache has observed them, for at most [Options.HoldTimeout].
//     A DeleteCollection, and the delete of an object that the cache has not received yet, are not waited for.
//   - A failed run is retried with a delay that grows from 5 ms to 1000 s and is reset by a success, or after the
//     server's Retry-After if that is longer. A [Terminal] error is not retried. A run that requests another one
//     without a delay waits in the same way, see [RequeueAfter].
//   - A panic of the reconcile, or a call of runtime.Goexit, is an error of that run. A panic of [Options.OnResult] or
//     of a function that was passed to [Secondary.Map] is logged, and affects nothing else.
//   - No run begins before every source has delivered its existing objects, or has taken longer than
//     [Options.SyncTimeout]: one forbidden kind does not stop the others.
//
// A reconcile receives an object, and not what happened to it: it changes the cluster to the state that the object
// specifies, whatever the current state is. Deleted objects are not reconciled: for work that must precede a deletion,
// use package finalizer.
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
// context ends, too, with the same cause. Run returns when all of them have finished: it waits for a reconcile that
// ignores its context.
//
// # Concurrency
//
// A [Controller] is built in one goroutine, and only one Run may be active at a time. Its other methods are safe for
// concurrent use. Different objects are reconciled concurrently, up to [Options.Concurrency].
package controller
