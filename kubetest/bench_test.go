// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
)

// BenchmarkStart starts a server with an object, and creates another one. The first server of a program, which decodes
// the schemas of the built-in kinds, is not measured.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := kubetest.Start(b, &kubetest.Options{Objects: []kube.Object{configMap("a")}}).Client(nil)
		if _, err := kube.Namespaced[corev1.ConfigMap](c, "shop").Create(b.Context(), configMap("b"), nil); err != nil {
			b.Fatal(err)
		}
	}
}
