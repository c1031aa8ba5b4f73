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
// Objects are structs, unstructured objects, maps, or JSON as []byte or string. They are compared as the JSON they
// encode to, so 1 and 1.0 are the same.
//
// # Which one
//
// A JSON merge patch ([DiffMerge], RFC 7396) identifies fields by name, so it also applies to an object that has
// changed in the meantime; it replaces lists as a whole. A JSON patch ([DiffJSON], RFC 6902) identifies items of lists
// by index, so it is smaller for lists, but correct only for the object it was made for. With [Options.Lock], the
// server refuses either patch if the object has another resource version. To own the fields, use server-side apply
// instead.
//
// # Undeclared fields
//
// A Go type may lack fields of its kind, such as those of a newer server. A merge patch of its objects keeps these
// fields, except in a list that has changed. With [Options.Raw], it also keeps those of the list's items:
//
//   - An item with a field name, type or key comes from the item with the same one, if no two items have it.
//   - Any other item comes from an equal one, or else from the one between the same neighbors. If these have several
//     between them, their number must be unchanged.
//   - All other items are new, and have only the fields that the type declares.
//
// Undeclared fields are deleted with the object or the item that has them. A struct that its type omits when it is zero
// is such an object: it is deleted when its last declared field becomes zero.
//
// # Concurrency
//
// Functions may be called from many goroutines at once. Their results share no memory with their arguments.
package patch
