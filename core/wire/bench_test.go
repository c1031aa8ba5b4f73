// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// podJSON returns a pod as sent by a server: two containers, managedFields, 5.4 KB.
func podJSON(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(data)
}

// podProtobuf returns the same pod as a protobuf message without an envelope.
func podProtobuf(t testing.TB) []byte {
	t.Helper()
	pod := new(corev1.Pod)
	if err := json.Unmarshal(podJSON(t), pod); err != nil {
		t.Fatal(err)
	}
	data, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func BenchmarkDecodeTypedJSON(b *testing.B) {
	data := podJSON(b)
	b.Run("wire", func(b *testing.B) {
		p := wire.NewPacked(wire.JSON, data)
		bench(b, data, func() error { return p.Decode(new(corev1.Pod)) })
	})
	b.Run("encoding-json", func(b *testing.B) {
		bench(b, data, func() error { return json.Unmarshal(data, new(corev1.Pod)) })
	})
	b.Run("apimachinery", func(b *testing.B) {
		scheme := runtime.NewScheme()
		if err := corev1.AddToScheme(scheme); err != nil {
			b.Fatal(err)
		}
		s := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{})
		bench(b, data, func() error { _, _, err := s.Decode(data, nil, nil); return err })
	})
}

func BenchmarkDecodeUnstructured(b *testing.B) {
	data := podJSON(b)
	b.Run("wire", func(b *testing.B) {
		p := wire.NewPacked(wire.JSON, data)
		bench(b, data, func() error { return p.Decode(new(unstructured.Unstructured)) })
	})
	b.Run("apimachinery", func(b *testing.B) {
		bench(b, data, func() error { _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil); return err })
	})
}

// BenchmarkDecodeUnstructuredList reports the cost of an item when a dynamic client decodes a list of 200 pods.
func BenchmarkDecodeUnstructuredList(b *testing.B) {
	const items = 200
	body := listBody(b, wire.JSON, items)
	perItem := func(b *testing.B, f func() error) {
		b.Helper()
		bench(b, body, f)
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
	}
	b.Run("wire", func(b *testing.B) {
		perItem(b, func() error {
			var list []*unstructured.Unstructured
			_, err := wire.ReadList(bytes.NewReader(body), "", nil, func(p wire.Packed) error {
				u := new(unstructured.Unstructured)
				list = append(list, u)
				return p.Decode(u)
			})
			return err
		})
	})
	b.Run("apimachinery", func(b *testing.B) {
		withKinds := bytes.ReplaceAll(body, []byte(`{"metadata":{"name":"web`), []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web`))
		perItem(b, func() error { _, _, err := unstructured.UnstructuredJSONScheme.Decode(withKinds, nil, nil); return err })
	})
}

func BenchmarkDecodeProtobuf(b *testing.B) {
	data := podProtobuf(b)
	b.Run("wire", func(b *testing.B) {
		p := wire.NewPacked(wire.Protobuf, data)
		bench(b, data, func() error { return p.Decode(new(corev1.Pod)) })
	})
	b.Run("generated", func(b *testing.B) {
		bench(b, data, func() error { return unmarshal(new(corev1.Pod), data) })
	})
}

// unmarshal calls the generated code. The result is on the heap, as in programs.
//
//go:noinline
func unmarshal(obj generated, data []byte) error { return obj.Unmarshal(data) }

func BenchmarkEncode(b *testing.B) {
	pod := new(corev1.Pod)
	if err := json.Unmarshal(podJSON(b), pod); err != nil {
		b.Fatal(err)
	}
	res := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	b.Run("json", func(b *testing.B) {
		bench(b, nil, func() error { _, err := wire.Marshal(pod, res, wire.JSON); return err })
	})
	b.Run("encoding-json", func(b *testing.B) {
		bench(b, nil, func() error { _, err := json.Marshal(pod); return err })
	})
	b.Run("protobuf", func(b *testing.B) {
		bench(b, nil, func() error { _, err := wire.Marshal(pod, res, wire.Protobuf); return err })
	})
	b.Run("generated", func(b *testing.B) {
		bench(b, nil, func() error { _, err := pod.Marshal(); return err })
	})
}

func BenchmarkPacked(b *testing.B) {
	for _, p := range []wire.Packed{
		wire.NewPacked(wire.JSON, podJSON(b)),
		wire.NewPacked(wire.Protobuf, podProtobuf(b)),
	} {
		b.Run("Head/"+p.Encoding().String(), func(b *testing.B) {
			bench(b, p.Bytes(), func() error { _, err := p.Head(); return err })
		})
		b.Run("Metadata/"+p.Encoding().String(), func(b *testing.B) {
			bench(b, p.Bytes(), func() error { _, err := p.Metadata(); return err })
		})
		b.Run("Compact/"+p.Encoding().String(), func(b *testing.B) {
			bench(b, p.Bytes(), func() error { _, err := p.Compact(); return err })
			compact, _ := p.Compact()
			b.ReportMetric(float64(compact.Len()), "packed-bytes")
		})
	}
}

// BenchmarkReadList reports the cost of an item in a list of a thousand pods, also if their group has a dot, as that of
// a custom resource.
func BenchmarkReadList(b *testing.B) {
	const items = 1000
	read := func(name string, encoding wire.Encoding, body []byte, o *wire.ReadOptions) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)) / items)
			b.ReportAllocs()
			for b.Loop() {
				_, err := wire.ReadList(bytes.NewReader(body), encoding.MediaType(), o, func(wire.Packed) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
		})
	}
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		read(encoding.String(), encoding, listBody(b, encoding, items), nil)
	}
	grouped := bytes.Replace(listBody(b, wire.JSON, items), []byte(`:"v1"`), []byte(`:"pods.k8s.io/v1"`), 1)
	grouped = bytes.ReplaceAll(grouped, []byte(`"kind":"Pod","apiVersion":"v1",`), nil)
	read("json-grouped", wire.JSON, grouped, &wire.ReadOptions{Kind: kindOf("pods.k8s.io/v1", "Pod")})
}

func listBody(t testing.TB, encoding wire.Encoding, items int) []byte {
	t.Helper()
	pod := new(corev1.Pod)
	if err := json.Unmarshal(podJSON(t), pod); err != nil {
		t.Fatal(err)
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	for range items {
		list.Items = append(list.Items, *pod)
	}
	body, err := encodeList(list, encoding)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func bench(b *testing.B, data []byte, f func() error) {
	b.Helper()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDocumentsOfAList reports the time per item, which does not depend on the length of the list.
func BenchmarkDocumentsOfAList(b *testing.B) {
	for _, items := range []int{1_000, 10_000, 100_000} {
		b.Run(strconv.Itoa(items), func(b *testing.B) {
			text := `{"apiVersion":"v1","kind":"ConfigMapList","items":[{}` + strings.Repeat(",\n{}", items-1) + `]}`
			for b.Loop() {
				for _, err := range wire.Documents(strings.NewReader(text), nil) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
		})
	}
}
