package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WidgetReady is the type of the condition that says whether the controller has done what the spec asks for.
const WidgetReady = "Ready"

// From WidgetSpec and its markers, `make generate` makes the kind Widget with its deep copies, and its CRD. The comments of
// types and fields become descriptions in the CRD, which kubectl explain prints. This one does not: an empty line follows.

// WidgetSpec is the desired state of the Widget.
//
//kube:resource group=group.example.com version=v1 kind=Widget plural=widgets
//kube:description Each Widget is a message that is published in a ConfigMap.
//kube:subresource status
//kube:printcolumn name=Message jsonPath=.spec.message
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Age jsonPath=.metadata.creationTimestamp
type WidgetSpec struct {
	// Message is what is published.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=280
	Message string `json:"message"`
}

// WidgetStatus is the observed state of the Widget.
type WidgetStatus struct {
	// ObservedGeneration is the generation of the object that the rest of the status is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report the progress of the controller.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ConfigMap is the name of the ConfigMap with the message.
	ConfigMap string `json:"configMap,omitempty"`
}
