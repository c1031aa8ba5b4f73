// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

// packedGoldens calls f with every object of the test data, packed in each encoding and decoded.
func packedGoldens(t *testing.T, f func(name string, p wire.Packed, obj apitest.Object)) {
	t.Helper()
	for _, g := range apitest.Goldens(t) {
		obj := g.Kind.New()
		if err := json.Unmarshal(g.JSON, obj); err != nil {
			t.Fatal(err)
		}
		f(g.Name+" json", wire.NewPacked(wire.JSON, g.JSON), obj)

		_, message := opened(t, g.Protobuf)
		obj = g.Kind.New()
		if err := obj.(generated).Unmarshal(message); err != nil {
			t.Fatal(err)
		}
		f(g.Name+" protobuf", wire.NewPacked(wire.Protobuf, message), obj)
	}
}

func TestHeadHasTheMetadataOfEveryKind(t *testing.T) {
	packedGoldens(t, func(name string, p wire.Packed, obj apitest.Object) {
		want := wire.Head{Ref: core.RefOf(obj), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
		if got, err := p.Head(); err != nil || got != want {
			t.Errorf("%s: Head() = %v, %v; want %v", name, got, err, want)
		}
	})
}

func TestLabelsAndAnnotationsAreReadFromEveryKind(t *testing.T) {
	packedGoldens(t, func(name string, p wire.Packed, obj apitest.Object) {
		if got, err := p.Labels(); err != nil || len(got) == 0 || !reflect.DeepEqual(got, obj.GetLabels()) {
			t.Errorf("%s: Labels() = %v, %v; want %v", name, got, err, obj.GetLabels())
		}
		if got, err := p.Annotations(); err != nil || len(got) == 0 || !reflect.DeepEqual(got, obj.GetAnnotations()) {
			t.Errorf("%s: Annotations() = %v, %v; want %v", name, got, err, obj.GetAnnotations())
		}
	})
	for _, p := range []wire.Packed{
		wire.NewPacked(wire.JSON, []byte(`{"metadata":{"labels":null}}`)), wire.NewPacked(wire.Protobuf, nil),
	} {
		if got, err := p.Labels(); err != nil || got != nil {
			t.Errorf("Labels() of %s without any = %v, %v", p.Encoding(), got, err)
		}
	}
	if _, err := wire.NewPacked(wire.Protobuf, []byte("\x0a\x02\x5a\x05")).Labels(); err == nil {
		t.Error("Labels() of broken metadata = nil")
	}
}

func TestOwnersOfEveryKind(t *testing.T) {
	packedGoldens(t, func(name string, p wire.Packed, obj apitest.Object) {
		var want []types.UID
		for _, r := range obj.GetOwnerReferences() {
			want = append(want, r.UID)
		}
		if got, err := p.Owners(); err != nil || len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: Owners() = %v, %v; want %v", name, got, err, want)
		}
	})
	for _, in := range []string{`{}`, `{"metadata":null}`, `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"ownerReferences":[{}]}}`} {
		if got, err := wire.NewPacked(wire.JSON, []byte(in)).Owners(); err != nil || len(got) > 0 {
			t.Errorf("Owners() of %s = %v, %v", in, got, err)
		}
	}
}

func TestOnlyTheMetadataIsKeptIfNothingElseIsDeclared(t *testing.T) {
	keep := wire.ProjectionOf(reflect.TypeFor[metav1.PartialObjectMetadata]())
	for _, p := range []wire.Packed{
		wire.NewPacked(wire.JSON, podJSON(t)), wire.NewPacked(wire.Protobuf, podProtobuf(t)),
	} {
		data, err := p.AppendCompact(nil, keep)
		if err != nil {
			t.Fatal(err)
		}
		pod, want := new(corev1.Pod), new(corev1.Pod)
		if err := errors.Join(wire.NewPacked(p.Encoding(), data).Decode(pod), p.Decode(want)); err != nil {
			t.Fatal(err)
		}
		want = &corev1.Pod{ObjectMeta: want.ObjectMeta}
		want.ManagedFields = nil
		if diff := cmp.Diff(want, pod); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Encoding(), diff)
		}
	}
}

func TestMetadataOfEveryKindOmitsOnlyManagedFields(t *testing.T) {
	packedGoldens(t, func(name string, p wire.Packed, obj apitest.Object) {
		obj.SetManagedFields(nil)
		want := reflect.ValueOf(obj).Elem().FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
		got, err := p.Metadata()
		if err != nil {
			t.Errorf("%s: Metadata: %v", name, err)
		} else if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	})
}

