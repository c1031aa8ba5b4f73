// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package core

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Scale is the scale subresource of any kind that has one: the desired and actual number of replicas. It is
// Scale of autoscaling/v1, see
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v1/.
type Scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   ScaleSpec   `json:"spec"`
	Status ScaleStatus `json:"status,omitzero"`
}

// ScaleSpec is the desired number of replicas.
type ScaleSpec struct {
	Replicas int32 `json:"replicas"`
}

// ScaleStatus is the actual number of replicas.
type ScaleStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector,omitempty"` // of the replicas, as in a list's LabelSelector
}
