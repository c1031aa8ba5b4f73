// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package protobuf_test

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/internal/protobuf"
)

// generated is the interface of generated protobuf code.
type generated interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// generatedTypes returns the structs with generated code that are part of the kinds of k8s.io/api, ordered by name.
func generatedTypes(t testing.TB) []reflect.Type {
	t.Helper()
	seen := map[reflect.Type]bool{
		// These types are used as fields only.
		reflect.TypeFor[metav1.FieldsV1]():   false,
		reflect.TypeFor[metav1.Time]():       false,
		reflect.TypeFor[metav1.MicroTime]():  false,
		reflect.TypeFor[resource.Quantity](): false,
	}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			if _, ok := seen[typ]; ok || !reflect.PointerTo(typ).Implements(reflect.TypeFor[generated]()) {
				return
			}
			seen[typ] = true
			for i := range typ.NumField() {
				visit(typ.Field(i).Type)
			}
		}
	}
	for _, k := range apitest.Kinds(t) {
		visit(k.Type)
	}
	for _, v := range []any{ // types that are not objects
		admissionv1.AdmissionReview{},
		apidiscoveryv2.APIGroupDiscoveryList{},
		corev1.PodList{},
		corev1.PodLogOptions{},
		corev1.List{},
		metav1.APIGroupList{},
		metav1.APIResourceList{},
		metav1.DeleteOptions{},
		metav1.ListOptions{},
		metav1.PartialObjectMetadataList{},
		metav1.Status{},
		metav1.WatchEvent{},
		metav1.Timestamp{},
		runtime.Unknown{},
	} {
		visit(reflect.TypeOf(v))
	}
	var types []reflect.Type
	for typ, ok := range seen {
		if ok {
			types = append(types, typ)
		}
	}
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return cmp.Or(cmp.Compare(a.PkgPath(), b.PkgPath()), cmp.Compare(a.Name(), b.Name()))
	})
	if len(types) < 1000 {
		t.Fatalf("only %d types found", len(types))
	}
	return types
}

// fill sets fields of obj to random values that depend on seed, including zero, empty slices and negative numbers.
func fill(obj any, seed int64) {
	f := randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(20).Funcs(
		func(v *metav1.FieldsV1, c randfill.Continue) { v.SetRawString(c.String(3)) },
		func(v *runtime.RawExtension, c randfill.Continue) { c.Fill(&v.Raw) },
		func(v *resource.Quantity, c randfill.Continue) {
			format := []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}[c.Intn(3)]
			switch c.Intn(4) {
			case 0:
				*v = *resource.NewMilliQuantity(c.Int63n(1e9)-5e8, format)
			case 1:
				*v = resource.MustParse("1000m") // a quantity caches its string unchanged
			case 2:
				*v = *resource.NewQuantity(c.Int63(), format)
			}
		},
		func(v *metav1.Time, c randfill.Continue) {
			if c.Bool() {
				v.Time = time.Unix(c.Int63n(4e9)-1e9, c.Int63n(1e9))
			}
		},
		func(v *metav1.MicroTime, c randfill.Continue) {
			if c.Bool() {
				v.Time = time.Unix(c.Int63n(4e9)-1e9, c.Int63n(1e9))
			}
		},
	)
	f.Fill(obj)
}

func TestEveryTypeIsEncodedLikeTheGeneratedCode(t *testing.T) {
	for _, typ := range generatedTypes(t) {
		for seed := range int64(8) {
			obj := reflect.New(typ).Interface()
			if seed > 0 { // otherwise the zero value
				fill(obj, seed)
			}
			got, err := protobuf.Append([]byte("before"), obj)
			if err != nil {
				t.Errorf("%v: Append: %v", typ, err)
				break
			}
			want, err := obj.(generated).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := bytes.CutPrefix(got, []byte("before")); !ok || !bytes.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%v seed %d: Append = …%.40q from byte %d, want …%.40q", typ, seed, got[i:], i, want[i:])
				break
			}
			compareUnmarshal(t, typ, want)
		}
	}
}

// compareUnmarshal decodes data with this package and with generated code, and compares the results.
func compareUnmarshal(t *testing.T, typ reflect.Type, data []byte) {
	t.Helper()
	want, got := reflect.New(typ).Interface(), reflect.New(typ).Interface()
	if err := want.(generated).Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if err := protobuf.Unmarshal(data, got); err != nil {
		t.Errorf("Unmarshal: %v", err)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("%v (-generated +ours):\n%s", typ, gocmp.Diff(want, got))
	}
}

func TestMessagesOfEarlierVersionsAreDecodedLikeTheGeneratedCode(t *testing.T) {
	for _, g := range apitest.Goldens(t) {
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(bytes.TrimPrefix(g.Protobuf, []byte("k8s\x00"))); err != nil {
			t.Fatal(err)
		}
		compareUnmarshal(t, g.Kind.Type, envelope.Raw)
	}
}

func TestUnmarshalAddsToExistingValuesLikeTheGeneratedCode(t *testing.T) {
	for seed := range int64(200) {
		first, second := new(corev1.Pod), new(corev1.Pod)
		fill(first, seed)
		fill(second, -seed)
		data, err := second.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		want := first.DeepCopy()
		if err := want.Unmarshal(data); err != nil {
			t.Fatal(err)
		}
		if err := protobuf.Unmarshal(data, first); err != nil {
			t.Errorf("Unmarshal: %v", err)
		} else if !reflect.DeepEqual(first, want) {
			t.Errorf("seed %d (-generated +ours):\n%s", seed, gocmp.Diff(want, first))
		}
	}
}
