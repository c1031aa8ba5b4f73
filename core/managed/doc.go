// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package managed tells who owns which field of an object, from its metadata.managedFields.
//
// Use it beside server-side apply: to change what one has applied before ([Extract]), to say who is in the way
// ([Conflicts], [Owners]), and to take over fields that were written by updates ([Migrate]).
// See https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management.
//
//	mine, err := managed.Extract(deployment, "web-controller", nil) // what I applied, and nothing else
//	mine.Spec.Replicas = new(int32(3))
//	deployment, err = deployments.Apply(ctx, mine, &request.ApplyOptions{FieldManager: "web-controller"})
//	for _, c := range managed.Conflicts(err) {
//		fmt.Println(c) // .spec.replicas is owned by "scaler"
//	}
//
// # Objects
//
// Objects must be as the server returned them. What a cache keeps has no managed fields any more, and an apply built
// from that would give everything up; so it is an error.
//
// # Structs that can't say it
//
// What is extracted says exactly what the manager owns. A struct that does not declare one of its fields, or that always
// encodes a field which is not among them, can't say that, and [Extract] is an error that names the field.
// Unstructured objects always can.
//
// # Concurrency
//
// Everything here is a plain value. Functions may be called from many goroutines at once.
package managed
