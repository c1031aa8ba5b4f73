// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue decides which key a controller works on next.
//
// Use it when many events concern the same few keys and only one worker may process a key at a time. Events for a key
// that is already waiting collapse into one run. Events for a key that is being processed collapse into exactly one
// more run.
//
//	q := queue.New[string](nil)
//	q.Add("prod/web", queue.Normal)
//
//	for {
//		item, err := q.Get(ctx)
//		if err != nil {
//			return err
//		}
//		if err := work(ctx, item.Key); err != nil {
//			q.Retry(item.Key, item.Priority, 0)
//		}
//		q.Done(item.Key)
//	}
//
// # Guarantees
//
//   - Only one worker has a key at a time, from [Queue.Get] until [Queue.Done].
//   - Adds for a waiting key collapse. Adds for a running key collapse into exactly one more run.
//   - Among the delayed adds of a key, the earliest wins. An add without a delay makes the key ready immediately and
//     keeps the delayed add, so the run that was requested for a later time still happens.
//   - Keys of the same priority are handed out in the order in which they were added.
//   - A key with a higher priority is handed out first, but no key starves: once a key has waited for
//     [Options.Aging], every fourth turn is for the key that has waited longest, whatever its priority. So a flood of
//     keys with a low priority is processed eventually, and delays other keys only a little when it has aged.
//   - A waiting key has the highest priority that it was added with. When its priority rises, it becomes the last of
//     the waiting keys with the new priority.
//
// # Retries
//
// [Queue.Retry] records that a run has failed: the key runs again after a delay that doubles with each failure. A run
// that does not call Retry is a success: [Queue.Done] then resets the delay and cancels a pending retry. There is no
// need to forget keys: a key that neither waits, runs nor is delayed uses no memory.
//
// An event does not wait for a pending retry, since it may be what resolves the failure. If the run for the event fails
// as well, the pending delay starts again but does not double, so that a burst of events does not delay the next retry
// for long.
//
// # Shutdown
//
// When the context of a Get ends, Get returns its cause, and the queue keeps its keys. [Queue.Close] drops all keys
// that are not running. [Queue.Drain] drops the delayed keys only, lets the workers process the others and waits until
// they are done. To drop the waiting keys and wait for the running ones, call Close and then Drain.
//
// # Concurrency
//
// A Queue is safe for concurrent use. It starts no goroutines. While a Get waits and a key is delayed, it has one
// timer.
package queue
