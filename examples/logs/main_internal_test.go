// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAMisspelledContainerIsAnError(t *testing.T) {
	pod := new(corev1.Pod)
	pod.Name = "web-0"
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	pod.Spec.Containers = []corev1.Container{{Name: "web"}}
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{
		{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}},
	}
	for name, want := range map[string]string{
		"":      "<nil>",
		"init":  "<nil>",
		"web":   "<nil>",
		"debug": "<nil>",
		"wbe":   "pod web-0 has no container wbe: it has init, web, debug",
	} {
		if got := fmt.Sprint(checkContainer(pod, name)); got != want {
			t.Errorf("checkContainer(%q) = %s, want %s", name, got, want)
		}
	}
}
