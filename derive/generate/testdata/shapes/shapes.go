// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Package shapes has Go types of every shape, and struct tags of every kind. What a program can't see once it is compiled
// is left out: there are no comments at fields and types, and no markers but those that make a kind.
// +groupName=shapes.example.com
// +versionName=v1
package shapes

import (
	"encoding/json"
	"math/big"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/generate/testdata/shapes/other"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

type Shape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitzero"`
}

type Spec struct {
	Basic     Basic     `json:"basic,omitzero"`
	Pointers  Pointers  `json:"pointers,omitzero"`
	Lists     Lists     `json:"lists,omitzero"`
	Maps      Maps      `json:"maps,omitzero"`
	Embedding Embedding `json:"embedding,omitzero"`
	Depths    Depths    `json:"depths,omitzero"`
	Named     Named     `json:"named,omitzero"`
	Generic   Generic   `json:"generic,omitzero"`
	Recursive Recursive `json:"recursive,omitzero"`
	Known     Known     `json:"known,omitzero"`
	Encoded   Encoded   `json:"encoded,omitzero"`
	Tags      Tags      `json:"tags,omitzero"`
	Groups    Groups    `json:"groups,omitzero"`
}

type Status struct {
	Selector   *metav1.LabelSelector `json:"selector,omitempty"`
	Size       Sized                 `json:"size,omitempty"`
	Conditions []metav1.Condition    `json:"conditions,omitempty" jsonschema_extras:"x-kubernetes-list-type=map,x-kubernetes-list-map-keys=type"`
}

type Basic struct {
	Bool    bool    `json:"bool"`
	String  string  `json:"string"`
	Int     int     `json:"int"`
	Int8    int8    `json:"int8"`
	Int16   int16   `json:"int16"`
	Int32   int32   `json:"int32"`
	Int64   int64   `json:"int64"`
	Uint    uint    `json:"uint"`
	Uint8   uint8   `json:"uint8"`
	Uint16  uint16  `json:"uint16"`
	Uint32  uint32  `json:"uint32"`
	Uint64  uint64  `json:"uint64"`
	Byte    byte    `json:"byte"`
	Rune    rune    `json:"rune"`
	Float32 float32 `json:"float32"`
	Float64 float64 `json:"float64"`

	Quoted      int64  `json:"quoted,string"`
	QuotedBool  *bool  `json:"quotedBool,omitempty,string"`
	QuotedNamed Sized  `json:"quotedNamed,string"`
	QuotedText  string `json:"quotedText,string"`

	OmitEmpty string `json:"omitEmpty,omitempty"`
	OmitZero  string `json:"omitZero,omitzero"`
	Ignored   func() `json:"-"`
	Dash      string `json:"-,"`
	Odd       string `json:"odd.name/with-dashes"`
}

type Pointers struct {
	One    *string            `json:"one"`
	Two    **string           `json:"two,omitempty"`
	Three  ***Inner           `json:"three,omitempty"`
	List   *[]*string         `json:"list,omitempty"`
	Map    *map[string]*Inner `json:"map,omitempty"`
	Arrays *[2]*int           `json:"arrays,omitempty"`
}

type Inner struct {
	A string `json:"a"`
	B int    `json:"b,omitempty"`
}

type Lists struct {
	Texts      []string          `json:"texts"`
	Nested     [][]string        `json:"nested,omitempty"`
	Structs    []Inner           `json:"structs,omitempty"`
	Pointers   []*Inner          `json:"pointers,omitempty"`
	Maps       []map[string]bool `json:"maps,omitempty"`
	Bytes      []byte            `json:"bytes,omitempty"`
	ManyBytes  [][]byte          `json:"manyBytes,omitempty"`
	NamedBytes []Octet           `json:"namedBytes,omitempty"`
	Digest     Digest            `json:"digest,omitempty"`
	ByteArray  [4]byte           `json:"byteArray,omitempty"`
	Array      [3]string         `json:"array,omitempty"`
	Matrix     [2][2]float64     `json:"matrix,omitempty"`
	Anonymous  []struct {
		In string `json:"in"`
	} `json:"anonymous,omitempty"`
}

type (
	Octet  byte
	Digest []byte
)

