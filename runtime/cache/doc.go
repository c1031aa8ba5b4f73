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
// Views of the same resource and [Selection] share one watch and its objects, whatever their Go types are and however
// often they run. The watch begins with the first Run and ends with the last. The objects are kept for another minute,
// and a Run in that time only updates them. A watch is never removed from its cache, so use few selections: to read a
// part of a larger view, use [reflector.SelectOptions].
//
// # Go types
//
// A view can have any type that can be decoded from the objects: the kind itself, a struct with only the fields that a
// program reads, unstructured.Unstructured, or metav1.PartialObjectMetadata. The cache requests and holds what all
// views of the objects need together:
//
//   - If all of them read only metadata, the server sends only metadata. So the data of secrets, for example, is not in
//     the memory of the program. Annotations are metadata: the annotation of a client-side "kubectl apply" contains the
//     object that was applied.
//   - If all of them can be decoded from protobuf, as the types of k8s.io/api and metadata can, the cache uses
//     protobuf.
//   - Otherwise it uses JSON, and holds only the fields that one of the types declares.
//
// A program that continuously reads most objects can use [Decoded], so that each state of an object is decoded only
// once. Its readers share the objects.
//
// Create the views before they run. If a new view needs more than the cache has, the cache lists the objects again;
// meanwhile the new view is not ready, and the others continue to work.
//
// # WebAssembly modules
//
// In a module, see [github.com/kube-go/sdk/client/guest], the watches are those of the host, which all its modules
// share. The cache holds only the metadata that it needs, and reads the other fields from the host, while the view
// runs. SnapshotDir is an error, and Compression has no effect.
//
// # Reading your own writes
//
// A store is slightly behind the server. [View.WaitFor] waits until the store has observed the response to a write. A
// controller does this automatically between the runs of an object.
//
// # Errors
//
// [View.Health] returns errors from which the watch recovers automatically, such as a missing permission; the logger
// logs them. [Cache.Watches] returns the state of all watches. [View.Run] returns its own error only if the view is
// invalid: the kind is unknown, a selector is invalid, or a namespace is selected for a cluster-scoped kind.
//
// # Concurrency
//
// A [Cache] and its views are safe for concurrent use. A watch runs in its own goroutine, which ends with the last Run.
// A panic of the Logger's handler or of the client's middleware in that goroutine is not recovered: it ends the
// program.
package cache
