// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache shares watches: whatever part of a program wants to keep up with a kind, the server sees one watch.
//
// Want one cache per server, and a [View] of it for each kind:
//
//	c := cache.New(client, nil)
//	pods := cache.Of[corev1.Pod](c, &cache.Selection{Namespace: "prod"})
//	go pods.Run(ctx)                                  // a controller does this for its sources
//	if err := pods.Store().Ready(ctx); err != nil { … }
//	pod, err := pods.Store().Get(core.ObjectRef{Namespace: "prod", Name: "web-0"})
//
// Views of the same Go type, resource and [Selection] have one store and one watch, however many run. The watch begins
// with the first Run and ends with the last; the store keeps what it has, and the next Run brings it up to date.
//
// # Concurrency
//
// A [Cache] and its views are safe for concurrent use.
package cache
