// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Format is the markup language of a document's body.
// +kubebuilder:validation:Enum=text;markdown;html
type Format string

// The supported formats.
const (
	FormatText     Format = "text"
	FormatMarkdown Format = "markdown"
	FormatHTML     Format = "html"
)

// ConditionReady is the type of the condition that reports whether a document is published.
const ConditionReady = "Ready"

// DocumentSpec is the desired state of a document.
//
//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
//kube:description A Document is a text that is published as a ConfigMap.
//kube:subresource status
//kube:printcolumn name=Title jsonPath=.spec.title
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Age jsonPath=.metadata.creationTimestamp
type DocumentSpec struct {
	// Title is the title shown to readers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Title string `json:"title"`

	// Body is the text of the document.
	// +optional
	Body string `json:"body,omitempty"`

	// Format is the markup language of the body.
	// +kubebuilder:default=markdown
	Format Format `json:"format,omitempty"`
}

// DocumentStatus is the observed state of a document.
type DocumentStatus struct {
	// ObservedGeneration is the generation of the document that the status describes.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report whether the document is published.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ConfigMap is the name of the ConfigMap that holds the published text.
	ConfigMap string `json:"configMap,omitempty"`

	// Words is the number of words in the body.
	Words int `json:"words,omitempty"`
}
