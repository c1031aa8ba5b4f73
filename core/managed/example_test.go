// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/managed"
)

// stored returns an object as a server returns it.
func stored(operation metav1.ManagedFieldsOperationType) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", ResourceVersion: "7", Labels: map[string]string{"team": "a"},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "web-controller", Operation: operation, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:color":{}}}`),
			}},
		},
		Data: map[string]string{"color": "red", "size": "big"},
	}
}

func ExampleExtract() {
	mine, err := managed.Extract(stored(metav1.ManagedFieldsOperationApply), "web-controller", nil)
	fmt.Println(mine.Name, mine.Data, mine.Labels, err) // what to change and apply again
	// Output: web map[color:red] map[] <nil>
}

func ExampleOwners() {
	owners, err := managed.Owners(stored(metav1.ManagedFieldsOperationApply), ".data.color")
	for _, owner := range owners {
		fmt.Println(owner.Manager, owner.Operation)
	}
	fmt.Println(err)
	// Output:
	// web-controller Apply
	// <nil>
}

func ExampleConflicts() {
	err := conflict(metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "scaler"`,
	})
	for _, c := range managed.Conflicts(err) {
		fmt.Println(c)
	}
	// Output: .spec.replicas is owned by "scaler"
}

func ExampleMigrate() {
	ops, err := managed.Migrate(stored(metav1.ManagedFieldsOperationUpdate), []string{"web-controller"}, "web-controller", nil)
	for _, op := range ops {
		fmt.Println(op.Op, op.Path)
	}
	fmt.Println(err)
	// Output:
	// replace /metadata/resourceVersion
	// replace /metadata/managedFields
	// <nil>
}
