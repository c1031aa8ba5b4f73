// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Types has all markers of types.
//
// +kubebuilder:validation:AtMostOneOf=text;integer
// +kubebuilder:validation:ExactlyOneOf=number;list
// +kubebuilder:validation:AtLeastOneOf=map;declared
// +kubebuilder:externalDocs:url="https://example.com"
// +structType=granular
type Types struct {
	Text     *Text     `json:"text,omitempty"`
	Integer  *Integer  `json:"integer,omitempty"`
	Number   *Number   `json:"number,omitempty"`
	List     List      `json:"list,omitempty"`
	Numbers  Numbers   `json:"numbers,omitempty"`
	Lists    Lists     `json:"lists,omitempty"`
	Maps     Maps      `json:"maps,omitempty"`
	Keyed    KeyedList `json:"keyed,omitempty"`
	Keyed2   Keyed2    `json:"keyed2,omitempty"`
	Map      Map       `json:"map,omitempty"`
	Object   *Object   `json:"object,omitempty"`
	Open     *Open     `json:"open,omitempty"`
	Retyped  *Retyped  `json:"retyped,omitempty"`
	Either   *Either   `json:"either,omitempty"`
	Declared Declared  `json:"declared,omitempty"`

	ItemsRetyped []Retyped `json:"itemsRetyped,omitempty"`
	ItemsObject  Objects   `json:"itemsObject,omitempty"`
	ItemsEither  Eithers   `json:"itemsEither,omitempty"`
	ItemsString  Strings   `json:"itemsString,omitempty"`
}

// Text is a string.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=5
// +kubebuilder:validation:Pattern="^a"
// +kubebuilder:validation:Format=hostname
// +kubebuilder:validation:Enum={a,ab}
// +kubebuilder:validation:XValidation:rule="self != 'x'"
// +kubebuilder:title=Text
type Text string

// Integer is a number.
//
// +kubebuilder:validation:Minimum=1
// +kubebuilder:validation:ExclusiveMinimum=true
// +kubebuilder:validation:Maximum=9
// +kubebuilder:validation:ExclusiveMaximum=true
type Integer int64

// Number is a number.
//
// +kubebuilder:validation:MultipleOf=0.5
type Number float64

// List is a list.
//
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=3
// +kubebuilder:validation:UniqueItems=false
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=4
// +kubebuilder:validation:items:Pattern=a
// +kubebuilder:validation:items:Format=uri
// +kubebuilder:validation:items:Enum=a;b
// +kubebuilder:validation:items:XValidation:rule="self != 'x'"
// +listType=set
type List []string

// Numbers are numbers.
//
// +kubebuilder:validation:items:Minimum=1
// +kubebuilder:validation:items:ExclusiveMinimum=true
// +kubebuilder:validation:items:Maximum=9
// +kubebuilder:validation:items:ExclusiveMaximum=true
// +kubebuilder:validation:items:MultipleOf=2
type Numbers []int32

// Lists are lists.
//
// +kubebuilder:validation:items:MinItems=1
// +kubebuilder:validation:items:MaxItems=2
// +kubebuilder:validation:items:UniqueItems=false
// +k8s:listType=atomic
type Lists [][]string

// Maps are maps.
//
// +kubebuilder:validation:items:MinProperties=1
// +kubebuilder:validation:items:MaxProperties=2
type Maps []map[string]string

// KeyedList is a map.
//
// +listType=map
// +listMapKey=name
type KeyedList []Keyed

// Keyed2 is a map, too.
//
// +k8s:listType=map
// +k8s:listMapKey=name
type Keyed2 []Keyed

// Map is a map.
//
// +mapType=granular
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=2
type Map map[string]string

// Object is an object.
//
// +kubebuilder:validation:XEmbeddedResource
// +kubebuilder:validation:XPreserveUnknownFields
type Object struct {
	Extra string `json:"extra,omitempty"`
}

// Open is open.
//
// +kubebuilder:pruning:PreserveUnknownFields
type Open struct {
	Known string `json:"known,omitempty"`
}

// Retyped is a string.
//
// +kubebuilder:validation:Type=string
type Retyped bool

// Either is an integer or a string.
//
// +kubebuilder:validation:XIntOrString
type Either intstr.IntOrString

// Objects are objects.
//
// +kubebuilder:validation:items:XEmbeddedResource
// +kubebuilder:validation:items:XPreserveUnknownFields
type Objects []runtime.RawExtension

// Eithers are integers or strings.
//
// +kubebuilder:validation:items:XIntOrString
type Eithers []intstr.IntOrString

// Strings are strings.
//
// +kubebuilder:validation:items:Type=string
type Strings []bool

// Declared has constants.
//
// +k8s:enum
type Declared string

// The values of Declared.
const (
	One Declared = "one"
	Two Declared = "two"
)
