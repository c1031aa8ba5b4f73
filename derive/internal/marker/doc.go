// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package marker parses the marker comments of kube-derive.
//
// Markers have two forms. Those of the SDK describe kinds, and separate arguments by spaces:
//
//	//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc,docs
//
// Those of kubebuilder and Kubernetes describe types and fields, and separate arguments by commas:
//
//	// +kubebuilder:validation:MaxLength=80
//	// +listType=map
//
// A [Set] has the definitions of all markers. In their namespaces, an unknown marker, a marker on the wrong target, and
// an argument of the wrong type are errors. A comment of any other namespace is not a marker.
package marker
