// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package applytypes writes the structs that say exactly what a server-side apply sets.
//
// Each struct type has a twin in which every field may be absent: a pointer, or a list or map that is nil. What is set is
// sent, also when it is zero or empty; what is not set is not claimed.
//
// The twins of all types that a kind leads to are written into the package of the kind, also those of types of other
// packages. So they exist for any module, in the version that it uses, and a program links only what it applies.
package applytypes
