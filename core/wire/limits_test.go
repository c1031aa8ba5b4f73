// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// hollowPod returns a pod with n empty containers.
func hollowPod(encoding wire.Encoding, n int) []byte {
	if encoding == wire.Protobuf { // field 2 of the pod is its spec, and field 2 of the spec its containers
		spec := strings.Repeat("\x12\x00", n)
		size := len(spec)
		return append([]byte{0x12, byte(size) | 0x80, byte(size>>7) | 0x80, byte(size>>14) | 0x80, byte(size>>21) | 0x80, byte(size >> 28)}, spec...)
	}
	return []byte(`{"spec":{"containers":[{}` + strings.Repeat(",{}", n-1) + `]}}`)
}

func TestObjectOfTooManyEmptyStructsIsRejected(t *testing.T) {
	for encoding := range allEncodings() {
		body := hollowPod(encoding, 4<<20)
		targets := []core.Object{&corev1.Pod{}, &unstructured.Unstructured{}}
		if encoding == wire.Protobuf {
			targets = targets[:1]
		}
		for _, obj := range targets {
			t.Run(fmt.Sprintf("%s/%T", encoding, obj), func(t *testing.T) {
				before := allocated()
				err := wire.NewPacked(encoding, body).Decode(obj)
				used := allocated() - before
				if large, ok := errors.AsType[*wire.TooLargeError](err); !ok || large.LimitValues == 0 {
					t.Errorf("Decode of %d bytes = %v, want a TooLargeError with LimitValues", len(body), err)
				}
				if used > 1<<20 {
					t.Errorf("rejecting the object allocated %d bytes", used)
				}
			})
		}
		pod := &corev1.Pod{}
		if err := wire.NewPacked(encoding, hollowPod(encoding, 1<<17)).Decode(pod); err != nil || len(pod.Spec.Containers) != 1<<17 {
			t.Errorf("%s: Decode of 131072 containers = %v, %d containers", encoding, err, len(pod.Spec.Containers))
		}
	}
}

// field returns a field of a protobuf message.
func field(num protowire.Number, value string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), value))
}

func TestMetadataOfTooManyValuesIsRejected(t *testing.T) {
	const messages, scalars = 1 << 20, 7 << 20
	json := func(n int, name, start, value, end string) wire.Packed {
		return wire.NewPacked(wire.JSON, []byte(`{"metadata":{"`+name+`":`+start+value+strings.Repeat(","+value, n)+end+`}}`))
	}
	protobuf := func(n int, num protowire.Number, value string) wire.Packed {
		return wire.NewPacked(wire.Protobuf, []byte(field(1, strings.Repeat(field(num, value), n))))
	}
	for _, tt := range []struct {
		name string
		obj  wire.Packed
		read func(wire.Packed) error
	}{
		{"labels in JSON", json(scalars, "labels", "{", `"a":""`, "}"), labels},
		{"labels in protobuf", protobuf(scalars, 11, ""), labels},
		{"annotations in JSON", json(scalars, "annotations", "{", `"a":""`, "}"), annotations},
		{"annotations in protobuf", protobuf(scalars, 12, ""), annotations},
		{"owners in JSON", json(messages, "ownerReferences", "[", `{"uid":""}`, "]"), owners},
		{"owners in protobuf", protobuf(messages, 13, field(4, "")), owners},
		{"all in JSON", json(messages, "ownerReferences", "[", "{}", "]"), metadata},
		{"all in protobuf", protobuf(messages, 13, ""), metadata},
		{"finalizers in protobuf", protobuf(scalars, 14, ""), metadata},
		{"between managed fields in protobuf", protobuf(messages, 13, field(17, "")), metadata},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := allocated()
			err := tt.read(tt.obj)
			if large, ok := errors.AsType[*wire.TooLargeError](err); !ok || large.LimitValues == 0 {
				t.Errorf("error %v, want a TooLargeError with LimitValues", err)
			}
			if used := allocated() - before; used > 1<<20 {
				t.Errorf("rejecting the metadata allocated %d bytes", used)
			}
		})
	}
}

func labels(p wire.Packed) error      { _, err := p.Labels(); return err }
func annotations(p wire.Packed) error { _, err := p.Annotations(); return err }
func owners(p wire.Packed) error      { _, err := p.Owners(); return err }
func metadata(p wire.Packed) error    { _, err := p.Metadata(); return err }

