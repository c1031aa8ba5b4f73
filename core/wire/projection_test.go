// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core/internal/protobuf"
	"github.com/kube-go/sdk/core/wire"
)

// leanPod has the fields that a small program reads.
type leanPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Image string
			Name  string `json:"name"`
		} `json:"containers"`
	} `json:"spec"`
	Status *struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
	Secret string `json:"-"`
}

type labelled struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string]struct {
		A any `json:"a"`
	} `json:"data"`
}

// chain contains itself.
type chain struct {
	Name string `json:"name"`
	Next *chain `json:"next"`
}

func projected(t *testing.T, p *wire.Projection, in string) string {
	t.Helper()
	data, err := wire.NewPacked(wire.JSON, []byte(in)).AppendCompact(nil, p)
	if err != nil {
		t.Fatalf("AppendCompact(%s): %v", in, err)
	}
	if !json.Valid(data) {
		t.Errorf("AppendCompact(%s) = %s, which is not JSON", in, data)
	}
	return string(data)
}

func TestProjectionKeepsTheFieldsOfAType(t *testing.T) {
	for _, tt := range []struct {
		name     string
		of       any
		in, want string
	}{
		{
			"a lean kind",
			leanPod{},
			`{"kind":"Pod","metadata":{"name":"a","managedFields":[]},"spec":{"nodeName":"n",
			"volumes":[1],"containers":[{"name":"c","env":[]},{"Image":"i","image":"no"}]},"status":{"podIP":"1","phase":"Running"},
			"-":1,"Secret":2}`,
			`{"metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"name":"c"},{"Image":"i"}]},"status":{"phase":"Running"}}`,
		},
		{"other values than the type has", leanPod{}, `{"spec":null,"status":[1],"metadata":null}`, `{"spec":null,"status":[1],"metadata":null}`},
		{"an empty object", leanPod{}, ` { } `, `{}`},
		{"values of a map", labelled{}, `{"data":{"x":{"a":{"b":1},"c":2},"y":{}}}`, `{"data":{"x":{"a":{"b":1}},"y":{}}}`},
		{"a type that contains itself", chain{}, `{"name":"a","next":{"name":"b","other":1},"x":1}`, `{"name":"a","next":{"name":"b","other":1}}`},
		{"an escaped name", chain{}, `{"n\u0061me":"a"}`, `{"n\u0061me":"a"}`},
		{"any object", unstructured.Unstructured{}, `{"spec":{"a":1},"b":2}`, `{"spec":{"a":1},"b":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := projected(t, wire.ProjectionOf(reflect.TypeOf(tt.of)), tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestProjectedObjectDecodesLikeTheWholeObject(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[leanPod](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[metav1.PartialObjectMetadata](),
	} {
		want, got := reflect.New(of).Interface(), reflect.New(of).Interface()
		whole, err := wire.NewPacked(wire.JSON, podJSON(t)).Compact()
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.UnmarshalJSON(whole.Bytes(), want); err != nil {
			t.Fatal(err)
		}
		small := projected(t, wire.ProjectionOf(of), string(podJSON(t)))
		if err := wire.UnmarshalJSON([]byte(small), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-whole +projected):\n%s", of, diff)
		}
		if of != reflect.TypeFor[corev1.Pod]() && len(small) > whole.Len()/2 {
			t.Errorf("%v: the projection has %d of %d bytes", of, len(small), whole.Len())
		}
	}
}

// TestProjectionOfMessages checks what the readers of one table need of protobuf messages.
func TestProjectionOfMessages(t *testing.T) {
	type own struct { // as JSON only
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
	type tagged struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
		Spec              struct {
			NodeName string `json:"nodeName" protobuf:"bytes,10,opt,name=nodeName"`
		} `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	}
	type other struct {
		Spec struct {
			HostNetwork bool `json:"hostNetwork" protobuf:"varint,11,opt,name=hostNetwork"`
			Containers  []struct {
				Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
			} `json:"containers" protobuf:"bytes,2,rep,name=containers"`
		} `json:"spec" protobuf:"bytes,2,opt,name=spec"`
		Status corev1.PodStatus `json:"status" protobuf:"bytes,3,opt,name=status"`
	}
	type nullable struct {
		Spec struct {
			NodeName *string `json:"nodeName" protobuf:"bytes,10,opt,name=nodeName"`
		} `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	}
	fieldsOfSpec, rest := wire.ProjectionOf(reflect.TypeFor[tagged]()), wire.ProjectionOf(reflect.TypeFor[other]())
	pointer := wire.ProjectionOf(reflect.TypeFor[nullable]())
	both := fieldsOfSpec.Union(rest)
	pod := wire.ProjectionOf(reflect.TypeFor[corev1.Pod]())
	node := wire.ProjectionOf(reflect.TypeFor[corev1.Node]())
	metadata := wire.ProjectionOf(reflect.TypeFor[metav1.PartialObjectMetadata]())
	lean := wire.ProjectionOf(reflect.TypeFor[own]())
	for name, tt := range map[string]struct{ got, want bool }{
		"a kind covers its metadata":          {pod.Covers(metadata), true},
		"metadata does not cover a kind":      {metadata.Covers(pod), false},
		"a type with metadata covers it":      {lean.Covers(metadata) && metadata.Covers(lean), true},
		"a kind has all fields":               {pod == nil && node == nil, true},
		"metadata does not cover everything":  {metadata.Covers(nil), false},
		"everything covers metadata":          {(*wire.Projection)(nil).Covers(metadata), true},
		"the union with metadata is the kind": {pod.Union(metadata).Covers(pod) && pod.Covers(metadata.Union(pod)), true},
		"a kind covers its fields":            {pod.Covers(fieldsOfSpec) && pod.Covers(rest) && pod.Covers(both), true},
		"fields do not cover the kind":        {both.Covers(pod), false},
		"fields do not cover other fields":    {fieldsOfSpec.Covers(rest) || rest.Covers(fieldsOfSpec), false},
		"the union covers both":               {both.Covers(fieldsOfSpec) && both.Covers(rest), true},
		"a pointer is the same field":         {fieldsOfSpec.Covers(pointer), true},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v", name, tt.got)
		}
	}
	message := wire.NewPacked(wire.Protobuf, podProtobuf(t))
	for name, p := range map[string]*wire.Projection{
		"everything": nil, "metadata": metadata, "everything and metadata": metadata.Union(nil),
	} {
		data, err := message.AppendCompact(nil, p)
		want, got := new(corev1.Pod), new(corev1.Pod)
		if err := errors.Join(err, message.Decode(want), wire.NewPacked(wire.Protobuf, data).Decode(got)); err != nil {
			t.Fatal(err)
		}
		want.ManagedFields = nil
		if p == metadata {
			want.Spec, want.Status = corev1.PodSpec{}, corev1.PodStatus{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		t.Logf("%s: %d bytes", name, len(data))
	}
	for name, p := range map[string]*wire.Projection{"all": nil, "the union": both} {
		data, err := message.AppendCompact(nil, p)
		var fields tagged
		var others other
		small := wire.NewPacked(wire.Protobuf, data)
		if err := errors.Join(err, small.Decode(&fields), protobuf.Unmarshal(data, &others)); err != nil {
			t.Fatal(err)
		}
		want := new(corev1.Pod)
		if err := message.Decode(want); err != nil {
			t.Fatal(err)
		}
		want.ManagedFields = nil
		if diff := cmp.Diff(want.ObjectMeta, fields.ObjectMeta); p != nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if fields.Spec.NodeName != want.Spec.NodeName || len(others.Spec.Containers) != len(want.Spec.Containers) ||
			others.Spec.Containers[0].Name != want.Spec.Containers[0].Name {
			t.Errorf("%s: got %v and %v", name, fields.Spec, others.Spec)
		}
		if diff := cmp.Diff(want.Status, others.Status); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if p == both && len(data) > 1200 {
			t.Errorf("the fields need %d bytes", len(data))
		}
		t.Logf("%s: %d bytes", name, len(data))
	}
}

func TestUnionHasTheFieldsOfBoth(t *testing.T) {
	type a struct {
		X struct{ A, B int }
		Y []struct{ A int }
	}
	type b struct {
		X struct{ C int }
		Y []struct{ B int }
		Z int
	}
	pa, pb := wire.ProjectionOf(reflect.TypeFor[a]()), wire.ProjectionOf(reflect.TypeFor[b]())
	both := pa.Union(pb)
	in := `{"X":{"A":1,"B":2,"C":3,"D":4},"Y":[{"A":1,"B":2,"C":3}],"Z":1,"W":1}`
	want := `{"X":{"A":1,"B":2,"C":3},"Y":[{"A":1,"B":2}],"Z":1}`
	if got := projected(t, both, in); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, tt := range map[string]struct{ got, want bool }{
		"the union covers one":         {both.Covers(pa), true},
		"the union covers the other":   {both.Covers(pb), true},
		"the union covers itself":      {both.Covers(both), true},
		"one does not cover the union": {pa.Covers(both), false},
		"nor the other":                {pb.Covers(pa), false},
		"everything covers all":        {(*wire.Projection)(nil).Covers(both), true},
		"nothing else covers it":       {both.Covers(nil), false},
		"a union with everything":      {both.Union(nil) == nil, true},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
}

// TestProjectionStringIdentifiesTheFields checks that only equal projections have equal strings.
func TestProjectionStringIdentifiesTheFields(t *testing.T) {
	type value struct {
		A string `json:"a"`
		B string `json:"b"`
	}
	type other struct {
		B string `json:"b"`
		A string `json:"a"`
	}
	for _, tt := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[any](), ""},
		{reflect.TypeFor[value](), `{"a" "b"}`},
		{reflect.TypeFor[other](), `{"a" "b"}`},
		{reflect.TypeFor[struct {
			In []value `json:"in"`
			X  string  `json:"{x"`
		}](), `{"in"[{"a" "b"}] "{x"}`},
		{reflect.TypeFor[metav1.PartialObjectMetadata](), `{"metadata"}`},
	} {
		if got := wire.ProjectionOf(tt.of).String(); got != tt.want {
			t.Errorf("the projection of %v is %s, want %s", tt.of, got, tt.want)
		}
	}
}

// A projection never adds, changes or reorders what it keeps.
func FuzzProjection(f *testing.F) {
	for _, s := range oddJSON() {
		f.Add([]byte(s))
	}
	f.Add(podJSON(f))
	keep := wire.ProjectionOf(reflect.TypeFor[leanPod]())
	f.Fuzz(func(t *testing.T, data []byte) {
		p := wire.NewPacked(wire.JSON, data)
		small, err := p.AppendCompact(nil, keep)
		whole, wholeErr := p.Compact()
		want, got := new(leanPod), new(leanPod)
		if !unambiguous(p) || p.Decode(want) != nil {
			return
		}
		if err != nil || wholeErr != nil {
			t.Fatalf("AppendCompact() = %v, Compact() = %v", err, wholeErr)
		}
		if len(small) > whole.Len() {
			t.Errorf("the projection %s is longer than %s", small, whole.Bytes())
		}
		want.TypeMeta, want.ManagedFields = metav1.TypeMeta{}, nil
		if err := wire.NewPacked(wire.JSON, small).Decode(got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s decodes to %v, %v; want %v", small, got, err, want)
		}
	})
}
