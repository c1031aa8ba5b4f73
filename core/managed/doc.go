// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package managed reads the owners of an object's fields from metadata.managedFields.
//
// Use it with server-side apply: to change fields that were applied before ([Extract]), to find the managers that
// conflict with an apply ([Conflicts], [Owners]), and to take over fields that were written by updates ([Migrate]).
// See https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
//
//	mine, err := managed.Extract(deployment, "web-controller", nil) // only the fields that I applied
//	mine.Spec.Replicas = new(int32(3))
//	deployment, err = deployments.Apply(ctx, mine, &request.ApplyOptions{FieldManager: "web-controller"})
//	for _, c := range managed.Conflicts(err) {
//		fmt.Println(c) // .spec.replicas is owned by "scaler"
//	}
//
// # Objects
//
// Objects must be as the server returned them. An object from a cache has no managed fields. An apply built from it
// would give up all fields, so [Extract] returns an error.
//
// # Structs
//
// The result of [Extract] has exactly the fields that the manager owns. Extract returns an error that names the field
// if a struct does not declare one of them, or always encodes a field that is not one of them, or if its apply leaves
// out a zero value without [ExtractOptions.SendZeroValues]. Unstructured objects have no such limit.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package managed