func TestCompactOfEveryKindOmitsOnlyManagedFieldsAndTheKind(t *testing.T) {
	packedGoldens(t, func(name string, p wire.Packed, want apitest.Object) {
		if len(want.GetManagedFields()) == 0 {
			t.Fatalf("%s has no managedFields to omit", name)
		}
		want.SetManagedFields(nil)
		want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		compact, err := p.Compact()
		if err != nil {
			t.Errorf("%s: Compact: %v", name, err)
			return
		}
		if compact.Encoding() != p.Encoding() || compact.Len() >= p.Len() || compact.Len() != len(compact.Bytes()) {
			t.Errorf("%s: Compact() has %d bytes of %s, out of %d of %s", name, compact.Len(), compact.Encoding(), p.Len(), p.Encoding())
		}
		got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(core.Object)
		if err := compact.Decode(got); err != nil {
			t.Errorf("%s: Decode: %v", name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(want, got))
		}
		again, err := compact.Compact()
		if err != nil || !bytes.Equal(again.Bytes(), compact.Bytes()) {
			t.Errorf("%s: Compact of the compact = %q, %v; want the same", name, again.Bytes(), err)
		}
	})
}

func TestCompactOwnsItsBytes(t *testing.T) {
	for _, p := range []wire.Packed{
		wire.NewPacked(wire.JSON, bytes.Clone(podJSON(t))), wire.NewPacked(wire.Protobuf, podProtobuf(t)),
		wire.NewPacked(wire.JSON, []byte(`{"a":1}`)), wire.NewPacked(wire.Protobuf, []byte{0x12, 0x01, 'a'}),
	} {
		compact, err := p.Compact()
		if err != nil {
			t.Fatal(err)
		}
		want := string(compact.Bytes())
		for i := range p.Bytes() {
			p.Bytes()[i] = 0
		}
		if string(compact.Bytes()) != want {
			t.Errorf("%s: the compact copy changed with the original", p.Encoding())
		}
		if slack := cap(compact.Bytes()) - compact.Len(); slack > compact.Len()/8+16 {
			t.Errorf("%s: the compact copy of %d bytes keeps %d more alive", p.Encoding(), compact.Len(), slack)
		}
	}
}

func TestCompactJSONRemovesOneMemberAndItsComma(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"first of several", `{"metadata":{"managedFields":[{}],"name":"a"},"spec":1}`, `{"metadata":{"name":"a"},"spec":1}`},
		{"in the middle", `{"metadata":{"b":1,"managedFields":[],"name":"a"}}`, `{"metadata":{"b":1,"name":"a"}}`},
		{"last", `{"metadata":{"name":"a","managedFields":null}}`, `{"metadata":{"name":"a"}}`},
		{"alone", `{"metadata":{"managedFields":[{"a":"}]\""}]}}`, `{"metadata":{}}`},
		{"missing", `{"metadata":{"name":"a"}}`, `{"metadata":{"name":"a"}}`},
		{"elsewhere", `{"managedFields":1,"spec":{"managedFields":2}}`, `{"managedFields":1,"spec":{"managedFields":2}}`},
		{"in metadata of a template", `{"spec":{"metadata":{"managedFields":2}}}`, `{"spec":{"metadata":{"managedFields":2}}}`},
		{"with white space, first", "{ \"metadata\" : { \"managedFields\" : [ ] , \"name\" : \"a\" } }", `{"metadata":{ "name" : "a" }}`},
		{"with white space, last", "{\n \"metadata\": {\n  \"name\": \"a\" ,\n  \"managedFields\": []\n }\n}", "{\"metadata\":{\n  \"name\": \"a\" }}"},
		{"kind and apiVersion", `{"kind":"Pod","apiVersion":"v1","spec":{"kind":"a"}}`, `{"spec":{"kind":"a"}}`},
		{"spelled with escapes", `{"met\u0061data":{"m\u0061nagedFields":[],"name":"a"}}`, `{"met\u0061data":{"name":"a"}}`},
		{"metadata is null", `{"metadata":null}`, `{"metadata":null}`},
		{"no metadata", `{}`, `{}`},
		{"null", `null`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wire.NewPacked(wire.JSON, []byte(tt.in)).Compact()
			if err != nil || string(got.Bytes()) != tt.want {
				t.Errorf("Compact(%s) = %s, %v; want %s", tt.in, got.Bytes(), err, tt.want)
			}
		})
	}
}

