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
// # What a reconcile can count on
//
//   - It gets the newest state that the cache has when the run begins, as a value of its own.
//   - No two runs of one object overlap. Changes during a run bring exactly one more.
//   - Every object is reconciled once after the start, behind the changes that happen meanwhile.
//   - A run sees what the one before has written under its context, in the object and in the kinds that are sources: the
//     object is held back until the cache has seen it, for [Options.HoldTimeout] at most. Deletes are not waited for.
//   - A failed run is tried again with a delay that grows from 5 ms to 1000 s and starts over after a success; when the
//     server asked to wait longer, for longer. A [Terminal] error is not tried again. A run that asks for another one
//     without a delay waits in the same way, see [RequeueAfter].
//   - A panic of the reconcile, and a call of runtime.Goexit, is an error of that one run. A panic of [Options.OnResult]
//     or of a function given to [Secondary.Map] is logged, and stops nothing else.
//   - It does not run before every source has delivered what was there, or has taken longer than
//     [Options.SyncTimeout]: one forbidden kind does not stop the others.
//
// A reconcile is told which object, never what happened to it; it makes the world as the object asks, whatever state it
// finds. An object that is gone is not reconciled: what must happen before that is for package finalizer.
//
// # Errors
//
// A failed run reaches [Options.OnResult] and the logger, and its object is tried again. An object that can't be decoded
// is a failed run too; it runs again when it changes. [Controller.Run] itself returns only when it stops: the cause of
// its context, or at once when a source can't work at all. [Controller.Health] tells of the trouble that sources get over
// by themselves, [Controller.Stats] how much there is to do.
//
// # Stopping
//
// When the context of Run ends, no run begins any more. Those under way have [Options.StopTimeout] to finish before the
// context they were given ends too, for the same cause. Run returns when all of them have: a reconcile that pays no heed
// to its context is waited for.
//
// # Concurrency
//
// A [Controller] is built in one goroutine and then run once at a time; its other methods are safe for concurrent use.
// Reconciles of different objects run side by side, [Options.Concurrency] at most.
package controller
