// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package zoo has fields of every type that an object may have, and every marker.
package zoo

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ZooSpec is the spec.
//
// It has a second paragraph,
// of two lines.
// TODO(somebody): this is not for users
// ---
// And neither is this.
//
//kube:resource group=zoo.example.com version=v1alpha1 kind=Zoo plural=menageries singular=menagerie
//kube:description A Zoo is where animals are kept.
//kube:description Its comment has `backquotes` in it.
//kube:subresource status=Observed
//kube:subresource scale specReplicas=.spec.numbers.replicas statusReplicas=.status.replicas labelSelector=.status.selector
//kube:printcolumn name=Text jsonPath=.spec.texts.text description="what it says" priority=1
//kube:printcolumn name=Replicas jsonPath=.spec.numbers.replicas format=int32
//kube:printcolumn name=Ready jsonPath=.status.conditions[?(@.type=="Ready")].status
//kube:printcolumn name=Opened jsonPath=.spec.known.time
//kube:printcolumn name=Label jsonPath=.metadata.labels['zoo\.example\.com/name']
//kube:printcolumn name=Age jsonPath=.metadata.creationTimestamp
//kube:printcolumn name=Raw jsonPath=.spec.known.raw.anything type=string
//kube:selectablefield jsonPath=.spec.texts.text
//kube:validation rule="self.metadata.name.size() < 20" message="the name is too long" reason=FieldValueInvalid
//kube:metadata annotation="example.com/note=a, b" label=app=zoo
type ZooSpec struct {
	Texts    Texts    `json:"texts"`
	Numbers  Numbers  `json:"numbers"`
	Lists    Lists    `json:"lists,omitzero"`
	Maps     Maps     `json:"maps,omitzero"`
	Structs  Structs  `json:"structs,omitzero"`
	Known    Known    `json:"known,omitzero"`
	Defaults Defaults `json:"defaults,omitzero"`
	Required Required `json:"required,omitzero"`

	unexported []string // not part of the object, and copied all the same
}

// Level is one of a few texts.
// +kubebuilder:validation:Enum=low;high;"very high"
type Level string

// Phase is one of the constants below.
// +k8s:enum
type Phase string

// The phases.
const (
	PhaseOpen   Phase = "Open"
	PhaseClosed Phase = "Closed"
)

// ShortText has bounds of its own.
// +kubebuilder:validation:MaxLength=10
// +kubebuilder:validation:Pattern=^[a-z]*$
type ShortText string

// OtherText is another name of a type.
type OtherText = ShortText

// Coded encodes itself as a text.
type Coded struct{ code int }

// MarshalText makes it a text.
func (c Coded) MarshalText() ([]byte, error) { return []byte{byte('a' + c.code)}, nil }

// Texts are the texts.
type Texts struct {
	// Text is a text.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^[A-Z]`
	// +kubebuilder:title=A title
	// +kubebuilder:example="An example"
	// +kubebuilder:externalDocs:url="https://example.com",description="more"
	Text string `json:"text"`

	Level Level `json:"level,omitempty"`
	Phase Phase `json:"phase,omitempty"`

	// Short has more bounds than its type.
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:MinLength=2
	Short ShortText `json:"short,omitempty"`

	Other OtherText `json:"other,omitempty"`

	// +kubebuilder:validation:Format=ipv4
	Address string `json:"address,omitempty"`

	// +nullable
	Pointer *string `json:"pointer,omitempty"`

	// +kubebuilder:validation:MaxLength=100
	Bytes []byte `json:"bytes,omitempty"`

	Coded Coded `json:"coded,omitzero"`

	// +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self != 'a, \"b\"'",messageExpression="'no ' + self",optionalOldSelf=true
	// +kubebuilder:validation:XValidation:rule="self.size() > 3",message="too short"
	Ruled string `json:"ruled,omitempty"`

	// +k8s:immutable
	Fixed string `json:"fixed,omitempty"`
}

