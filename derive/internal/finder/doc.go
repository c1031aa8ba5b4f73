// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package finder finds the kinds that a Go package defines.
//
// A kind is a spec struct with //kube:resource, from which its type is generated, or a type that is written out and
// marked +kubebuilder:object:root=true in a package that has a +groupName. When only CRDs are wanted, the mark is not
// needed.
package finder
