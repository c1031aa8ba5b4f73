// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package watcher watches the objects of one kind, and recovers from interruptions.
//
// A watch of the API server ends after a few minutes, and when its connection breaks. It can't be resumed once the
// server has discarded its version. Use this package to receive changes without interruptions. To read the objects at
// any time, use a store: package reflector.
//
//	pods := kube.Namespaced[corev1.Pod](client, "prod")
//	for ev, err := range watcher.Watch[corev1.Pod](ctx, pods.Feed(), nil) {
//		if err != nil {
//			return err // ctx has ended
//		}
//		fmt.Println(ev.Type, ev.Object.Name)
//	}
//
// [Events] lists what is guaranteed.
//
// # How it recovers
//
// The watcher lists the objects with a streaming list, or with a paged list if the server does not support streaming
// lists. A [Server] remembers this for all watchers that share it, for one to two hours or until a connection fails, so
// that an upgraded server is noticed. Then the watcher watches the objects. All lists request the newest state, so the
// watcher never goes back in time. A consumer that already has the state of a version skips the first list with
// [Options.ResourceVersion].
//
//   - A watch that ends normally, or whose connection breaks after it has delivered a new version, resumes from the
//     newest version that the server has sent (of any shard), but not within one second after the watch was opened.
//   - When the server no longer has that version (410), or rejects the request or the watch as invalid, the watcher
//     lists the objects again, immediately if the 410 ends an outage.
//   - After other failures (429, 401, 403, 404, no connection, …) it repeats the request. After ten consecutive ones,
//     or three whose cause is unknown (such as 500), it lists the objects again.
//   - A watch that ends within a second of its acceptance by the server, or whose connection breaks, without a new
//     version is a failure. So is a watch that the server has not accepted after a minute.
//   - A watch of a server that sends bookmarks regularly ends after four minutes of silence. If it has sent nothing at
//     all, the watcher lists the objects again: after a restore of etcd without increased revisions, a server may not
//     have reached the version of the watch, and does not report this. If it reaches the version within these four
//     minutes, the consumer misses the changes until then.
//   - A page that fails is requested again. When its continue token has expired, the next list has no pages, and if
//     that fails, the one after it has pages. After ten consecutive failures, the list starts again.
//   - When a streaming list ends early, or is silent for 20 seconds, the next list is paged.
//   - A server is considered to ignore the request for a streaming list if it sends a bookmark that is not the end of
//     the list, or changes without the end of the list within 20 seconds. Such a server is listed in pages. A list that
//     is only long is not interrupted. A server that ignores the request, and sends neither bookmarks nor other changes
//     than new objects, is noticed when it ends the watch, after ten minutes at most.
//
// # Retries and timeouts
//
// The delay after a failure is 0.8 s. It doubles with each further failure, up to 30 s, and is reset after two minutes
// without a failure. A random time of up to the same length is added to each delay. The watcher waits at least as long
// as the server requests with Retry-After. The number of retries is not limited, since the kind may be installed, or
// the permission granted, at any time. See [Options.Timeout] for the detection of dead connections.
//
// # Errors
//
// The option OnError receives errors from which the watcher recovers. A sequence yields an error only as its last pair.
//
// # Concurrency
//
// A sequence runs in the goroutine that ranges over it, and starts no others. Break closes the connection before the
// loop returns. The sequences of [Events] and [Watch] may be ranged over repeatedly, and concurrently if the source
// allows it.
package watcher
