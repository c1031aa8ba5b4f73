// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/patch"
)

func pods() (before, after *corev1.Pod) {
	before = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
	}
	after = before.DeepCopy()
	after.Labels = map[string]string{"checked": "yes"}
	return before, after
}

func ExampleDiffMerge() {
	before, after := pods()
	diff, err := patch.DiffMerge(before, after, &patch.Options{Lock: true})
	fmt.Println(diff, err)
	// Output: map[metadata:map[labels:map[checked:yes] resourceVersion:7]] <nil>
}

func ExampleDiffJSON() {
	before, after := pods()
	after.Spec.Containers[0].Image = "web:2"
	ops, err := patch.DiffJSON(before, after, nil)
	for _, op := range ops {
		fmt.Println(op.Op, op.Path, op.Value)
	}
	fmt.Println(err)
	// Output:
	// add /metadata/labels map[checked:yes]
	// replace /spec/containers/0/image web:2
	// <nil>
}
