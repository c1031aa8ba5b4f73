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
// adds about 0.5 µs to reading one, which takes about 8 µs. The dictionary is made from the first objects, and is as
// large as 32 KiB. Objects of which it has little text are kept unchanged. So are objects that have changed, until they
// have 256 KiB together.
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
// An index changes together with the objects: an index always has the same objects as its store.
//
// # Lists and deletions
//
// When the reflector lists the objects again, it updates them one by one. Unchanged objects keep their entries. The
// same version with other content is a change: after a restore of etcd, servers assign the same versions again. Objects
// that are missing from the list are removed at its end, and subscribers receive each deletion. Until then, readers see
// the old objects. An object that was replaced by another one with the same name is one change, whose Old and New have
// different UIDs.
//
// # Snapshots
//
// With [Options.SnapshotDir], a reflector writes its objects to a file, so that a program that restarts within minutes
// resumes its watch instead of listing all objects. The load of the server is then that of the changes.
//
// The file changes nothing for readers: from the start of Run, no object is older than in a list that is requested
// after the start. The reflector resumes the watch at the version of the file, then lists one object, and nothing of
// the file is visible before the watch has reached the version of that list. Then the store becomes ready, and
// subscribers receive all objects, like after a list. This takes one or two seconds, or less if the objects change. The
// objects are listed if the server no longer has the changes since the file was written, or does not confirm the
// version within 9 seconds; if an object has another UID or version than the file and the changes say, such as in a new
// cluster at the same address; or if the version of the server is lower than that of the file. If a backup of etcd is
// restored and reaches the version of the file while the program is down, without the increased revisions that
// Kubernetes recommends for a restore, changes may be missing until the next list. The same happens to every client
// whose watch is interrupted meanwhile.
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
