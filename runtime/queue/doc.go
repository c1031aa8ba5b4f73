// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue decides which key a controller works on next.
//
// Use it when many events name the same few things and each thing must be worked on by one worker at a time:
// events for a key that already waits collapse into one run, and events for a key that is being worked on
// collapse into exactly one more run.
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
// # Laws
//
//   - A key is handed to one worker at a time, from [Queue.Get] until [Queue.Done].
//   - Adds for a waiting key collapse; adds for a running key collapse into exactly one more run.
//   - Among delayed adds of a key the earliest wins. A plain add runs the key at once and leaves a delayed
//     one in place, so the run asked for at a later time still happens.
//   - Within one priority keys are handed out in the order in which they were added.
//   - A higher priority goes first, but nothing starves: once a key has waited for [Options.Aging], every
//     fourth turn goes to the key that has waited longest, whatever its priority. So a flood of low
//     priority keys neither waits for ever nor holds up the others when it has grown old.
//   - A waiting key has the highest priority that it was added with. One that rises joins the end of the new line.
//
// # Retries
//
// [Queue.Retry] says that the run failed: the key runs again after a delay that doubles from failure to failure.
// A run that ends without it is a success: [Queue.Done] then resets the delay and cancels a retry that is still
// pending. There is nothing to forget: a key that neither waits, runs nor is delayed takes no memory.
//
// An event does not wait for a retry; it may be what mends the failure. When the run it starts fails as well, the
// pending delay starts over but does not double, so that a burst of events does not push the next retry far away.
//
// # Shutdown
//
// When the context of a Get ends, that Get returns its cause; the queue and its keys stay as they are.
// [Queue.Close] drops all keys that are not running. [Queue.Drain] drops the delayed ones only, lets the
// workers finish the rest and waits for them. To drop what has not started and wait for what has, call Close and
// then Drain.
//
// # Concurrency
//
// A Queue is safe for concurrent use. It starts no goroutine of its own, but while a Get waits and a key is delayed
// it holds one timer.
package queue
