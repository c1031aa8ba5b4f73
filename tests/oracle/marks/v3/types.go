// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v3 is another version.
//
// +groupName=marks.example.com
// +kubebuilder:validation:Optional
package v3

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Mark is another version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=marks,singular=mark,shortName=m;mk,categories={all,some},scope=Cluster
// +kubebuilder:skipversion
type Mark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Text string `json:"text"`
}
