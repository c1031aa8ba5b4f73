// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package applytypes writes apply structs, which have exactly the fields of a server-side apply.
//
// Each struct type has a twin whose fields are optional: pointers, lists or maps. Fields that are set are sent, even if
// they are zero or empty, and fields that are nil are not.
//
// The twins of all types that a kind uses are written to the package of the kind, including those of types of other
// packages. So they match the version of the module that the program uses, and the program links only the types that it
// applies.
package applytypes
