// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package fsm

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/controller"
	"github.com/kube-go/sdk/runtime/internal/fakeapi"
)

// BenchmarkSteadyPass reports the cost of a pass of a durable machine that changes nothing, and of a plain reconcile
// that has the same conditions. Both decode the object first, as a controller does.
func BenchmarkSteadyPass(b *testing.B) {
	res, err := core.ResourceOf[animal]()
	if err != nil {
		b.Fatal(err)
	}
	server := fakeapi.New(res)
	m := New[animal](server.Client(), "example.com/animal", &Options{Durable: true}) // since work has the method Verify
	Add(m, start{})
	Add(m, work{})
	Add(m, rest{})
	Add(m, end{})
	obj := &animal{ObjectMeta: metav1.ObjectMeta{Namespace: "meadow", Name: "ox", UID: "1", Generation: 1}}
	server.Put(res, obj)
	if _, err := m.Reconcile(b.Context(), obj); err != nil {
		b.Fatal(err)
	}
	packed, err := wire.Pack(obj, wire.JSON)
	if err != nil {
		b.Fatal(err)
	}
	read := func() *animal {
		obj := new(animal)
		if err := packed.Decode(obj); err != nil {
			b.Fatal(err)
		}
		return obj
	}
	b.Run("machine", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.Reconcile(b.Context(), read()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			obj := read()
			before := obj.Status.DeepCopy()
			now := time.Now()
			for _, c := range obj.Status.Conditions {
				c.LastTransitionTime = metav1.NewTime(now)
				meta.SetStatusCondition(&obj.Status.Conditions, c)
			}
			if !reflect.DeepEqual(before, &obj.Status.Status) {
				b.Fatal("the status has changed")
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read()
		}
	})
}

// BenchmarkPut reports the cost of a position for a pass, with 100,000 objects.
func BenchmarkPut(b *testing.B) {
	const objects = 100_000
	p, keys := newPositions(func(controller.Key) {}, func() {}), make([]controller.Key, objects)
	for i := range keys {
		keys[i] = controller.Key{Ref: core.ObjectRef{Namespace: "meadow", Name: "animal-" + strconv.Itoa(i)}}
		p.put(keys[i], entry{})
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p.put(keys[i%objects], entry{state: 1, how: stays, reason: "waiting for replicas"})
		i++
	}
}
