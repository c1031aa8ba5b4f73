// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// withoutManagedFields removes the managedFields of an object, which a filter omits.
func withoutManagedFields(obj any) any {
	if _, ok := obj.(*metav1.ObjectMeta); ok {
		return obj // not an object
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj
}

func TestFilteredMessagesAreDecodedLikeTheOriginals(t *testing.T) {
	before, after := 0, 0
	for _, typ := range generatedTypes(t) {
		filter := protobuf.FilterOf(reflect.PointerTo(typ))
		if filter == nil {
			t.Fatalf("%v has no filter", typ)
		}
		for seed := range int64(8) {
			obj := reflect.New(typ).Interface()
			if seed > 0 { // otherwise the zero value
				fill(obj, seed)
			}
			data, err := obj.(generated).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			small := filter.Append(nil, data)
			before, after = before+len(data), after+len(small)
			if !bytes.Equal(small, filter.Append(nil, small)) {
				t.Errorf("%v seed %d: the filter changes what it returns", typ, seed)
			}
			want, got, ours := reflect.New(typ).Interface(), reflect.New(typ).Interface(), reflect.New(typ).Interface()
			if err := want.(generated).Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			if err := got.(generated).Unmarshal(small); err != nil {
				t.Fatalf("%v seed %d: %v", typ, seed, err)
			}
			if err := protobuf.Unmarshal(small, ours); err != nil {
				t.Fatalf("%v seed %d: %v", typ, seed, err)
			}
			withoutManagedFields(want)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(ours, want) {
				t.Errorf("%v seed %d (-original +filtered):\n%s", typ, seed, cmp.Diff(want, got))
			}
		}
	}
	if after >= before {
		t.Errorf("%d bytes became %d", before, after)
	}
}

func TestFilterOmitsOnlyWhatSaysNothing(t *testing.T) {
	tests := []struct {
		name string
		obj  any
		size int // of the filtered encoding
	}{
		{name: "an empty object", obj: &corev1.Pod{}, size: 0},
		{name: "a pointer to an empty message", obj: &corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{}}, size: 2},
		{name: "an empty directory", obj: &corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, size: 2},
		{name: "a pointer to zero", obj: &appsv1.DeploymentSpec{Replicas: new(int32)}, size: 2},
		{name: "a pointer to false", obj: &corev1.PodSpec{EnableServiceLinks: new(bool)}, size: 3},
		{name: "empty elements", obj: &corev1.PodSpec{Containers: make([]corev1.Container, 2)}, size: 4},
		{name: "empty strings in a list", obj: &corev1.Container{Args: []string{"", ""}}, size: 4},
		{name: "an entry with an empty value", obj: &corev1.ConfigMap{Data: map[string]string{"a": ""}}, size: 7},
		{name: "empty bytes", obj: &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {}}}, size: 7},
		{name: "an empty byte slice", obj: &metav1.DeleteOptions{DryRun: []string{""}}, size: 2},
		{name: "a point in time", obj: &corev1.PodCondition{LastProbeTime: metav1.Unix(1, 0)}, size: 4},
		{name: "1970", obj: &corev1.PodCondition{LastProbeTime: metav1.Unix(0, 0)}, size: 4},
		{name: "a pointer to no time", obj: &corev1.PodStatus{StartTime: &metav1.Time{}}, size: 2},
		{
			name: "microseconds", obj: &coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: metav1.Unix(1, 5000).Time}},
			size: 7,
		},
		{name: "a number in a string or number", obj: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}, size: 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data, err := tt.obj.(generated).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			got := protobuf.FilterOf(reflect.TypeOf(tt.obj)).Append([]byte("before"), data)
			got, ok := bytes.CutPrefix(got, []byte("before"))
			if !ok || len(got) != tt.size {
				t.Errorf("Append = %x, want %d bytes", got, tt.size)
			}
			compareFiltered(t, reflect.TypeOf(tt.obj).Elem(), data)
		})
	}
}

// TestFilterKeepsValuesThatAreNotTheFirst checks messages that contain a field several times, which are merged.
func TestFilterKeepsValuesThatAreNotTheFirst(t *testing.T) {
	text := func(num protowire.Number, s string) []byte { return field(num, []byte(s)) }
	zero := []byte{5 << 3, 0} // TerminationGracePeriodSeconds is 4, and ActiveDeadlineSeconds 5
	tests := []struct {
		name string
		in   []byte
	}{
		{name: "text", in: append(text(6, "a"), text(6, "")...)},
		{name: "numbers", in: append([]byte{5 << 3, 7}, zero...)},
		{name: "messages", in: append(field(14, text(1, "a")), field(14, text(1, ""))...)},
		{name: "elements", in: bytes.Join([][]byte{field(2, text(1, "a")), text(6, "b"), field(2, text(1, ""))}, nil)},
		{name: "fields in another order", in: append(text(8, "a"), text(6, "")...)},
		{name: "unknown fields", in: text(99, "a")},
		{name: "a tag with padding", in: []byte{0x8a | 6<<3, 0, 0}},
		{name: "a message that ends early", in: []byte{2<<3 | 2, 5, 0x0a, 0}},
		{name: "a nested message that ends early", in: field(2, []byte{0x0a, 7})},
		{name: "another wire type", in: []byte{6 << 3, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compareFiltered(t, reflect.TypeFor[corev1.PodSpec](), tt.in) })
	}
}

// compareFiltered compares the result of decoding a message with that of decoding the filtered message.
func compareFiltered(t *testing.T, typ reflect.Type, data []byte) {
	t.Helper()
	want, got := reflect.New(typ).Interface(), reflect.New(typ).Interface()
	wantErr := protobuf.Unmarshal(data, want)
	small := protobuf.FilterOf(reflect.PointerTo(typ)).Append(nil, data)
	gotErr := protobuf.Unmarshal(small, got)
	if len(small) > len(data) {
		t.Errorf("%v: %x became %x", typ, data, small)
	}
	if wantErr != nil {
		return // the filter may have omitted the mistake, with managedFields
	}
	if gotErr != nil || !reflect.DeepEqual(withoutManagedFields(got), withoutManagedFields(want)) {
		t.Errorf("%v: %v (-original +filtered):\n%s", typ, gotErr, cmp.Diff(want, got))
	}
}

func BenchmarkFilter(b *testing.B) {
	_, msg := realPod(b)
	filter := protobuf.FilterOf(reflect.TypeFor[*corev1.Pod]())
	var buf []byte
	bench(b, len(msg), "pod", func() error { buf = filter.Append(buf[:0], msg); return nil })
	b.Logf("%d bytes became %d", len(msg), len(buf))
}
