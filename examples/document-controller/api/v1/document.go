// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Format is how the body of a document is written.
// +kubebuilder:validation:Enum=text;markdown;html
type Format string

// The formats that there are.
const (
	FormatText     Format = "text"
	FormatMarkdown Format = "markdown"
	FormatHTML     Format = "html"
)

// ConditionReady is the type of the condition that says whether a document is published.
const ConditionReady = "Ready"

// DocumentSpec is what the author of a document writes.
//
//kube:resource group=docs.example.com version=v1 kind=Document shortName=doc
//kube:description A Document is a text that is published as a ConfigMap.
//kube:subresource status
//kube:printcolumn name=Title jsonPath=.spec.title
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Age jsonPath=.metadata.creationTimestamp
type DocumentSpec struct {
	// Title shown to readers.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Title string `json:"title"`

	// Body is the text of the document.
	// +optional
	Body string `json:"body,omitempty"`

	// Format says how the body is written.
	// +kubebuilder:default=markdown
	Format Format `json:"format,omitempty"`
}

// DocumentStatus is what the controller knows of a document.
type DocumentStatus struct {
	// ObservedGeneration is the generation of the document that the rest of the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions tell how far publishing has come.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ConfigMap is the name of the ConfigMap that holds the published text.
	ConfigMap string `json:"configMap,omitempty"`

	// Words is how many words the body has.
	Words int `json:"words,omitempty"`
}
