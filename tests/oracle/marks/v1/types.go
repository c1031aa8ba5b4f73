// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 has each marker of controller-gen at least once, and both on a type and on a field if both may have it.
//
// +groupName=marks.example.com
// +versionName=v1
// +kubebuilder:validation:Required
package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Mark has all markers of kinds.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=marks,singular=mark,shortName=m;mk,categories={all,some},scope=Cluster
// +kubebuilder:printcolumn:name="Text",type=string,format=byte,description="a, b",JSONPath=`.spec.text`,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:selectablefield:JSONPath=`.spec.text`
// +kubebuilder:metadata:annotations="a=b";"c=d",labels="x=y"
// +kubebuilder:validation:XValidation:rule="has(self.spec)",message="a, b",reason=FieldValueRequired,fieldPath=".spec"
type Mark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MarkSpec   `json:"spec"`
	Status MarkStatus `json:"status,omitempty"`
}

// MarkStatus has the fields of the subresource scale.
type MarkStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector"`
}

// MarkSpec has all markers of fields.
type MarkSpec struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[a-z,;{}"]+$`
	// +kubebuilder:validation:Format=hostname
	// +kubebuilder:validation:Enum=a;"b c";""
	// +kubebuilder:title="A title, quoted"
	// +kubebuilder:example="a"
	// +kubebuilder:externalDocs:url="https://example.com",description="more"
	// +kubebuilder:default:="a"
	Text string `json:"text"`

	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:validation:ExclusiveMaximum=true
	// +kubebuilder:validation:MultipleOf=2
	Replicas int32 `json:"replicas"`

	// +kubebuilder:validation:Minimum=-1.5
	// +kubebuilder:validation:ExclusiveMinimum=false
	Number float64 `json:"number"`

	// +kubebuilder:validation:Optional
	Optional string `json:"optional"`
	// +kubebuilder:validation:Required
	Required string `json:"required,omitempty"`
	// +optional
	Optional2 string `json:"optional2"`
	// +required
	Required2 string `json:"required2,omitempty"`
	// +k8s:optional
	Optional3 string `json:"optional3"`
	// +k8s:required
	Required3 string `json:"required3,omitempty"`
	Neither   string `json:"neither,omitempty"`

	// +nullable
	Nullable *string `json:"nullable"`

	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:UniqueItems=false
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=3
	// +kubebuilder:validation:items:Pattern=^a
	// +kubebuilder:validation:items:Format=uri
	// +kubebuilder:validation:items:Enum=a;ab
	// +kubebuilder:validation:items:XValidation:rule="self != 'b'"
	// +listType=set
	Texts []string `json:"texts"`

	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	// +kubebuilder:validation:items:Maximum=10
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	// +kubebuilder:validation:items:MultipleOf=3
	// +kubebuilder:default={3,6}
	// +k8s:listType=set
	// +k8s:maxItems=7
	Numbers []int64 `json:"numbers"`

	// +kubebuilder:validation:items:MinItems=1
	// +kubebuilder:validation:items:MaxItems=2
	// +kubebuilder:validation:items:UniqueItems=false
	Lists [][]string `json:"lists"`

	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=2
	Maps []map[string]string `json:"maps"`

	// +kubebuilder:validation:items:Type=string
	Retyped []bool `json:"retyped"`

	// +kubebuilder:validation:items:XIntOrString
	Either []intstr.IntOrString `json:"either"`

	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Objects []runtime.RawExtension `json:"objects"`

	// +listType=map
	// +listMapKey=name
	// +listMapKey=port
	Keyed []Keyed `json:"keyed"`

	// +k8s:listType=map
	// +k8s:listMapKey=name
	Keyed2 []Keyed `json:"keyed2"`

	// +mapType=atomic
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=5
	// +kubebuilder:default={a: "1", "b": two}
	Map map[string]string `json:"map"`

	// +structType=atomic
	// +kubebuilder:default={name: x, port: 1}
	Struct Keyed `json:"struct"`

	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Object runtime.RawExtension `json:"object"`
	// +kubebuilder:validation:XEmbeddedResource
	// +kubebuilder:validation:XPreserveUnknownFields
	Object2 runtime.RawExtension `json:"object2"`

	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Anything map[string]apiextensionsv1.JSON `json:"anything"`

	JSON  apiextensionsv1.JSON      `json:"json"`
	JSON2 apiextensionsv1beta1.JSON `json:"json2"`

	// +kubebuilder:validation:Type=string
	Type bool `json:"type"`
	// +kubebuilder:validation:Type=string
	Size int64 `json:"size,string"`
	// Manifests are objects of any kind.
	Manifests []Manifest `json:"manifests"`

	// +kubebuilder:validation:XIntOrString
	IntOrString intstr.IntOrString `json:"intOrString"`

	// +default="x"
	Default string `json:"default"`
	// +default={"a":[1,2]}
	Default2 map[string][]int `json:"default2"`

	// +k8s:minimum=1
	// +k8s:maximum=5
	// +k8s:immutable
	Declared int `json:"declared"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",messageExpression="'was ' + oldSelf",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self != ''",optionalOldSelf=true
	Ruled string `json:"ruled"`

	Types Types `json:"types"`
}

// Keyed has keys.
type Keyed struct {
	Name string `json:"name"`
	// +kubebuilder:default=80
	Port int32 `json:"port"`
}

// Manifest is an object of any kind.
type Manifest struct {
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	runtime.RawExtension `json:",inline"`
}
