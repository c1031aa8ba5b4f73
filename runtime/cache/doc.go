// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache shares watches: all parts of a program that watch a kind share one watch on the server.
//
// Create one cache per server, and get a [View] of it for each kind:
//
//	c := cache.New(client, nil)
//	pods := cache.Of[corev1.Pod](c, &cache.Selection{Namespace: "prod"})
//	go pods.Run(ctx)                                  // a controller does this for its sources
//	if err := pods.Ready(ctx); err != nil { … }
//	pod, err := pods.Store().Get(core.ObjectRef{Namespace: "prod", Name: "web-0"})
//
// Views with the same Go type, resource and [Selection] are one view with one store and one watch, however often it
// runs. The watch begins with the first Run and ends with the last. The store keeps its objects, and the next Run
// updates them. A view is never removed from its cache, so use few selections: to read a part of a larger view, use
// [reflector.SelectOptions].
//
// # Metadata
//
// A view of metav1.PartialObjectMetadata lists and watches the metadata of a kind, see [OfResource]: the server sends
// less, the store holds less, and the data of secrets is not in the memory of the program. Annotations are metadata:
// the annotation of a client-side "kubectl apply" contains the object that was applied.
//
// # Reading your own writes
//
// A store is slightly behind the server. [View.WaitFor] waits until the store has observed the response to a write. A
// controller does this automatically between the runs of an object.
//
// # Errors
//
// [View.Health] returns errors from which the watch recovers automatically, such as a missing permission; the logger
// logs them. [View.Run] returns its own error only if the view is invalid: the kind is unknown, a selector is invalid,
// or a namespace is selected for a cluster-scoped kind.
//
// # Concurrency
//
// A [Cache] and its views are safe for concurrent use. A watch runs in its own goroutine, which ends with the last Run.
// A panic of the Logger's handler or of the client's middleware in that goroutine is not recovered: it ends the
// program.
package cache
