// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package finder finds the kinds that a Go package defines.
//
// A kind is a spec struct with //kube:resource, from which its type is generated, or a complete type that is marked
// +kubebuilder:object:root=true in a package with a +groupName. CRDs can be generated without this mark.
package finder