// Small is a number with a bound.
// +kubebuilder:validation:Maximum=10
type Small int32

// Numbers are the numbers and truth values.
type Numbers struct {
	Int    int    `json:"int,omitempty"`
	Int8   int8   `json:"int8,omitempty"`
	Int32  int32  `json:"int32,omitempty"`
	Int64  int64  `json:"int64,omitempty"`
	Uint   uint   `json:"uint,omitempty"`
	Uint32 uint32 `json:"uint32,omitempty"`
	Uint64 uint64 `json:"uint64,omitempty"`

	// +kubebuilder:validation:Minimum=0.5
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:MultipleOf=0.25
	Float float64 `json:"float,omitempty"`

	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5
	Small Small `json:"small,omitempty"`

	// +kubebuilder:validation:Enum=1;2;3
	Few int `json:"few,omitempty"`

	// +kubebuilder:default=2
	Replicas *int32 `json:"replicas,omitempty"`

	Bool   bool `json:"bool,omitempty"`
	Quoted int  `json:"quoted,omitempty,string"`
}

// Names is a list with a type of its own.
// +kubebuilder:validation:MaxItems=5
// +kubebuilder:validation:items:MaxLength=7
// +listType=set
type Names []string

// Point is a struct that is replaced as a whole.
// +structType=atomic
type Point struct {
	// +kubebuilder:default=zero
	Name string `json:"name,omitempty"`
	X    int    `json:"x"`
}

// Lists are the lists.
type Lists struct {
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:Pattern=^a
	Texts []string `json:"texts,omitempty"`

	// +kubebuilder:validation:items:MinLength=1
	Names Names `json:"names,omitempty"`

	// +listType=map
	// +listMapKey=name
	// +listMapKey=x
	Points []Point `json:"points,omitempty"`

	// +listType=atomic
	Pointers []*Point `json:"pointers,omitempty"`

	Array  [3]int              `json:"array,omitzero"`
	Arrays [2][]string         `json:"arrays,omitzero"`
	Nested [][]string          `json:"nested,omitempty"`
	Maps   []map[string]*Point `json:"maps,omitempty"`
	Bytes  [][]byte            `json:"bytes,omitempty"`
}

// Key is the type of a key.
type Key string

// Maps are the maps.
type Maps struct {
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=3
	Texts map[string]string `json:"texts,omitempty"`

	Points   map[Key]Point               `json:"points,omitempty"`
	Pointers map[string]*int64           `json:"pointers,omitempty"`
	Lists    map[string][]Point          `json:"lists,omitempty"`
	Maps     map[string]map[Key][]*Point `json:"maps,omitempty"`

	// +mapType=atomic
	Atomic map[string]string `json:"atomic,omitempty"`
}

// Embedded is embedded.
// +kubebuilder:validation:XValidation:rule="has(self.first)",fieldPath=".first"
type Embedded struct {
	// First is first.
	First  string   `json:"first,omitempty"`
	Second []string `json:"second"`
}

// Choice has alternatives.
// +kubebuilder:validation:ExactlyOneOf=a;b-c
// +kubebuilder:validation:AtMostOneOf=d;e
// +kubebuilder:validation:AtLeastOneOf={f,in}
type Choice struct {
	A *string `json:"a,omitempty"`
	B *string `json:"b-c,omitempty"`
	D *string `json:"d,omitempty"`
	E *string `json:"e,omitempty"`
	F *string `json:"f,omitempty"`
	I *string `json:"in,omitempty"`
}

