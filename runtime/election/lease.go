// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
)

// lease is a Lease of coordination.k8s.io/v1, see
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/. It is not that of k8s.io/api, which
// every program with package kube would link.
type lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec leaseSpec `json:"spec,omitempty"`
}

// leaseSpec has all fields, since an update removes the others.
type leaseSpec struct {
	HolderIdentity       *string           `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds *int32            `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          *metav1.MicroTime `json:"acquireTime,omitempty"`
	RenewTime            *metav1.MicroTime `json:"renewTime,omitempty"`
	LeaseTransitions     *int32            `json:"leaseTransitions,omitempty"`
	Strategy             *string           `json:"strategy,omitempty"`
	PreferredHolder      *string           `json:"preferredHolder,omitempty"`
}

// KubeResource returns the resource of leases.
func (*lease) KubeResource() core.Resource {
	return core.Resource{
		Group: "coordination.k8s.io", Version: "v1", Kind: "Lease", Plural: "leases", Namespaced: true,
	}
}

// store writes the record into a lease.
func (r record) store(l *lease) {
	s := &l.Spec
	s.HolderIdentity = &r.holder
	s.LeaseDurationSeconds = new(int32(r.duration / time.Second))
	s.AcquireTime = new(metav1.NewMicroTime(time.UnixMicro(r.acquired)))
	s.RenewTime = new(metav1.NewMicroTime(time.UnixMicro(r.renewed)))
	s.LeaseTransitions = &r.transitions
}

// record returns the content of a lease. The fields of a lease of other programs may be missing.
func (l *lease) record() (r record) {
	s := &l.Spec
	if s.HolderIdentity != nil {
		r.holder = *s.HolderIdentity
	}
	if s.LeaseDurationSeconds != nil {
		r.duration = time.Duration(*s.LeaseDurationSeconds) * time.Second
	}
	if s.AcquireTime != nil {
		r.acquired = s.AcquireTime.UnixMicro()
	}
	if s.RenewTime != nil {
		r.renewed = s.RenewTime.UnixMicro()
	}
	if s.LeaseTransitions != nil {
		r.transitions = *s.LeaseTransitions
	}
	return r
}