type Maps struct {
	Texts   map[string]string                   `json:"texts"`
	Named   map[other.Name]int                  `json:"named,omitempty"`
	Lists   map[string][]Inner                  `json:"lists,omitempty"`
	Maps    map[string]map[string]*Inner        `json:"maps,omitempty"`
	Bytes   map[string][]byte                   `json:"bytes,omitempty"`
	Encoded map[netip.Addr]string               `json:"encoded,omitempty"`
	Coded   map[Code]string                     `json:"coded,omitempty"`
	Ignored map[int]int                         `json:"-"`
	Type    MapType                             `json:"type,omitempty"`
	Raw     map[string]json.RawMessage          `json:"raw,omitempty"`
	Arrays  map[string][1]other.Name            `json:"arrays,omitempty"`
	Generic map[string]other.Pair[int, []Inner] `json:"generic,omitempty"`
}

type MapType map[string]Level

type Level string

// Embedded structs: by value, by pointer, from elsewhere, generic, by an alias, not exported, several levels deep.

type Embedding struct {
	Inner  `json:",inline"`
	*Outer `json:",inline"`
	other.Base
	Box[string]
	AliasOfPlain
	unexported
	other.Opaque
	Level    `json:"level"`
	*Sized   `json:"sized,omitempty"`
	unseen   `json:"unseen"`
	*counted `json:"counted"`
	named    `json:"named"`
	B        string `json:"b"`
}

// Not exported and not structs, so encoding/json does not write them.

type unseen string

type counted int

type named struct {
	Named string `json:"named"`
}

type Outer struct {
	Deeper `json:",inline"`
	Outer  string `json:"outer,omitempty"`
}

type Deeper struct {
	Deeper string `json:"deeper"`
	A      bool   `json:"a"`
	Outer  int    `json:"outer"`
}

type Plain struct {
	Plain *Inner `json:"plain,omitempty"`
}

type AliasOfPlain = Plain

type unexported struct {
	Within string `json:"within,omitempty"`
}

type Box[T any] struct {
	In T `json:"in"`
}

// Depths has a name at several depths: the nearest counts, as in encoding/json.

type Depths struct {
	Far
	Near
}

type Far struct{ Further }

type Further struct {
	X int    `json:"x"`
	Y string `json:"y,omitempty"`
}

type Near struct {
	X string `json:"x,omitempty"`
}

type (
	Sized      int32
	Ratio      float32
	Flag       bool
	Texts      []string
	Table      [][]Sized
	Triple     [3]Inner
	Pointer    *Inner
	Renamed    Inner
	RenamedTwo Renamed
	Elsewhere  other.Base

	AliasOfText         = string
	AliasOfList         = []Level
	AliasOfNamed        = Sized
	AliasOfAlias        = AliasOfList
	AliasOfOther        = other.Base
	AliasOfMeta         = metav1.Time
	AliasOfBox          = Box[Inner]
	GenericAlias[T any] = Box[[]T]
	GenericList[T any]  []T
	GenericMap[V any]   map[string]V
	Chain[T any]        struct {
		Link Box[GenericList[T]] `json:"link"`
	}
	Number                interface{ ~int32 | ~int64 }
	Constrained[N Number] struct {
		N N `json:"n"`
	}
	Both[A comparable, B any] struct {
		other.Pair[A, B]
		Map map[string]A `json:"map,omitempty"`
	}
)

type Named struct {
	Sized        Sized        `json:"sized"`
	Ratio        Ratio        `json:"ratio"`
	Flag         Flag         `json:"flag"`
	Texts        Texts        `json:"texts"`
	Table        Table        `json:"table"`
	Triple       Triple       `json:"triple"`
	Pointer      Pointer      `json:"pointer"`
	Renamed      Renamed      `json:"renamed"`
	RenamedTwo   RenamedTwo   `json:"renamedTwo"`
	Elsewhere    Elsewhere    `json:"elsewhere"`
	AliasOfText  AliasOfText  `json:"aliasOfText"`
	AliasOfList  AliasOfList  `json:"aliasOfList"`
	AliasOfNamed AliasOfNamed `json:"aliasOfNamed"`
	AliasOfAlias AliasOfAlias `json:"aliasOfAlias"`
	AliasOfOther AliasOfOther `json:"aliasOfOther"`
	AliasOfMeta  AliasOfMeta  `json:"aliasOfMeta"`
}