// An object that fits into etcd, which takes 1.5 MiB, is legal, and so is what an API server accepts as JSON, 3 MiB.
func TestLegalObjectsOfManyValuesAreDecoded(t *testing.T) {
	const etcd, body = 3 << 19, 3 << 20
	array := func(size int, value string) []byte {
		const start, end = `{"spec":{"securityContext":{"supplementalGroups":[`, `]}}}`
		n := (size - len(start+value+end)) / (len(value) + 1)
		return []byte(start + value + strings.Repeat(","+value, n) + end)
	}
	for _, tt := range []struct {
		name string
		data []byte
		obj  core.Object
	}{
		{"numbers", array(body, "0"), &corev1.Pod{}},
		{"strings", array(etcd, `""`), &unstructured.Unstructured{}},
		{"empty objects", array(etcd, `{}`), &unstructured.Unstructured{}},
	} {
		if err := wire.NewPacked(wire.JSON, tt.data).Decode(tt.obj); err != nil {
			t.Errorf("Decode of %d bytes of %s = %v", len(tt.data), tt.name, err)
		}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: make([]string, body/2-100)}}}}
	packed, err := wire.Pack(pod, wire.Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	if err := packed.Decode(&corev1.Pod{}); err != nil {
		t.Errorf("Decode of %d bytes of arguments = %v", packed.Len(), err)
	}
	rules := []byte{0x12, 0xfa, 0xff, 0x5f} // field 2 of the policy is its spec, and field 2 of the spec its ingress
	rules = append(rules, strings.Repeat("\x12\x00", etcd/2-3)...)
	if err := wire.NewPacked(wire.Protobuf, rules).Decode(&networkingv1.NetworkPolicy{}); err != nil {
		t.Errorf("Decode of %d bytes of rules = %v", len(rules), err)
	}
}

func TestLargeObjectOfFewValuesIsDecoded(t *testing.T) {
	text := strings.Repeat(`,{"[\`, 1<<20)
	for encoding := range allEncodings() {
		packed, err := wire.Pack(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"a": text}, BinaryData: map[string][]byte{"b": make([]byte, 1<<20)},
		}, encoding)
		if err != nil {
			t.Fatal(err)
		}
		got := &corev1.ConfigMap{}
		if err := packed.Decode(got); err != nil || got.Data["a"] != text {
			t.Errorf("%s: Decode of %d bytes of text = %v", encoding, packed.Len(), err)
		}
	}
}

// endlessList is a list without an end.
type endlessList struct {
	start, item string
	rest        []byte
}

func (e *endlessList) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest, e.start = []byte(e.start+e.item), ""
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestSizeOfAListIsBounded(t *testing.T) {
	items := strings.Repeat(",{}", 1000)
	lists := map[wire.Encoding]*endlessList{
		wire.JSON:     {start: `{"kind":"PodList","items":[{}`, item: items},
		wire.Protobuf: {start: "k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\xff\xff\xff\xff\x7f", item: strings.Repeat("\x12\x00", 1000)},
	}
	for encoding, list := range lists {
		for _, tt := range []struct {
			name   string
			limits *wire.Limits
			want   wire.TooLargeError
		}{
			{"by its items", &wire.Limits{ListItems: 10_000}, wire.TooLargeError{What: "list", LimitItems: 10_000}},
			{"by its items, by default", nil, wire.TooLargeError{What: "list", LimitItems: 500_000}},
			{"by its bytes", &wire.Limits{ListBytes: 100_000}, wire.TooLargeError{What: "list", LimitBytes: 100_000}},
		} {
			t.Run(encoding.String()+"/"+tt.name, func(t *testing.T) {
				body := *list
				n := int64(0)
				_, err := wire.ReadList(&body, encoding.MediaType(), &wire.ReadOptions{Limits: tt.limits}, func(wire.Packed) error { n++; return nil })
				large, ok := errors.AsType[*wire.TooLargeError](err)
				if !ok || *large != tt.want {
					t.Fatalf("ReadList = %v, want %v", err, &tt.want)
				}
				if tt.want.LimitItems > 0 && n != tt.want.LimitItems {
					t.Errorf("ReadList yielded %d items, want %d", n, tt.want.LimitItems)
				}
			})
		}
	}
}

// TestLargestListIsRead checks that a list may have exactly the maximum of bytes and items, and not one byte more.
func TestLargestListIsRead(t *testing.T) {
	for encoding, body := range map[wire.Encoding]string{
		wire.JSON:     `{"kind":"PodList","items":[{},{}]}`,
		wire.Protobuf: "k8s\x00\x0a\x0d\x0a\x02v1\x12\x07PodList\x12\x04\x12\x00\x12\x00",
	} {
		read := func(most int64) error {
			o := &wire.ReadOptions{Limits: &wire.Limits{ListItems: 2, ListBytes: most}}
			each := func(wire.Packed) error { return nil }
			_, err := wire.ReadList(iotest.OneByteReader(strings.NewReader(body)), encoding.MediaType(), o, each)
			return err
		}
		size := int64(len(body))
		if err := read(size); err != nil {
			t.Errorf("%s: ReadList of %d bytes with a limit of %d = %v", encoding, size, size, err)
		}
		if large, ok := errors.AsType[*wire.TooLargeError](read(size - 1)); !ok || large.LimitBytes != size-1 {
			t.Errorf("%s: ReadList of %d bytes with a limit of %d = %v, want a TooLargeError", encoding, size, size-1, large)
		}
	}
}
