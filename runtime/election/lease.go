// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/runtime/internal/leases"
)

// store writes the record into a lease.
func (r record) store(l *leases.Lease) {
	s := &l.Spec
	s.HolderIdentity = &r.holder
	s.LeaseDurationSeconds = new(int32(r.duration / time.Second))
	s.AcquireTime = new(metav1.NewMicroTime(time.UnixMicro(r.acquired)))
	s.RenewTime = new(metav1.NewMicroTime(time.UnixMicro(r.renewed)))
	s.LeaseTransitions = &r.transitions
}

// recordOf returns the content of a lease. The fields of a lease of other programs may be missing.
func recordOf(l *leases.Lease) (r record) {
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