func TestHeadHandlesUnusualJSON(t *testing.T) {
	tests := []struct {
		name, in string
		want     wire.Head
	}{
		{"no metadata", `{"spec":{"metadata":{"name":"no"}}}`, wire.Head{}},
		{"null", ` null `, wire.Head{}},
		{"metadata is null", `{"metadata":null}`, wire.Head{}},
		{"a name that is not a string", `{"metadata":{"name":1,"uid":"u"}}`, wire.Head{UID: "u"}},
		{"escapes", `{"metadata":{"n\u0061me":"\u0061\"b"}}`, wire.Head{Ref: core.ObjectRef{Name: `a"b`}}},
		{"names inside other members", `{"metadata":{"labels":{"name":"no"},"namespace":"ns"}}`, wire.Head{Ref: core.ObjectRef{Namespace: "ns"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := wire.NewPacked(wire.JSON, []byte(tt.in)).Head(); err != nil || got != tt.want {
				t.Errorf("Head(%s) = %v, %v; want %v", tt.in, got, err, tt.want)
			}
		})
	}
}

// The time must be proportional to the length: with a search for the end of the string after each escape, this test
// takes a quarter of an hour.
func TestLongTextWithManyEscapesIsSkippedOnce(t *testing.T) {
	data := []byte(`{"data":{"log":"` + strings.Repeat(`\n`, 8<<20) + `\"\\"},"metadata":{"name":"a","uid":"u"}}`)
	p := wire.NewPacked(wire.JSON, data)
	if head, err := p.Head(); err != nil || head.Ref.Name != "a" || head.UID != "u" {
		t.Errorf("Head() = %v, %v, want a", head, err)
	}
	if compact, err := p.Compact(); err != nil || !bytes.Equal(compact.Bytes(), data) {
		t.Errorf("Compact() has %d bytes, %v; want the same object", compact.Len(), err)
	}
}

func TestPackedRejectsInvalidBytes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		encoding wire.Encoding
		data     string
	}{
		{"JSON that is not an object", wire.JSON, `[]`},
		{"JSON that ends early", wire.JSON, `{"metadata":{"name":"a"`},
		{"JSON that ends in a string", wire.JSON, `{"metadata":{"name":"a`},
		{"JSON without a colon", wire.JSON, `{"metadata" {}}`},
		{"JSON without a value", wire.JSON, `{"metadata":}`},
		{"protobuf that ends in a tag", wire.Protobuf, "\xff"},
		{"protobuf that ends in a field", wire.Protobuf, "\x0a\x05ab"},
		{"protobuf with broken metadata", wire.Protobuf, "\x0a\x02\x0a\x05"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := wire.NewPacked(tt.encoding, []byte(tt.data))
			if h, err := p.Head(); err == nil {
				t.Errorf("Head() = %v, want an error", h)
			}
			if m, err := p.Metadata(); err == nil {
				t.Errorf("Metadata() = %v, want an error", m)
			}
			if c, err := p.Compact(); err == nil {
				t.Errorf("Compact() = %q, want an error", c.Bytes())
			}
			if err := p.Decode(new(corev1.Pod)); err == nil {
				t.Error("Decode() = nil, want an error")
			}
		})
	}
}

func TestPackedObjectDecodesToTheOriginal(t *testing.T) {
	pod := new(corev1.Pod)
	if err := json.Unmarshal(podJSON(t), pod); err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		p, err := wire.Pack(pod, encoding)
		if err != nil {
			t.Fatal(err)
		}
		got := &corev1.Pod{TypeMeta: pod.TypeMeta} // which protobuf does not carry
		if err := p.Decode(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(pod, got); diff != "" {
			t.Errorf("%s (-packed +decoded):\n%s", encoding, diff)
		}
	}
}

// Items of a list may have no kind, so Decode keeps the kind that the caller has set.
func TestDecodeKeepsTheKindIfTheBytesHaveNone(t *testing.T) {
	item := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a"}}`))
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	if err := item.Decode(pod); err != nil || pod.Kind != "Pod" || pod.Name != "a" {
		t.Errorf("Decode = %v with kind %q and name %q, want Pod and a", err, pod.Kind, pod.Name)
	}
	u := new(unstructured.Unstructured)
	if err := item.Decode(u); err != nil || u.GetName() != "a" || u.GetKind() != "" {
		t.Errorf("Decode = %v with name %q and kind %q, want a and none", err, u.GetName(), u.GetKind())
	}
}

// The sizes that the packed store relies on.
func TestPackedPodIsSmall(t *testing.T) {
	for _, tt := range []struct {
		p    wire.Packed
		most int
	}{
		{wire.NewPacked(wire.JSON, podJSON(t)), 3400},
		{wire.NewPacked(wire.Protobuf, podProtobuf(t)), 1700},
	} {
		compact, err := tt.p.Compact()
		if err != nil || compact.Len() > tt.most {
			t.Errorf("%s: %d bytes, %v; want at most %d", tt.p.Encoding(), compact.Len(), err, tt.most)
		}
		if strings.Contains(string(compact.Bytes()), "f:status") {
			t.Errorf("%s: the compact form has managedFields", tt.p.Encoding())
		}
		allocs := testing.AllocsPerRun(100, func() { _, _ = tt.p.Compact() })
		if allocs > 2 {
			t.Errorf("%s: Compact allocates %v times, want twice", tt.p.Encoding(), allocs)
		}
		if allocs := testing.AllocsPerRun(100, func() { _, _ = tt.p.Head() }); allocs > 4 {
			t.Errorf("%s: Head allocates %v times, want once for each of its strings", tt.p.Encoding(), allocs)
		}
	}
}