type Generic struct {
	Text        Box[string]                    `json:"text"`
	Struct      Box[Inner]                     `json:"struct"`
	Pointer     Box[*Inner]                    `json:"pointer"`
	Foreign     Box[other.Base]                `json:"foreign"`
	Kubernetes  Box[resource.Quantity]         `json:"kubernetes"`
	Nested      Box[Box[map[string]Box[int]]]  `json:"nested"`
	Two         other.Pair[string, Inner]      `json:"two"`
	Swapped     other.Pair[Inner, string]      `json:"swapped"`
	Alias       AliasOfBox                     `json:"alias"`
	GenericText GenericAlias[string]           `json:"genericText"`
	GenericMap  GenericMap[GenericList[Inner]] `json:"genericMap"`
	Chain       Chain[Level]                   `json:"chain"`
	Small       Constrained[int32]             `json:"small"`
	Large       Constrained[int64]             `json:"large"`
	Both        Both[Level, []Inner]           `json:"both"`
	Anonymous   Box[struct {
		Y int `json:"y"`
	}] `json:"anonymous"`
}

// Types that contain themselves, up to a field that says that anything may be below it.

type Recursive struct {
	Pointer *Node          `json:"pointer,omitempty"`
	Tree    Tree           `json:"tree,omitzero"`
	List    Linked[string] `json:"list,omitzero"`
	Folder  Folder         `json:"folder,omitzero"`
	Chapter Chapter        `json:"chapter,omitzero"`
	Left    Left           `json:"left,omitzero"`
	Right   Right          `json:"right,omitzero"`
}

type Node struct {
	Name string `json:"name"`
	Next *Node  `json:"next,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Tree struct {
	Branches map[string]Branch `json:"branches,omitempty"`
}

type Branch struct {
	Trees []Tree `json:"trees,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Linked[T any] struct {
	Value T          `json:"value"`
	Next  *Linked[T] `json:"next,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Folder struct {
	Name    string            `json:"name"`
	Folders map[string]Folder `json:"folders,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Chapter struct {
	Title string `json:"title"`
	Parts *Parts `json:"parts,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Parts struct {
	Chapters []Chapter `json:"chapters,omitempty"`
}

type Left struct {
	Name  string `json:"name"`
	Right *Right `json:"right,omitempty" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
}

type Right struct {
	Left *Left `json:"left,omitempty"`
}

type Known struct {
	Time        metav1.Time          `json:"time"`
	TimePointer *metav1.Time         `json:"timePointer,omitempty"`
	MicroTime   metav1.MicroTime     `json:"microTime"`
	GoTime      time.Time            `json:"goTime"`
	Duration    metav1.Duration      `json:"duration"`
	GoDuration  time.Duration        `json:"goDuration"`
	IntOrString intstr.IntOrString   `json:"intOrString"`
	Pointed     *intstr.IntOrString  `json:"pointed,omitempty"`
	Quantity    resource.Quantity    `json:"quantity"`
	Quantities  corev1.ResourceList  `json:"quantities,omitempty"`
	Raw         runtime.RawExtension `json:"raw"`
	RawMessage  json.RawMessage      `json:"rawMessage"`
	JSONNumber  json.Number          `json:"jsonNumber"`
	Metadata    metav1.ObjectMeta    `json:"metadata"`
	FieldsV1    *metav1.FieldsV1     `json:"fieldsV1,omitempty"`
	Patch       *metav1.Patch        `json:"patch,omitempty"`
	IP          net.IP               `json:"ip,omitempty"`
	Addr        netip.Addr           `json:"addr,omitzero"`
	Prefix      *netip.Prefix        `json:"prefix,omitempty"`
	Float       *big.Float           `json:"float,omitempty"`
	Verbs       metav1.Verbs         `json:"verbs,omitempty"`
}

// Types that encode themselves.

type Code struct{ code int }

func (c Code) MarshalText() ([]byte, error) { return []byte{byte('a' + c.code)}, nil }

type Percent int

func (p Percent) MarshalJSON() ([]byte, error) { return json.Marshal(int(p)) }

func (Percent) OpenAPISchemaType() []string { return []string{"integer"} }

func (Percent) OpenAPISchemaFormat() string { return "int32" }

type Port struct{ port int }

func (p Port) MarshalJSON() ([]byte, error) { return json.Marshal(p.port) }

func (Port) OpenAPISchemaType() []string { return []string{"integer", "string"} }

type Anything struct{ text string }

func (a *Anything) MarshalJSON() ([]byte, error) { return []byte(a.text), nil }

func (*Anything) OpenAPISchemaType() []string { return []string{"object"} }

type Wrapped struct{ metav1.Time }

type InlinedRaw struct {
	runtime.RawExtension `json:",inline"`
}

type Zero struct {
	Text string `json:"text,omitempty"`
}

func (z Zero) IsZero() bool { return z.Text == "" }

