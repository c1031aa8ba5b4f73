// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package leases has the type of Leases, for clients.
package leases

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// Lease is a Lease of coordination.k8s.io/v1, see
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/. It is not that of k8s.io/api, which
// every program with package kube would link.
type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec,omitempty"`
}

// Spec has all fields, since an update removes the others.
type Spec struct {
	HolderIdentity       *string           `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds *int32            `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
	RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
	LeaseTransitions     *int32            `json:"leaseTransitions,omitempty"`
	Strategy             *string           `json:"strategy,omitempty"`
	PreferredHolder      *string           `json:"preferredHolder,omitempty"`
}

// KubeResource returns the resource of leases.
func (*Lease) KubeResource() core.Resource {
	return core.Resource{
		Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Plural: "leases", Namespaced: true,
	}
}
