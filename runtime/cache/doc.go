// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache shares watches: whatever part of a program wants to keep up with a kind, the server sees one watch.
//
// Want one cache per server, and a [View] of it for each kind:
//
//	c := cache.New(client, nil)
//	pods := cache.Of[corev1.Pod](c, &cache.Selection{Namespace: "prod"})
//	go pods.Run(ctx)                                  // a controller does this for its sources
//	if err := pods.Ready(ctx); err != nil { … }
//	pod, err := pods.Store().Get(core.ObjectRef{Namespace: "prod", Name: "web-0"})
//
// Views of the same Go type, resource and [Selection] are one view with one store and one watch, however many run it.
// The watch begins with the first Run and ends with the last; the store keeps what it has, and the next Run brings it up
// to date. A view lasts as long as its cache, so selections are better few than made up for each question: read a part
// of a larger view by [reflector.SelectOptions].
//
// # Metadata
//
// A view of metav1.PartialObjectMetadata, see [OfResource], lists and watches the metadata of a kind: less for the server
// to send and for the store to hold, and no data of secrets in the memory of the program. Annotations are metadata: that of
// a client-side "kubectl apply" repeats what was applied.
//
// # Reading one's own writes
//
// A store is a moment behind the server. [View.WaitFor] bridges the moment: it waits until the store has seen what a
// write has answered. A controller does so by itself between the runs of an object.
//
// # Errors
//
// Trouble that heals itself, such as a permission that is missing, is told by [View.Health] and to the logger. [View.Run]
// returns an error of its own only when the view can't work at all: nothing describes the kind, a selector is not one, or
// a namespace was given for a kind that has none.
//
// # Concurrency
//
// A [Cache] and its views are safe for concurrent use. A watch runs in a goroutine of its own, which ends with the last
// Run. A panic of the Logger's handler or of the client's middleware in there is not contained: it ends the program.
package cache
