// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer makes sure that what a controller built outside the cluster is torn down before its object goes.
//
// Use it in a reconciler that owns something Kubernetes does not collect by itself: a bucket, a DNS record, a row in a
// database. What lives in the same cluster needs no finalizer, an owner reference is enough.
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
// If Apply was ever called for an object, Cleanup succeeds before the object goes. So the finalizer is stored before
// the first Apply, and removed only after a Cleanup that went well and asked for nothing more:
//
//	finalizer  being deleted
//	no         no             add the finalizer, then Apply the object as stored
//	yes        no             Apply
//	yes        yes            Cleanup, then remove the finalizer
//	no         yes            nothing: Apply was never called, or Cleanup is done
//
// Both functions may be called again for work they have done already, after a crash or on a stale cache, so both must
// be idempotent; Cleanup succeeds when there is nothing left to clean up.
//
// # Errors
//
// Other finalizers are never touched. A change is a compare-and-swap of the list of finalizers of one object, identified
// by its UID, so that an unrelated change of the object is no conflict. When somebody else changed the list in between,
// the object is read again and the change made anew. An object that is gone meanwhile is no error. Any other failure is
// returned for the controller to retry.
//
// # Permissions
//
// The controller needs the verbs get and patch on the kind.
package finalizer
