// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has kinds that wrap the types of Kubernetes, because API authors embed these types. A kind has no
// status if API servers would reject it: it has lists whose items may lack their key.
//
// +groupName=oracle.example.com
// +versionName=v1
package kinds

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Deployment wraps the type of Kubernetes.
type Deployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec appsv1.DeploymentSpec `json:"spec"`
}

// StatefulSet wraps the type of Kubernetes.
type StatefulSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec appsv1.StatefulSetSpec `json:"spec"`
}

// DaemonSet wraps the type of Kubernetes.
type DaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec appsv1.DaemonSetSpec `json:"spec"`
}

// ReplicaSet wraps the type of Kubernetes.
type ReplicaSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec appsv1.ReplicaSetSpec `json:"spec"`
}

// Job wraps the type of Kubernetes.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   batchv1.JobSpec   `json:"spec"`
	Status batchv1.JobStatus `json:"status,omitempty"`
}

// CronJob wraps the type of Kubernetes.
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   batchv1.CronJobSpec   `json:"spec"`
	Status batchv1.CronJobStatus `json:"status,omitempty"`
}

// Pod wraps the type of Kubernetes.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.PodSpec   `json:"spec"`
	Status corev1.PodStatus `json:"status,omitempty"`
}

// ReplicationController wraps the type of Kubernetes.
type ReplicationController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.ReplicationControllerSpec   `json:"spec"`
	Status corev1.ReplicationControllerStatus `json:"status,omitempty"`
}

// Service wraps the type of Kubernetes.
type Service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.ServiceSpec   `json:"spec"`
	Status corev1.ServiceStatus `json:"status,omitempty"`
}

// Node wraps the type of Kubernetes.
type Node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.NodeSpec   `json:"spec"`
	Status corev1.NodeStatus `json:"status,omitempty"`
}

// Namespace wraps the type of Kubernetes.
type Namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.NamespaceSpec   `json:"spec"`
	Status corev1.NamespaceStatus `json:"status,omitempty"`
}

// PersistentVolume wraps the type of Kubernetes.
type PersistentVolume struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.PersistentVolumeSpec   `json:"spec"`
	Status corev1.PersistentVolumeStatus `json:"status,omitempty"`
}

// PersistentVolumeClaim wraps the type of Kubernetes.
type PersistentVolumeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.PersistentVolumeClaimSpec   `json:"spec"`
	Status corev1.PersistentVolumeClaimStatus `json:"status,omitempty"`
}

// ResourceQuota wraps the type of Kubernetes.
type ResourceQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.ResourceQuotaSpec   `json:"spec"`
	Status corev1.ResourceQuotaStatus `json:"status,omitempty"`
}

// LimitRange wraps the type of Kubernetes.
type LimitRange struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec corev1.LimitRangeSpec `json:"spec"`
}

// HorizontalPodAutoscaler wraps the type of Kubernetes.
type HorizontalPodAutoscaler struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   autoscalingv2.HorizontalPodAutoscalerSpec   `json:"spec"`
	Status autoscalingv2.HorizontalPodAutoscalerStatus `json:"status,omitempty"`
}

// Scale wraps the type of Kubernetes.
type Scale struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   autoscalingv1.ScaleSpec   `json:"spec"`
	Status autoscalingv1.ScaleStatus `json:"status,omitempty"`
}

// Ingress wraps the type of Kubernetes.
type Ingress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   networkingv1.IngressSpec   `json:"spec"`
	Status networkingv1.IngressStatus `json:"status,omitempty"`
}

// IngressClass wraps the type of Kubernetes.
type IngressClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec networkingv1.IngressClassSpec `json:"spec"`
}

// NetworkPolicy wraps the type of Kubernetes.
type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec networkingv1.NetworkPolicySpec `json:"spec"`
}

// IPAddress wraps the type of Kubernetes.
type IPAddress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec networkingv1.IPAddressSpec `json:"spec"`
}