// Tree contains itself.
type Tree struct {
	Name string `json:"name"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Children []Tree `json:"children,omitempty"`
	// +kubebuilder:pruning:PreserveUnknownFields
	Parent *Tree `json:"parent,omitempty"`
}

// Pair has two values of one type.
type Pair[T any] struct {
	Left  T  `json:"left"`
	Right *T `json:"right,omitempty"`
}

// ByHand has a deep copy that is written by hand.
type ByHand struct {
	List []string `json:"list,omitempty"`
}

// DeepCopyInto copies.
func (in *ByHand) DeepCopyInto(out *ByHand) { out.List = slices.Clone(in.List) }

// Structs are the structs.
type Structs struct {
	Embedded `json:",inline"`
	*Point

	Choice Choice `json:"choice,omitzero"`
	Tree   *Tree  `json:"tree,omitempty"`

	// Anonymous is a struct without a name.
	Anonymous struct {
		// Inner is inside.
		// +kubebuilder:validation:MaxLength=4
		Inner  string `json:"inner"`
		Deeper []struct {
			// +optional
			Deepest *Point `json:"deepest"`
		} `json:"deeper,omitempty"`
	} `json:"anonymous,omitzero"`

	Numbers Pair[int32]  `json:"numbers,omitzero"`
	Points  Pair[*Point] `json:"points,omitzero"`
	ByHand  ByHand       `json:"byHand,omitzero"`
	ByHands []*ByHand    `json:"byHands,omitempty"`

	Ignored func() `json:"-"`
}

// Known are types that Kubernetes has.
type Known struct {
	Time      metav1.Time                 `json:"time,omitzero"`
	MicroTime *metav1.MicroTime           `json:"microTime,omitempty"`
	Duration  metav1.Duration             `json:"duration,omitzero"`
	Quantity  resource.Quantity           `json:"quantity,omitzero"`
	Selector  *metav1.LabelSelector       `json:"selector,omitempty"`
	Raw       runtime.RawExtension        `json:"raw,omitzero"`
	Reference corev1.LocalObjectReference `json:"reference,omitzero"`
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	Tolerated []corev1.Toleration         `json:"tolerated,omitempty"`
	Metadata  metav1.ObjectMeta           `json:"metadata,omitzero"`

	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^[0-9]+%$"
	Percent intstr.IntOrString `json:"percent,omitzero"`

	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Object runtime.RawExtension `json:"object,omitzero"`

	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Anything map[string]string `json:"anything,omitempty"`

	// +kubebuilder:validation:Type=string
	Retyped Point `json:"retyped,omitzero"`
}

// Defaults have defaults.
type Defaults struct {
	// +kubebuilder:default=low
	Level Level `json:"level,omitempty"`
	// +kubebuilder:default:=true
	Bool bool `json:"bool,omitempty"`
	// +kubebuilder:default={x: 3, name: "a b"}
	Point Point `json:"point,omitzero"`
	// +default={"x": 3}
	Point2 Point `json:"point2,omitzero"`
	// +kubebuilder:default={"a","b"}
	List []string `json:"list,omitempty"`
	// +kubebuilder:default={}
	Empty []string `json:"empty,omitempty"`
	// +default={}
	Map map[string]string `json:"map,omitempty"`
	// +kubebuilder:default="50%"
	Percent intstr.IntOrString `json:"percent,omitzero"`
	// +kubebuilder:default="1Gi"
	Size resource.Quantity `json:"size,omitzero"`
}

// Required shows which fields must be there.
type Required struct {
	Plain     string  `json:"plain"`
	Pointer   *string `json:"pointer"`
	OmitEmpty string  `json:"omitEmpty,omitempty"`
	// +optional
	Optional string `json:"optional"`
	// +kubebuilder:validation:Optional
	Optional2 string `json:"optional2"`
	// +required
	Required string `json:"required,omitempty"`
	// +kubebuilder:validation:Required
	Required2 string `json:"required2,omitempty"`
	// +k8s:required
	// +k8s:maxItems=3
	NotEmpty []string `json:"notEmpty,omitempty"`
}

// Observed is the status.
type Observed struct {
	Replicas int32  `json:"replicas,omitempty"`
	Selector string `json:"selector,omitempty"`
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// total uses what is generated.
func total(zoos []*Zoo) (n int32) {
	for _, z := range zoos {
		n += z.DeepCopy().Status.Replicas
	}
	return n
}
