// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package evolution_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/derive/evolution"
)

// document returns a definition with a maximum length of titles.
func document(maxLength int64) *unstructured.Unstructured {
	title := map[string]any{"type": "string", "maxLength": maxLength}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "documents.docs.example.com"},
		"spec": map[string]any{
			"group": "docs.example.com",
			"scope": "Namespaced",
			"names": map[string]any{"kind": "Document", "plural": "documents"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{"title": title},
				}},
			}},
		},
	}}
}

func ExampleCompare() {
	changes, err := evolution.Compare(document(80), document(40))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range changes {
		fmt.Println(c)
	}
	// Output:
	// breaking documents.docs.example.com/v1.title:maxLength: 80 → 40: writes with invalid values are rejected; an invalid stored value is accepted until it changes
}

func ExampleCompareAll() {
	changes, err := evolution.CompareAll([]*unstructured.Unstructured{document(80)}, nil)
	fmt.Println(changes, err)
	// Output:
	// [breaking documents.docs.example.com:definition: removed: "documents.docs.example.com": if the definition is deleted, the server deletes all objects of the kind] <nil>
}

func ExampleAccept() {
	changes, err := evolution.Compare(document(80), document(40))
	if err != nil {
		fmt.Println(err)
		return
	}
	rest, err := evolution.Accept(changes, "*.title:maxLength")
	fmt.Println(len(rest), err)
	// Output:
	// 0 <nil>
}
