// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KeepTimes gives obj, which replaces live, the managed fields of live if they and the objects differ only in the times
// of the managed fields. Thus a request that changes nothing keeps the resource version. The server does this last,
// before it compares the objects.
func KeepTimes(live, obj *unstructured.Unstructured) {
	before, after := live.GetManagedFields(), obj.GetManagedFields()
	if len(before) == 0 || !equality.Semantic.DeepEqual(withoutTimes(before), withoutTimes(after)) {
		return
	}
	kept := obj.DeepCopy()
	kept.SetManagedFields(before)
	if equality.Semantic.DeepEqual(live.Object, kept.Object) {
		obj.SetManagedFields(before)
	}
}

func withoutTimes(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	result := make([]metav1.ManagedFieldsEntry, len(entries))
	for i, entry := range entries {
		entry.Time = nil
		result[i] = entry
	}
	return result
}
