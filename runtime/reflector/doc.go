// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package reflector keeps a store of the objects of one kind in step with the server.
//
// Use it when you read the same objects again and again, or want to know of their changes; to share one between the
// parts of a program, use package cache, which is made of it.
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
// A [Store] keeps the bytes of each object as the server has sent them, without managedFields, and decodes them when they
// are read. So it takes a fraction of the memory that decoded objects take, and what it returns is the caller's own:
// nobody can spoil the store, and nothing needs to be copied before it is changed.
//
// # Lists and deletes
//
// When the objects have to be listed anew, the list is brought into the store as it comes. Objects that have not changed
// keep their entry; those that are not in the list are removed at its end, and subscribers are told of each. Until then
// readers see what was there. An object that was replaced by another of the same name is one change, whose Old and New
// have different UIDs.
//
// # Errors
//
// Before the first list has come to its end, the absence of an object means nothing: it is [ErrNotReady], and
// [core.ErrNotFound] only afterwards. Trouble that heals itself is told by [Reflector.Health] and to the Config's OnError.
//
// # Concurrency
//
// A [Reflector] and its [Store] are safe for concurrent use. The only goroutine is that of [Reflector.Run]'s caller.
package reflector
