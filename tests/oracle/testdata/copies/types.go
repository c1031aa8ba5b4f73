// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies has types of all shapes that can be copied.
//
// +kubebuilder:object:generate=true
package copies

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Root is an object.
// +kubebuilder:object:root=true
type Root struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec    `json:"spec"`
	Status *Status `json:"status,omitempty"`
}

// RootList is an object, by the older marker.
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RootList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Root `json:"items"`
}

// Spec has a field of each shape.
type Spec struct {
	Text      string                         `json:"text"`
	Pointer   *string                        `json:"pointer"`
	Pointers  **int32                        `json:"pointers"`
	Slice     []string                       `json:"slice"`
	Bytes     []byte                         `json:"bytes"`
	Slices    [][]string                     `json:"slices"`
	Map       map[string]string              `json:"map"`
	Maps      map[string]map[string][]string `json:"maps"`
	Structs   map[string]Inner               `json:"structs"`
	PStructs  map[string]*Inner              `json:"pstructs"`
	InnerList []Inner                        `json:"innerList"`
	Inner     Inner                          `json:"inner"`
	PInner    *Inner                         `json:"pinner"`
	Plain     Plain                          `json:"plain"`
	Labels    Labels                         `json:"labels"`
	Names     Names                          `json:"names"`
	PLabels   *Labels                        `json:"plabels"`
	LabelSets []Labels                       `json:"labelSets"`
	Time      metav1.Time                    `json:"time"`
	PTime     *metav1.Time                   `json:"ptime"`
	Quantity  resource.Quantity              `json:"quantity"`
	Resources corev1.ResourceList            `json:"resources"`
	Port      *intstr.IntOrString            `json:"port"`
	Selector  *metav1.LabelSelector          `json:"selector"`
	Raw       runtime.RawExtension           `json:"raw"`
	Template  corev1.PodTemplateSpec         `json:"template"`
	Half      Half                           `json:"half"`
	Other     *Other                         `json:"other"`
	Node      *Node                          `json:"node"`
}

// Inner is inside.
type Inner struct {
	Values []string `json:"values"`
	*Plain `json:",inline"`
}

// Plain can be copied by assignment.
type Plain struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// Labels is a map.
type Labels map[string]string

// Names is a slice of structs with pointers.
type Names []*string

// Word needs no copy methods.
type Word string

// Node contains itself.
type Node struct {
	Children []Node           `json:"children"`
	Next     *Node            `json:"next"`
	ByName   map[string]*Node `json:"byName"`
}

// Half has a hand-written DeepCopyInto.
type Half struct{ Values map[string]string }

// DeepCopyInto is written by hand.
func (in *Half) DeepCopyInto(out *Half) { out.Values = maps.Clone(in.Values) }

// Other has a hand-written DeepCopy.
type Other struct{ Values map[string]string }

// DeepCopy is written by hand.
func (in *Other) DeepCopy() *Other { return &Other{maps.Clone(in.Values)} }

// Not is excluded.
// +kubebuilder:object:generate=false
type Not struct{ Values []string }

// Status is a status.
type Status struct {
	Conditions []metav1.Condition `json:"conditions"`
}
