// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps a store of the objects of one kind synced with the API server.
//
// Use it to read the same objects repeatedly, or to be notified of their changes. To share one store between the parts
// of a program, use package cache, which is built on reflectors.
//
//	pods := reflector.New[corev1.Pod](kube.Namespaced[corev1.Pod](client, "prod").Feed(), nil)
//	go pods.Run(ctx)
//	if err := pods.Store().Ready(ctx); err != nil {
//		return err
//	}
//	pod, err := pods.Store().Get(core.ObjectRef{Namespace: "prod", Name: "web-0"})
//	for change, err := range pods.Store().Subscribe(ctx) { … }
//
// # The packed store
//
// A [Store] keeps the bytes of each object as sent by the server, without managedFields, and decodes them on each read.
// So it needs a fraction of the memory of decoded objects, and callers own the objects that it returns: they can't
// corrupt the store, and may change an object without copying it.
//
// # Lists and deletions
//
// When the reflector lists the objects again, it updates the store item by item. Unchanged objects keep their entries.
// Objects that are missing from the list are removed at its end, and subscribers receive each deletion. Until then,
// readers see the old objects. An object that was replaced by another one with the same name is one change, whose Old
// and New have different UIDs.
//
// # Errors
//
// Until the first list is complete, a missing object is [ErrNotReady]; from then on, it is [core.ErrNotFound].
// [Reflector.Health] returns errors from which the reflector recovers automatically; the Config's OnError receives
// them, too.
//
// # Concurrency
//
// A [Reflector] and its [Store] are safe for concurrent use. They start no goroutines: [Reflector.Run] does its work in
// the goroutine of its caller.
package reflector
