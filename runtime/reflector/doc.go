// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps the objects of one kind synced with the API server.
//
// Use it to read the same objects repeatedly, or to be notified of their changes. To share the objects between the
// parts of a program, use package cache, which is built on reflectors.
//
//	r := reflector.New(kube.Namespaced[corev1.Pod](client, "prod").Feed(), nil)
//	pods := reflector.StoreOf[corev1.Pod](r)
//	go r.Run(ctx)
//	if err := pods.Ready(ctx); err != nil {
//		return err
//	}
//	pod, err := pods.Get(core.ObjectRef{Namespace: "prod", Name: "web-0"})
//	for change, err := range pods.Subscribe(ctx) { … }
//
// # Packed objects
//
// A [Reflector] keeps the bytes of each object as sent by the server, without managedFields. A [Store] decodes them on
// each read. So the objects need a fraction of the memory of decoded ones, and callers own the objects that a store
// returns: they can't corrupt it, and may change an object without copying it.
//
// From 256 objects on, text that many of them have is kept once, in a dictionary. This halves the memory of pods, and
// adds 1.5 µs to reading one. The dictionary is made from the first objects, and is at most 32 KiB. Objects of which it
// has little text are kept unchanged. So are objects that have changed, until they add up to 256 KiB.
//
// Stores of several Go types can read one reflector. It keeps what they need, and nothing else: see [StoreOf].
//
// # Decoded stores
//
// A program that continuously reads most objects, such as a scheduler, would spend its time decoding. [Decoded]
// decodes each state once. Its readers share the objects and must not change them, as with the informers of client-go:
//
//	pods := reflector.Decoded(reflector.StoreOf[corev1.Pod](r))
//
// # Selections and indexes
//
// [Store.All] selects by namespace, labels and owner without reading the other objects. [IndexBy] indexes the objects
// by any other values, such as the name of the node of a pod:
//
//	byNode := reflector.IndexBy(pods, func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} })
//	for pod, err := range byNode.All("node-1") { … }
//
// An index always has the same objects as its store.
//
// # Errors
//
// Until the first list is complete, a missing object is [ErrNotReady]; from then on, it is [core.ErrNotFound].
// [Reflector.Health] returns errors from which the reflector recovers automatically; the OnError of the watch receives
// them, too.
//
// # Concurrency
//
// A [Reflector], its stores and indexes are safe for concurrent use. [Reflector.Run] does its work in the goroutine of
// its caller. It writes snapshots in another one, which ends before Run returns.
package reflector
