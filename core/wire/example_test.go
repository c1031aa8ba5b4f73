// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func ExampleReadList() {
	body := strings.NewReader(`{"kind":"PodList","metadata":{"resourceVersion":"7"},
		"items":[{"metadata":{"name":"web-0"}},{"metadata":{"name":"web-1"}}]}`)
	meta, err := wire.ReadList(body, "application/json", nil, func(item wire.Packed) error {
		pod := new(corev1.Pod)
		if err := item.Decode(pod); err != nil {
			return err
		}
		fmt.Println(pod.Name)
		return nil
	})
	fmt.Println(meta.ResourceVersion, err)
	// Output:
	// web-0
	// web-1
	// 7 <nil>
}

func ExampleEvents() {
	body := strings.NewReader(`{"type":"ADDED","object":{"metadata":{"name":"web-0","resourceVersion":"7"}}}
{"type":"ERROR","object":{"kind":"Status","reason":"Expired","code":410,"message":"too old resource version"}}
`)
	for ev, err := range wire.Events(body, "application/json", nil) {
		if errors.Is(err, core.ErrExpired) {
			fmt.Println("list again:", err)
			return
		}
		head, err := ev.Object.Head()
		fmt.Println(ev.Type, head.Ref, head.ResourceVersion, err)
	}
	// Output:
	// ADDED web-0 7 <nil>
	// list again: expired: server said: too old resource version
}

// A cache keeps compact objects and decodes them on demand.
func ExamplePacked_Compact() {
	fromServer := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"web-0","managedFields":[{"manager":"kubelet"}]}}`))
	kept, err := fromServer.Compact()
	fmt.Println(string(kept.Bytes()), err)

	meta, err := kept.Metadata()
	fmt.Println(meta.Name, err)
	// Output:
	// {"metadata":{"name":"web-0"}} <nil>
	// web-0 <nil>
}

func ExampleMarshal() {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}}
	res := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods", Namespaced: true}
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		body, err := wire.Marshal(pod, res, encoding)
		if err != nil {
			fmt.Println(err)
			return
		}
		back := new(corev1.Pod)
		err = wire.Unmarshal(body, encoding.MediaType(), back)
		fmt.Println(encoding, back.Kind, back.Name, err)
	}
	// Output:
	// json Pod web-0 <nil>
	// protobuf Pod web-0 <nil>
}

func ExampleUnmarshal_anyKind() {
	body := []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}`)
	obj := new(unstructured.Unstructured)
	if err := wire.Unmarshal(body, "application/json", obj); err != nil {
		fmt.Println(err)
		return
	}
	size, _, err := unstructured.NestedInt64(obj.Object, "spec", "size")
	fmt.Println(obj.GetKind(), obj.GetName(), size, err)
	// Output: Widget w 3 <nil>
}

func ExampleMarshalApply() {
	desired := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"tier": "1"}}}
	body, err := wire.MarshalApply(desired, core.Resource{Version: "v1", Kind: "Namespace", Plural: "namespaces"}, nil)
	fmt.Println(string(body), err)
	// Output: {"kind":"Namespace","apiVersion":"v1","metadata":{"name":"prod","labels":{"tier":"1"}}} <nil>
}

// Documents reads a file for kubectl apply, object by object.
func ExampleDocuments() {
	file := strings.NewReader(`# both in one file
apiVersion: v1
kind: Namespace
metadata: {name: prod}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicsa: 3
`)
	for doc, err := range wire.Documents(file, nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		obj := new(unstructured.Unstructured)
		err := doc.Decode(obj)
		fmt.Println(doc.Kind.Kind, obj.GetName(), err)
		if doc.Kind.Kind == "Deployment" {
			fmt.Println(doc.DecodeStrict(new(appsv1.Deployment)))
		}
	}
	// Output:
	// Namespace prod <nil>
	// Deployment web <nil>
	// document 2, line 11: line 11: spec.replicsa: unknown field
}

func ExampleUnmarshalStrict() {
	body := []byte(`{"kind":"Pod","metadata":{"name":"web","name":"web-0"},"spec":{"NodeName":"n1","volumez":[]}}`)
	pod := new(corev1.Pod)
	err := wire.UnmarshalStrict(body, "application/json", pod)
	if strict, ok := errors.AsType[*wire.StrictError](err); ok {
		for _, problem := range strict.Problems {
			fmt.Println(problem)
		}
	}
	fmt.Println(pod.Name)
	// Output:
	// metadata.name: duplicate field
	// spec.NodeName: miscased field, want nodeName
	// spec.volumez: unknown field
	// web-0
}

// An invalid item does not affect the others.
func ExamplePacked_ItemError() {
	body := strings.NewReader(`{"kind":"PodList","items":[{"metadata":{"name":"good"}},
		{"metadata":{"name":"bad","namespace":"prod","resourceVersion":"7"},"spec":{"priority":"high"}}]}`)
	_, err := wire.ReadList(body, "application/json", nil, func(item wire.Packed) error {
		pod := new(corev1.Pod)
		if err := item.Decode(pod); err != nil {
			bad := item.ItemError(err)
			fmt.Println(bad, "at version", bad.Head.ResourceVersion)
			return nil
		}
		fmt.Println(pod.Name)
		return nil
	})
	fmt.Println(err)
	// Output:
	// good
	// prod/bad: decode json: spec.priority: want an int32, not a string at version 7
	// <nil>
}

func ExamplePacked_Labels() {
	item := wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"web-0","labels":{"app":"web"}},"spec":{}}`))
	labels, err := item.Labels()
	fmt.Println(labels, err)
	// Output: map[app:web] <nil>
}
