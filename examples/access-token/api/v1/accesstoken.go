// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kube-go/sdk/core/machine"
)

// AccessTokenSpec is what the bearer of a token may do.
//
//kube:resource group=auth.example.com version=v1 kind=AccessToken shortName=at
//kube:description An AccessToken is a service account with permissions in several namespaces, and a secret with its token.
//kube:subresource status
//kube:printcolumn name=State jsonPath=.status.fsm.state
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Secret jsonPath=.status.secret
type AccessTokenSpec struct {
	// Namespaced are permissions in single namespaces.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	Namespaced []NamespacePermissions `json:"namespaced,omitempty"`

	// Cluster are permissions in the whole cluster.
	// +optional
	Cluster []rbacv1.PolicyRule `json:"cluster,omitempty"`
}

// NamespacePermissions are permissions in one namespace.
type NamespacePermissions struct {
	// Namespace is the namespace.
	Namespace string `json:"namespace"`

	// Rules are the permissions.
	// +kubebuilder:validation:MinItems=1
	Rules []rbacv1.PolicyRule `json:"rules"`
}

// AccessTokenStatus is the state of a token.
type AccessTokenStatus struct {
	machine.Status `json:",inline"`

	// Secret is the name of the secret with the token.
	// +optional
	Secret string `json:"secret,omitempty"`
}
