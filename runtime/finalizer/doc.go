// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer ensures that a controller cleans up external resources before their object is deleted.
//
// Use it in a reconciler that owns something that Kubernetes does not garbage-collect: a bucket, a DNS record, a row in
// a database. Objects in the same cluster need no finalizer: an owner reference is enough.
//
//	func (r *reconciler) reconcile(ctx context.Context, doc *v1.Document) (controller.Action, error) {
//		return finalizer.Reconcile(ctx, r.docs, "docs.example.com/cleanup", doc, finalizer.Funcs[v1.Document]{
//			Apply:   r.apply,
//			Cleanup: r.cleanup,
//		})
//	}
//
// # Guarantee
//
// If Apply was ever called for an object, Cleanup succeeds before the object is deleted, with the exceptions below. The
// finalizer is stored before the first Apply, and removed only after a Cleanup that succeeded and did not request
// another call:
//
//	finalizer  being deleted
//	no         no             add the finalizer, then Apply the object as stored
//	yes        no             Apply
//	yes        yes            Cleanup, then remove the finalizer
//	no         yes            nothing: Apply was never called, or Cleanup is done
//
// Both functions may be called again after they have done their work, after a crash or with a stale cache, so both must
// be idempotent. Cleanup must succeed if there is nothing left to clean up.
//
// There are two exceptions:
//
//   - API servers may delete an object although a finalizer was added while they processed the delete, see
//     https://github.com/kubernetes/kubernetes/issues/77988. A delete with a resource version can't do that.
//   - Apply may be called after the last Cleanup for an object that no longer exists, if the cache of a new leader is
//     behind the cleanup by the former one. What it then creates stays. So let Apply read the object from the server
//     before it creates something, and stop if it is deleted, being deleted, or has another UID. Or put the UID into
//     the names of external objects, so that a job can find those of deleted objects.
//
// The controller must see the object until it is deleted. If the reconciled views have selectors, an object that a
// change removes from the selection keeps its finalizer, so its deletion never completes.
//
// # Errors
//
// Reconcile never changes other finalizers. A change is a compare-and-swap of the list of finalizers of one object,
// which is identified by its UID, so an unrelated change of the object is not a conflict. If another client has changed
// the list in the meantime, Reconcile reads the object again and repeats the change. An object that was deleted in the
// meantime is not an error. All other errors are returned, and the controller retries.
//
// # Names
//
// Each controller of a kind needs a name of its own. Two controllers with the same name would remove the finalizer
// after the first of their cleanups, and the other one would never run. This is not detected: use a domain of your own,
// and the name of the controller.
//
// # Concurrency
//
// The functions are safe for concurrent use, even for different finalizers of the same object. They call Apply and
// Cleanup in the goroutine of the caller.
//
// # Permissions
//
// The controller needs the verbs get and patch for the kind.
package finalizer
