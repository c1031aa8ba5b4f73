// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package document has the smallest kind there is.
package document

// DocumentSpec is what a user writes.
//
//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
//kube:subresource status
//kube:printcolumn name=Title jsonPath=.spec.title
type DocumentSpec struct {
	// Title shown to readers.
	// +kubebuilder:validation:MaxLength=80
	Title string `json:"title"`
}

// DocumentStatus is what the controller knows.
type DocumentStatus struct {
	// Words is how many words there are.
	Words int `json:"words,omitempty"`
}
