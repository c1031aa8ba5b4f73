// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

// Command print compares random values with their copies, and reports whether they share memory.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/copies"
)

func main() {
	try("Root", func(v *copies.Root) any { return v.DeepCopy() })
	try("RootList", func(v *copies.RootList) any { return v.DeepCopyObject() })
	try("Labels", func(v *copies.Labels) any { c := v.DeepCopy(); return &c })
	try("Names", func(v *copies.Names) any { c := v.DeepCopy(); return &c })
	try("Node", func(v *copies.Node) any { return v.DeepCopy() })
	try("Half", func(v *copies.Half) any { return v.DeepCopy() })
	try("Other", func(v *copies.Other) any { var c copies.Other; v.DeepCopyInto(&c); return &c })
	var root *copies.Root
	var labels copies.Labels
	fmt.Println(root.DeepCopy() == nil, root.DeepCopyObject() == nil, labels.DeepCopy() == nil, copies.Names(nil).DeepCopy() == nil)
}

// try prints the result of copying random values.
func try[T any](name string, copied func(*T) any) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		v := new(T)
		fill(r, reflect.ValueOf(v).Elem(), 0)
		c := copied(v)
		before, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		change(reflect.ValueOf(c).Elem())
		after, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		_, isObject := c.(runtime.Object)
		fmt.Println(name, seed, len(before), string(before) == string(after), reflect.DeepEqual(copied(v), v), isObject)
	}
}

// fill sets a value to a random one: nil, empty or full.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	if !v.CanSet() {
		return
	}
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Unix(r.Int64N(1e9), 0)
		return
	case *resource.Quantity:
		*x = *resource.NewQuantity(r.Int64N(1e9), resource.BinarySI)
		return
	case *intstr.IntOrString:
		*x = intstr.FromInt32(r.Int32N(100))
		return
	case *metav1.FieldsV1:
		x.Raw = []byte(`{"a":1}`)
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":1}`)
		return
	}
	n := 0
	if depth < 9 {
		n = r.IntN(4) - 1 // -1: nil
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n > 0)
	case reflect.String:
		v.SetString(fmt.Sprint("s", r.IntN(100)))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(100))
	case reflect.Uint8:
		v.SetUint(r.Uint64N(100))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Pointer:
		if n > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, depth+1)
				fill(r, elem, depth+1)
				v.SetMapIndex(key, elem)
			}
		}
	}
}

// change changes everything that a value refers to. Values that it shares with another value change there, too.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			change(v.Elem())
		}
	case reflect.String:
		if v.CanSet() && v.Type() != reflect.TypeFor[resource.Format]() {
			v.SetString("changed")
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			change(v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			change(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			change(v.MapIndex(key))
			if v.CanInterface() && v.Type().Elem().Kind() != reflect.Interface {
				v.SetMapIndex(key, reflect.Zero(v.Type().Elem()))
			}
		}
	}
}
