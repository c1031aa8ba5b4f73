// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/kube-go/sdk/kubetest/internal/builtin"
)

// builtinKinds returns the kinds that the server has and that have a Go type.
func builtinKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, group := range builtin.Groups() {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				gvk := schema.GroupVersionKind{Group: group.Name, Version: version.Version, Kind: r.ResponseKind.Kind}
				if _, ok := builtin.Model(gvk); ok && Known(gvk) {
					kinds = append(kinds, gvk)
				}
			}
		}
	}
	return kinds
}

// TestDecodedObjectsMatchTheirSchema decodes objects in which each field of the Go type is set. The managed fields of
// an object with a field that its schema does not have would be lost.
func TestDecodedObjectsMatchTheirSchema(t *testing.T) {
	types, err := managedfields.NewTypeConverter(builtin.Schemas(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, gvk := range builtinKinds() {
		obj, err := scheme().New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		fill(reflect.ValueOf(obj).Elem(), nil)
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := Decode(data, "application/json", gvk, true)
		if err != nil {
			t.Fatalf("%s: %v", gvk, err)
		}
		if _, err := types.ObjectToTyped(got); err != nil {
			t.Errorf("%s: the decoded object does not match its schema: %v", gvk, err)
		}
		empty, err := New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := types.ObjectToTyped(empty); err != nil {
			t.Errorf("%s: the empty object does not match its schema: %v", gvk, err)
		}
	}
}

// A newer version of a Go type has more fields than its schema. In this test, the type of another kind stands for it.
func TestFieldsOfNewerVersionsAreUnknown(t *testing.T) {
	newer := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"a": nil}}
	obj, unknown, err := plain(newer, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{`unknown field "type"`}; !slices.Equal(unknown, want) {
		t.Errorf("unknown fields = %q, want %q", unknown, want)
	}
	if _, ok := obj.Object["type"]; ok {
		t.Errorf("the object has the unknown field: %v", obj.Object)
	}
}

// fill sets all fields of a value. Lists and maps have one element. The types of its parents are not repeated.
func fill(v reflect.Value, parents []reflect.Type) {
	switch value := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*value = metav1.Unix(1, 0)
		return
	case *metav1.MicroTime:
		*value = metav1.NewMicroTime(time.Unix(1, 0))
		return
	case *resource.Quantity:
		*value = resource.MustParse("1")
		return
	case *intstr.IntOrString:
		*value = intstr.FromInt32(1)
		return
	case *runtime.RawExtension:
		value.Raw = []byte(`{"a":1}`)
		return
	case *metav1.FieldsV1:
		value.SetRawString(`{"f:a":{}}`)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !slices.Contains(parents, v.Type().Elem()) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), parents)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, append(slices.Clip(parents), v.Type()))
		}
	case reflect.Slice:
		if !slices.Contains(parents, v.Type().Elem()) {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), parents)
		}
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, parents)
		fill(element, parents)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Int:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	case reflect.Float64:
		v.SetFloat(1)
	}
}
