// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// complete sets what the server sets in new objects of some built-in kinds.
func complete(gr schema.GroupResource, obj *unstructured.Unstructured) {
	switch gr {
	case namespaces():
		setNested(obj, []any{"kubernetes"}, "spec", "finalizers")
		setNested(obj, "Active", "status", "phase")
		labels := obj.GetLabels()
		if labels == nil {
			labels = make(map[string]string)
		}
		labels["kubernetes.io/metadata.name"] = obj.GetName()
		obj.SetLabels(labels)
	case schema.GroupResource{Resource: "secrets"}:
		moveStringData(obj)
		setMissing(obj, "Opaque", "type")
	case pods():
		setMissing(obj, "Pending", "status", "phase")
		setMissing(obj, "default", "spec", "serviceAccountName") // as an admission plugin does
	}
}

// moveStringData moves the write-only stringData of a Secret to its data.
func moveStringData(obj *unstructured.Unstructured) {
	plain, _, _ := unstructured.NestedStringMap(obj.Object, "stringData")
	delete(obj.Object, "stringData")
	for name, text := range plain {
		setNested(obj, base64.StdEncoding.EncodeToString([]byte(text)), "data", name)
	}
}

func setMissing(obj *unstructured.Unstructured, value any, path ...string) {
	if got, ok, _ := unstructured.NestedFieldNoCopy(obj.Object, path...); !ok || got == "" {
		setNested(obj, value, path...)
	}
}

// setNested sets a field. Its parents are objects, since the object has passed through its Go type.
func setNested(obj *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
		panic(err)
	}
}