// ServiceCIDR wraps the type of Kubernetes.
type ServiceCIDR struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   networkingv1.ServiceCIDRSpec   `json:"spec"`
	Status networkingv1.ServiceCIDRStatus `json:"status,omitempty"`
}

// PodDisruptionBudget wraps the type of Kubernetes.
type PodDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   policyv1.PodDisruptionBudgetSpec   `json:"spec"`
	Status policyv1.PodDisruptionBudgetStatus `json:"status,omitempty"`
}

// CertificateSigningRequest wraps the type of Kubernetes.
type CertificateSigningRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   certificatesv1.CertificateSigningRequestSpec   `json:"spec"`
	Status certificatesv1.CertificateSigningRequestStatus `json:"status,omitempty"`
}

// Lease wraps the type of Kubernetes.
type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec coordinationv1.LeaseSpec `json:"spec"`
}

// FlowSchema wraps the type of Kubernetes.
type FlowSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   flowcontrolv1.FlowSchemaSpec   `json:"spec"`
	Status flowcontrolv1.FlowSchemaStatus `json:"status,omitempty"`
}

// PriorityLevelConfiguration wraps the type of Kubernetes.
type PriorityLevelConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   flowcontrolv1.PriorityLevelConfigurationSpec   `json:"spec"`
	Status flowcontrolv1.PriorityLevelConfigurationStatus `json:"status,omitempty"`
}

// ResourceClaim wraps the type of Kubernetes.
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec resourcev1.ResourceClaimSpec `json:"spec"`
}

// DeviceClass wraps the type of Kubernetes.
type DeviceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec resourcev1.DeviceClassSpec `json:"spec"`
}

// ResourceSlice wraps the type of Kubernetes.
type ResourceSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec resourcev1.ResourceSliceSpec `json:"spec"`
}

// CSIDriver wraps the type of Kubernetes.
type CSIDriver struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec storagev1.CSIDriverSpec `json:"spec"`
}

// CSINode wraps the type of Kubernetes.
type CSINode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec storagev1.CSINodeSpec `json:"spec"`
}

// VolumeAttachment wraps the type of Kubernetes.
type VolumeAttachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   storagev1.VolumeAttachmentSpec   `json:"spec"`
	Status storagev1.VolumeAttachmentStatus `json:"status,omitempty"`
}

// ValidatingAdmissionPolicy wraps the type of Kubernetes.
type ValidatingAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   admissionregistrationv1.ValidatingAdmissionPolicySpec   `json:"spec"`
	Status admissionregistrationv1.ValidatingAdmissionPolicyStatus `json:"status,omitempty"`
}

// ValidatingAdmissionPolicyBinding wraps the type of Kubernetes.
type ValidatingAdmissionPolicyBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec `json:"spec"`
}

// EndpointSlice has items of a type of Kubernetes.
type EndpointSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []discoveryv1.Endpoint `json:"items,omitempty"`
}

// Role has items of a type of Kubernetes.
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []rbacv1.PolicyRule `json:"items,omitempty"`
}

// RoleBinding has items of a type of Kubernetes.
type RoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []rbacv1.RoleRef `json:"items,omitempty"`
}

// ValidatingWebhookConfiguration has items of a type of Kubernetes.
type ValidatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []admissionregistrationv1.ValidatingWebhook `json:"items,omitempty"`
}

// MutatingWebhookConfiguration has items of a type of Kubernetes.
type MutatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []admissionregistrationv1.MutatingWebhook `json:"items,omitempty"`
}

// Event has items of a type of Kubernetes.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []corev1.EventSource `json:"items,omitempty"`
}

// Secret has items of a type of Kubernetes.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []corev1.SecretKeySelector `json:"items,omitempty"`
}

// ServiceAccount has items of a type of Kubernetes.
type ServiceAccount struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []corev1.LocalObjectReference `json:"items,omitempty"`
}

// StorageClass has items of a type of Kubernetes.
type StorageClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []corev1.TopologySelectorTerm `json:"items,omitempty"`
}

// Selector has items of a type of Kubernetes.
type Selector struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Items []metav1.LabelSelector `json:"items,omitempty"`
}
