// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/kube"
	"github.com/kube-go/sdk/kubetest"
	"github.com/kube-go/sdk/kubetest/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, kubetest.Start(t, nil).Client(nil))
}

func TestControllersConform(t *testing.T) {
	conformance.RunControllers(t, kubetest.Start(t, nil).Client(nil))
}

func TestSmoke(t *testing.T) {
	c := kubetest.Start(t, nil).Client(nil)
	api := kube.Namespaced[corev1.ConfigMap](c, "default")
	cm, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"x": "y"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", cm)
}
