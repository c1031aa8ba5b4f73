// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package declared has a kind that says all it can with the markers of Kubernetes' own validation.
package declared

// DeclaredSpec has a field for each marker.
//
//kube:resource group=declared.example.com version=v1 kind=Declared
//kube:description Declared is validated by the markers of Kubernetes.
type DeclaredSpec struct {
	// +k8s:required
	// +k8s:minLength=2
	// +k8s:maxLength=5
	Text string `json:"text"`

	// +k8s:maxBytes=4
	Bytes string `json:"bytes,omitempty"`

	// +k8s:minimum=2
	// +k8s:maximum=5
	// +k8s:neq=4
	Number *int32 `json:"number,omitempty"`

	// +k8s:neq="none"
	Word string `json:"word,omitempty"`

	// +k8s:monotonic
	Generation int64 `json:"generation,omitempty"`

	Counter Counter `json:"counter,omitempty"`

	// +k8s:monotonic
	Offset *int64 `json:"offset,omitempty"`

	// +k8s:minItems=1
	// +k8s:maxItems=3
	// +k8s:listType=atomic
	// +k8s:unique=set
	// +k8s:eachVal=+k8s:maxLength=5
	Texts []string `json:"texts,omitempty"`

	// +k8s:maxItems=3
	// +k8s:listType=atomic
	// +k8s:listMapKey=name
	// +k8s:unique=map
	// +k8s:eachVal=+k8s:subfield(value)=+k8s:minLength=1
	Pairs []Pair `json:"pairs,omitempty"`

	// +k8s:maxItems=3
	// +k8s:listType=atomic
	// +k8s:listMapKey=name
	// +k8s:listMapKey=value
	// +k8s:unique=map
	Variants []Pair `json:"variants,omitempty"`

	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=3
	// +k8s:update=NoAddItem
	// +k8s:update=NoRemoveItem
	Fixed []Pair `json:"fixed,omitempty"`

	// +k8s:minProperties=1
	// +k8s:maxProperties=2
	// +k8s:eachKey=+k8s:format=k8s-short-name
	// +k8s:eachVal=+k8s:maxLength=3
	Map map[string]string `json:"map,omitempty"`

	// +k8s:immutable
	Immutable string `json:"immutable,omitempty"`

	// +k8s:update=NoSet
	Early string `json:"early,omitempty"`

	// +k8s:update=NoUnset
	Sticky string `json:"sticky,omitempty"`

	// +k8s:update=NoUnset
	// +k8s:update=NoModify
	Once string `json:"once,omitempty"`

	// +k8s:forbidden
	Never string `json:"never,omitempty"`

	// +k8s:dependentRequired(text2)
	// +k8s:dependentForbidden(text3)
	Text1 string `json:"text1,omitempty"`
	Text2 string `json:"text2,omitempty"`
	Text3 string `json:"text3,omitempty"`

	// +k8s:subfield(name)=+k8s:maxLength=3
	// +k8s:subfield(value)=+k8s:required
	Pair *Pair `json:"pair,omitempty"`

	Colour Colour `json:"colour,omitempty"`

	Formats Formats `json:"formats,omitzero"`

	// +k8s:subfield(names)=+k8s:eachVal=+k8s:minLength=2
	// +k8s:subfield(matrix)=+k8s:eachVal=+k8s:eachVal=+k8s:maxLength=3
	// +k8s:subfield(pair)=+k8s:subfield(value)=+k8s:maxLength=3
	Outer Outer `json:"outer,omitzero"`

	// +k8s:eachVal=+k8s:eachVal=+k8s:minLength=1
	Matrix Matrix `json:"matrix,omitempty"`

	// +k8s:unique=set
	Limited Limited `json:"limited,omitempty"`

	// +k8s:update=NoRemoveItem
	Set Set `json:"set,omitempty"`

	// +k8s:neq=5
	Ratio float64 `json:"ratio,omitempty"`
}

// Outer has fields that markers of another struct restrict. It embeds one of them.
type Outer struct {
	Names    []string `json:"names,omitempty"`
	Matrix   Matrix   `json:"matrix,omitempty"`
	Embedded `json:",inline"`
}

// Embedded has a struct.
type Embedded struct {
	Pair Pair `json:"pair,omitzero"`
}

// Matrix has rows.
type Matrix [][]string

// Limited is a list with a limit.
// +k8s:maxItems=4
type Limited []string

// Set is a list whose items differ.
// +k8s:listType=set
// +k8s:maxItems=4
type Set []string

// Pair is a name and a value.
type Pair struct {
	// +k8s:maxLength=10
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Counter never decreases.
// +k8s:monotonic
type Counter int64

// Colour is one of the constants, but for one.
// +k8s:enum
type Colour string

// The colours.
const (
	Red   Colour = "red"
	Green Colour = "green"
	// +k8s:enumExclude
	Infrared Colour = "infrared"
)

// Formats has a field for each format.
type Formats struct {
	// +k8s:format=k8s-short-name
	ShortName string `json:"shortName,omitempty"`
	// +k8s:format=k8s-long-name
	LongName string `json:"longName,omitempty"`
	// +k8s:format=k8s-long-name-caseless
	LongNameCaseless string `json:"longNameCaseless,omitempty"`
	// +k8s:format=k8s-uuid
	UUID string `json:"uuid,omitempty"`
	// +k8s:format=k8s-label-value
	LabelValue string `json:"labelValue,omitempty"`
	// +k8s:format=k8s-label-key
	LabelKey string `json:"labelKey,omitempty"`
	// +k8s:format=k8s-prefixed-label-key
	PrefixedLabelKey string `json:"prefixedLabelKey,omitempty"`
	// +k8s:format=k8s-path-segment-name
	PathSegmentName string `json:"pathSegmentName,omitempty"`
	// +k8s:format=k8s-resource-pool-name
	ResourcePoolName string `json:"resourcePoolName,omitempty"`
	// +k8s:format=k8s-resource-fully-qualified-name
	ResourceName string `json:"resourceName,omitempty"`
	// +k8s:format=k8s-extended-resource-name
	ExtendedResourceName string `json:"extendedResourceName,omitempty"`
	// +k8s:format=k8s-ip
	IP string `json:"ip,omitempty"`
}
