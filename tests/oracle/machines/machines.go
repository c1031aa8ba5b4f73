// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package machines has kinds whose status embeds that of a state machine.
//
// +groupName=machines.example.com
// +versionName=v1
package machines

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/machine"
)

// Database has a status with other fields.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=.status.fsm.state
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status DatabaseStatus `json:"status,omitempty"`
}

// DatabaseStatus embeds the status of a machine.
type DatabaseStatus struct {
	machine.Status `json:",inline"`

	// Endpoint is the address of the database.
	Endpoint string `json:"endpoint,omitempty"`
}

// Token has no other status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Token struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status machine.Status `json:"status,omitempty"`
}