type Encoded struct {
	Code     Code       `json:"code"`
	Codes    []*Code    `json:"codes,omitempty"`
	Percent  Percent    `json:"percent"`
	Port     Port       `json:"port"`
	Anything *Anything  `json:"anything,omitempty"`
	Wrapped  Wrapped    `json:"wrapped"`
	Inlined  InlinedRaw `json:"inlined"`
	Zero     Zero       `json:"zero,omitzero"`
}

// Tags has every keyword of the struct tags.

type Tags struct {
	Text      string             `json:"text" jsonschema:"title=A title,description=A text\\, and more.,minLength=2,maxLength=8,pattern=^[a-z]{1\\,3}$,format=hostname"`
	Default   string             `json:"default,omitempty" jsonschema:"default=one,example=two,enum=one,enum=two"`
	Described string             `json:"described,omitempty" jsonschema_description:"It has, among others, commas."`
	Required  string             `json:"required,omitempty" jsonschema:"required"`
	Nullable  *string            `json:"nullable,omitempty" jsonschema:"nullable"`
	Skipped   any                `json:"skipped,omitempty" jsonschema:"-"`
	Int       int                `json:"int,omitempty" jsonschema:"minimum=1,maximum=10,multipleOf=2,default=4,example=6,enum=2,enum=4,enum=6"`
	Exclusive float64            `json:"exclusive,omitempty" jsonschema:"exclusiveMinimum=0.5,exclusiveMaximum=1000,default=2.5"`
	Bool      bool               `json:"bool,omitempty" jsonschema:"default=true"`
	List      []string           `json:"list,omitempty" jsonschema:"minItems=1,maxItems=5,minLength=1,maxLength=9,pattern=^a,format=hostname,default=ab,default=ac,enum=ab,enum=ac"`
	Numbers   []int32            `json:"numbers,omitempty" jsonschema:"minimum=1,maximum=9,default=3,example=4,example=5"`
	Listed    Texts              `json:"listed,omitempty" jsonschema:"maxItems=5,maxLength=9"`
	Sized     Sized              `json:"sized,omitempty" jsonschema:"maximum=100"`
	Retyped   Inner              `json:"retyped,omitzero" jsonschema:"type=string,maxLength=3"`
	Either    int                `json:"either,omitempty" jsonschema:"oneof_type=integer;string,default=80"`
	Percent   intstr.IntOrString `json:"percent,omitzero" jsonschema:"pattern=^[0-9]+%?$,default=50%"`
	Quoted    int                `json:"quoted,omitempty,string" jsonschema:"pattern=^[0-9]+$,default=5"`

	Set      []string              `json:"set,omitempty" jsonschema_extras:"x-kubernetes-list-type=set"`
	ListMap  []Keyed               `json:"listMap,omitempty" jsonschema_extras:"x-kubernetes-list-type=map,x-kubernetes-list-map-keys=name,x-kubernetes-list-map-keys=port"`
	Atomic   map[string]string     `json:"atomic,omitempty" jsonschema_extras:"x-kubernetes-map-type=atomic"`
	Preserve Inner                 `json:"preserve,omitzero" jsonschema_extras:"x-kubernetes-preserve-unknown-fields=true"`
	Embedded *runtime.RawExtension `json:"embedded,omitempty" jsonschema_extras:"x-kubernetes-embedded-resource=true"`
	Ruled    string                `json:"ruled,omitempty" jsonschema:"maxLength=20" jsonschema_extras:"x-kubernetes-validations=self != 'x',x-kubernetes-validations=self.size() > oldSelf.size()"`
	Mixed    *string               `json:"mixed,omitempty" jsonschema_extras:"nullable=true"`
}

type Keyed struct {
	Name string `json:"name"`
	Port int    `json:"port,omitempty" jsonschema:"default=80"`
}

// Groups are of alternatives.

type Groups struct {
	A *string `json:"a,omitempty" jsonschema:"oneof_required=first"`
	B *string `json:"b,omitempty" jsonschema:"oneof_required=second"`
	C *string `json:"c,omitempty" jsonschema:"oneof_required=second,anyof_required=this"`
	D *string `json:"d,omitempty" jsonschema:"anyof_required=that"`
}

// KubeResource tells what the kind is called.
func (Shape) KubeResource() core.Resource {
	return core.Resource{
		Group: "shapes.example.com", Version: "v1", Kind: "Shape", Plural: "shapes", Namespaced: true, Subresources: []string{"status"},
	}
}
