// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package patch computes the patch that turns one object into another.
//
// Use it to send only what a program has changed, or to log what it is about to change.
//
//	before := pod.DeepCopy()
//	pod.Labels["checked"] = "yes"
//	diff, err := patch.DiffMerge(before, pod, nil)
//	if len(diff) > 0 {
//		pod, err = pods.Patch(ctx, pod.Name, request.MergePatch(diff), nil)
//	}
//
// Objects are structs, unstructured objects, maps, or JSON as []byte or string. They are compared as the JSON they encode
// to, so 1 and 1.0 are the same.
//
// # Which one
//
// A JSON merge patch ([DiffMerge], RFC 7396) names fields, so it also fits an object that has changed meanwhile; it
// replaces lists whole. A JSON patch ([DiffJSON], RFC 6902) names places, so that it says less of lists, but is
// only right for the object it was made of. With [Options.Lock] either is refused when the object is another version.
// To own what one sets, use server-side apply instead of a patch.
//
// # Concurrency
//
// Functions may be called from many goroutines at once. What they return shares nothing with what they were given.
package patch
