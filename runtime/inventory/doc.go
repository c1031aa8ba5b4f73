// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory applies the objects that one object declares, and deletes those that it no longer declares.
//
// Use it in a controller whose objects own others: a Database that needs a StatefulSet, a Service, and a ClusterRole.
// Each pass over the owner declares all objects that should exist. The inventory is the list of the objects that were
// declared, as [machine.Item] values. The caller stores it, usually in the status of the owner.
//
//	applier := inventory.New(c, "example.com/database", nil) // once
//
//	pass := applier.Begin(db, db.Status.Inventory, func(ctx context.Context, items []machine.Item) error {
//		return store(ctx, db, items)
//	})
//	waiting, err := pass.Apply(ctx,
//		inventory.Declaration{Object: credentials(db)},
//		inventory.Declaration{Object: statefulSet(db)},
//		inventory.Declaration{Object: monitoring(db), Wave: 1}, // when the others are ready
//	)
//	if err == nil && waiting == "" {
//		waiting, err = pass.Prune(ctx, nil)
//	}
//	err = errors.Join(err, store(ctx, db, pass.Items())) // if they differ from db.Status.Inventory
//
// While the owner is being deleted, declare nothing and call [Pass.Prune] until it returns an empty string.
//
// # Declarations
//
// An object is applied by server-side apply, with the name of the [Applier] as the field manager. So a declaration has
// only the fields that the controller decides on, and others may set the rest. A pass sends nothing for an object that
// has all declared values. It repairs declared fields that others have changed, and removes fields that it no longer
// declares.
//
// # Ownership
//
// An object gets an owner reference with controller set if Kubernetes allows one: if the owner is cluster-scoped or in
// the same namespace. All others, and those with [Declaration.NoOwner], get an annotation with the owner's namespace,
// name and UID; [OwnersOf] reads it. [Pass.Apply] does not take over other objects: it returns an error, which names
// their owner if they have one. [Declaration.Adopt] takes over objects that belong to nobody.
//
// An object is applied and deleted by UID, so another object with the same name is neither changed nor deleted.
//
// # Crashes
//
// Before a pass creates the first object, it calls the function record of [Applier.Begin] with the inventory in which
// the new objects have no UID. So the next pass finds the objects that were created if the program ends before the
// inventory is stored, including those that it does not declare.
//
// A pass compares the declaration of an object with the stored inventory. If a pass has applied a change and the
// program ends before the inventory is stored, and the next declaration is the one before that change, then fields that
// only the change had set stay until the next change.
//
// # Permissions
//
// The verbs get, create, patch and delete for each kind that is declared. For an owner reference, also update of the
// subresource finalizers of the owner if the server has the admission plugin OwnerReferencesPermissionEnforcement.
//
// Only the program should have the permission to write the status: objects that its inventory names are deleted.
//
// # Concurrency
//
// An [Applier] is safe for concurrent use. A [Pass] is not.
package inventory
