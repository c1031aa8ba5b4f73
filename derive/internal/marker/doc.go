// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package marker reads the comments that steer kube-derive.
//
// There are two spellings. Ours describe kinds, and separate arguments by spaces:
//
//	//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc,docs
//
// Those of the Kubernetes ecosystem describe types and fields, and separate arguments by commas:
//
//	// +kubebuilder:validation:MaxLength=80
//	// +listType=map
//
// A [Set] holds the definition of each marker that there is. Within the namespaces it holds, a marker that is unknown,
// in the wrong place or ill-typed is an error; a comment of any other namespace is not a marker at all.
package marker
