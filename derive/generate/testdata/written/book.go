// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package written has kinds that are written out, in the way of kubebuilder.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=written.example.com
// +versionName=v2
package written

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:resource:path=books,shortName=b;bk,categories=all;reading,scope=Cluster
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp",priority=1
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=`.spec.title`,description="what it is called"
// +kubebuilder:selectablefield:JSONPath=".spec.title"
// +kubebuilder:metadata:annotations="example.com/a=b",labels="c=d"
// +kubebuilder:deprecatedversion:warning="use v3"
// +genclient

// Book is a book.
type Book struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BookSpec   `json:"spec,omitempty"`
	Status BookStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// BookList is many books.
type BookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Book `json:"items"`
}

// BookSpec is the spec.
type BookSpec struct {
	Title string `json:"title"`
	// +required
	Pages    []string `json:"pages"`
	Replicas int32    `json:"replicas"`
}

// BookStatus is the status.
type BookStatus struct {
	Replicas int32 `json:"replicas"`
}

// Extra is copied because everything in this package is.
type Extra struct {
	Pages []string `json:"pages"`
}

// Plain is not, because it says so.
// +kubebuilder:object:generate=false
type Plain struct {
	Pages []string `json:"pages"`
}
