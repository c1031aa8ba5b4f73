// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"encoding/json"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/core/internal/protobuf"
)

// realPod returns a pod as a server sends it, with two containers and managedFields, and its message.
func realPod(t testing.TB) (*corev1.Pod, []byte) {
	t.Helper()
	data, err := os.ReadFile("../../wire/testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	pod := new(corev1.Pod)
	if err := json.Unmarshal(data, pod); err != nil {
		t.Fatal(err)
	}
	msg, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return pod, msg
}

func BenchmarkUnmarshal(b *testing.B) {
	_, msg := realPod(b)
	bench(b, len(msg), "ours", func() error { return protobuf.Unmarshal(msg, new(corev1.Pod)) })
	bench(b, len(msg), "generated", func() error { return new(corev1.Pod).Unmarshal(msg) })
}

func BenchmarkAppend(b *testing.B) {
	pod, msg := realPod(b)
	bench(b, len(msg), "ours", func() error { _, err := protobuf.Append(nil, pod); return err })
	bench(b, len(msg), "generated", func() error { _, err := pod.Marshal(); return err })
}

func bench(b *testing.B, size int, name string, f func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		if err := f(); err != nil { // excludes one-time work from the measurement
			b.Fatal(err)
		}
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
