// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// leanType returns a type with some of the fields of a type of Kubernetes, chosen at random, also in the messages of
// these fields.
func leanType(t reflect.Type, r *rand.Rand, depth int) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(leanType(t.Elem(), r, depth))
	case reflect.Pointer:
		return reflect.PointerTo(leanType(t.Elem(), r, depth))
	case reflect.Struct:
		if depth == 0 || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			return t
		}
	default:
		return t
	}
	var fields []reflect.StructField
	for f := range t.Fields() {
		if tag := f.Tag.Get("protobuf"); tag == "" || tag == "-" || r.IntN(2) == 0 {
			continue
		}
		f.Anonymous, f.Type = false, leanType(f.Type, r, depth-1)
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

func TestFilteredMessagesAreDecodedLikeTheOriginals(t *testing.T) {
	before, after := 0, 0
	for _, typ := range generatedTypes(t) {
		for seed := range int64(8) {
			obj := reflect.New(typ).Interface()
			if seed > 0 { // otherwise the zero value
				fill(obj, seed)
			}
			data, err := obj.(generated).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			lean := leanType(typ, rand.New(rand.NewPCG(uint64(seed), 0)), 3)
			before, after = before+len(data), after+len(compareFiltered(t, lean, data))
		}
	}
	if after > before*3/4 {
		t.Errorf("%d bytes became %d", before, after)
	}
}

func TestTypesOfKubernetesAreNotFiltered(t *testing.T) {
	for _, typ := range generatedTypes(t) {
		metadata := typ == reflect.TypeFor[metav1.PartialObjectMetadata]()
		if !metadata && protobuf.FilterOf(reflect.PointerTo(typ)) != nil {
			t.Errorf("%v has a filter", typ)
		}
	}
	type self struct {
		Name string  `protobuf:"bytes,1,opt,name=name"`
		Self []*self `protobuf:"bytes,2,rep,name=self"`
	}
	data := field(2, field(1, []byte("a")), field(9, []byte("b")))
	if got := protobuf.FilterOf(reflect.TypeFor[*self]()).Append(nil, data); !bytes.Equal(got, data) {
		t.Errorf("messages that contain themselves became %q, want %q", got, data)
	}
}

func TestFilterOmitsManagedFields(t *testing.T) {
	pod, data := realPod(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[metav1.PartialObjectMetadata](), reflect.TypeFor[podFields]()} {
		small := compareFiltered(t, typ, data)
		var got metav1.PartialObjectMetadata
		if err := protobuf.Unmarshal(small, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.ManagedFields) > 0 || got.UID != pod.UID {
			t.Errorf("%v: the metadata is %+v", typ, got.ObjectMeta)
		}
	}
}

// podFields is a type with few fields of a pod.
type podFields struct {
	metav1.ObjectMeta `protobuf:"bytes,1,opt,name=metadata"`

	Spec   specFields       `protobuf:"bytes,2,opt,name=spec"`
	Status corev1.PodStatus `protobuf:"bytes,3,opt,name=status"`
}

type specFields struct {
	Containers []struct {
		Name string `protobuf:"bytes,1,opt,name=name"`
	} `protobuf:"bytes,2,rep,name=containers"`
	ActiveDeadlineSeconds *int64 `protobuf:"varint,5,opt,name=activeDeadlineSeconds"`
	DNSPolicy             string `protobuf:"bytes,6,opt,name=dnsPolicy"`
	SecurityContext       *struct {
		RunAsUser *int64 `protobuf:"varint,2,opt,name=runAsUser"`
	} `protobuf:"bytes,14,opt,name=securityContext"`
}

func TestFilterKeepsWhatIsMergedOrUnreadable(t *testing.T) {
	text := func(num protowire.Number, s string) []byte { return field(num, []byte(s)) }
	tests := []struct {
		name string
		in   []byte
	}{
		{name: "text", in: append(text(6, "a"), text(6, "")...)},
		{name: "numbers", in: []byte{5 << 3, 7, 5 << 3, 0}},
		{name: "messages", in: append(field(14, text(1, "a"), []byte{2 << 3, 5}), field(14, text(1, ""))...)},
		{name: "elements", in: bytes.Join([][]byte{field(2, text(1, "a")), text(6, "b"), field(2, text(2, ""))}, nil)},
		{name: "fields in another order", in: append(text(8, "a"), text(6, "")...)},
		{name: "unknown fields", in: text(99, "a")},
		{name: "a tag with padding", in: []byte{0x80 | 14<<3 | 2, 0, 4, 2 << 3, 5, 3 << 3, 7}},
		{name: "a length with padding", in: []byte{14<<3 | 2, 0x84, 0, 2 << 3, 5, 3 << 3, 7}},
		{name: "a message that ends early", in: []byte{2<<3 | 2, 5, 0x0a, 0}},
		{name: "a nested message that ends early", in: field(2, []byte{0x0a, 7})},
		{name: "another wire type", in: []byte{6 << 3, 0}},
		{name: "another wire type of a message", in: []byte{14 << 3, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compareFiltered(t, reflect.TypeFor[specFields](), tt.in) })
	}
}

// compareFiltered compares the result of decoding a message with that of decoding the filtered message, which it
// returns.
func compareFiltered(t *testing.T, typ reflect.Type, data []byte) []byte {
	t.Helper()
	want, got := reflect.New(typ), reflect.New(typ)
	wantErr := protobuf.Unmarshal(data, want.Interface())
	filter := protobuf.FilterOf(want.Type())
	small := filter.Append([]byte("before"), data)
	small, found := bytes.CutPrefix(small, []byte("before"))
	if !found || len(small) > len(data) {
		t.Errorf("%v: %x became %x", typ, data, small)
	}
	gotErr := protobuf.Unmarshal(small, got.Interface())
	if wantErr != nil {
		return small // the filter may have omitted the mistake
	}
	if again := filter.Append(nil, small); !bytes.Equal(small, again) {
		t.Errorf("%v: the filter changes what it returns, %x, to %x", typ, small, again)
	}
	if filter != nil {
		if meta := want.Elem().FieldByName("ObjectMeta"); meta.IsValid() && meta.Type() == reflect.TypeFor[metav1.ObjectMeta]() {
			meta.FieldByName("ManagedFields").SetZero()
		}
	}
	if gotErr != nil || !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Errorf("%v: %v (-original +filtered):\n%s", typ, gotErr, cmp.Diff(want.Interface(), got.Interface()))
	}
	return small
}

func BenchmarkFilter(b *testing.B) {
	_, msg := realPod(b)
	filter := protobuf.FilterOf(reflect.TypeFor[*podFields]())
	var buf []byte
	bench(b, len(msg), "pod", func() error { buf = filter.Append(buf[:0], msg); return nil })
	b.Logf("%d bytes became %d", len(msg), len(buf))
}
