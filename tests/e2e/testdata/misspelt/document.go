// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package misspelt has a mistake for kube-derive to find.
package misspelt

// BookSpec is what the author of a book writes.
//
//kube:resource group=books.example.com version=v1 kind=Book
type BookSpec struct {
	// Title shown to readers.
	// +kubebuilder:validation:MaxLenght=80
	Title string `json:"title"`
}
