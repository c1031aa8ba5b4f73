// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package applier decides which key runs when. A key is the name of an object, or any other comparable value; a run is
// one reconcile of it. Sources add keys, workers take them, and everything that delays, orders or forbids a run is
// decided here.
//
//	a := applier.New[string, string](nil)
//	a.Add("prod/web", applier.Normal, "changed")
//
//	for {
//		item, err := a.Get(ctx)
//		if err != nil {
//			return err
//		}
//		if err := work(ctx, item.Key); err != nil {
//			a.Retry(item.Key, item.Priority, "failed", 0)
//		}
//		a.Done(item.Key)
//	}
//
// [Applier] lists what is guaranteed.
//
// # Retries
//
// [Applier.Retry] records that a run has failed: the key runs again after a delay that doubles with each failure. A run
// that does not call Retry is a success: [Applier.Done] then resets the delay and cancels a pending retry. There is no
// need to forget keys: a key that is not waiting, running, held or delayed uses no memory. [Applier.Cancel] ends the
// delays of a key that no longer exists.
//
// An event does not wait for a pending retry, since it may be what resolves the failure. The run for the event covers
// the retry, even if it takes longer than the rest of the delay: after a success, the key is not retried. If the run
// fails as well, the delay starts again when it ends, but does not double, so that a burst of events does not delay the
// next retry for long.
//
// # Holds
//
// A run reads objects from caches, which are slightly behind the server. If a key ran again before the caches have
// observed the writes of its last run, it would repeat them, and for example create or delete a second object.
// [Applier.Wrote] records a write. The key is held after its run until [Applier.Seen] reports the version of the write,
// or [Applier.Gone] the deletion, or until [Applier.Forget] removes the source. Other keys are not delayed, and a hold
// occupies no worker.
//
// # Ownership
//
// [Applier.Own] sets which keys may run, for example without those of a cluster that has left. Runs that have begun
// continue.
//
// # Shutdown
//
// When the context of a Get ends, Get returns its cause, and the applier keeps its keys. [Applier.Close] drops all keys
// that are not running. [Applier.Drain] drops the delayed keys only, releases the held ones, lets the workers process
// the others and waits until they are done. To drop the waiting keys and wait for the running ones, call Close and then
// Drain.
//
// # Concurrency
//
// An Applier is safe for concurrent use. It starts no goroutines. While a Get waits and a key is delayed or held, it
// has one timer.
package applier
