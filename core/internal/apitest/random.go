// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// Random returns an object of the kind with about half of its fields set, to values that depend only on seed.
func Random(k Kind, seed int64) Object {
	obj := k.New()
	f := randfill.NewWithSeed(seed).NilChance(0.5).NumElements(0, 3).MaxDepth(20).Funcs(
		func(v *metav1.TypeMeta, _ randfill.Continue) { *v = metav1.TypeMeta{} },
		func(v *metav1.FieldsV1, _ randfill.Continue) { v.SetRawString(`{"f:metadata":{"f:labels":{}}}`) },
		func(v *runtime.RawExtension, _ randfill.Continue) { v.Raw = []byte(`{"kind":"Any","n":[1,2.5]}`) },
		func(v *resource.Quantity, c randfill.Continue) {
			*v = *resource.NewMilliQuantity(c.Int63n(1e9), resource.DecimalSI)
		},
		func(v *metav1.Time, c randfill.Continue) { v.Time = time.Unix(c.Int63n(4e9), 0).UTC() },
		func(v *metav1.MicroTime, c randfill.Continue) { v.Time = time.UnixMicro(c.Int63n(4e15)).UTC() },
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString(c.String(9))
			}
		},
	)
	f.Fill(obj)
	return obj
}
