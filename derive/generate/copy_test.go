// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/derive/generate/testdata/beasts/v1"
	"github.com/kube-go/sdk/derive/generate/testdata/beasts/v1beta1"
	"github.com/kube-go/sdk/derive/generate/testdata/document"
	"github.com/kube-go/sdk/derive/generate/testdata/written"
	"github.com/kube-go/sdk/derive/generate/testdata/zoo"
)

// Generated kinds are what the SDK and the Kubernetes libraries take for kinds.
var (
	_ core.Describer = (*document.Document)(nil)
	_ core.Definer   = (*document.Document)(nil)
	_ runtime.Object = (*document.Document)(nil)
	_ runtime.Object = (*written.Book)(nil)
	_ runtime.Object = (*written.BookList)(nil)
)

func TestDeepCopiesAreEqualAndShareNothing(t *testing.T) {
	t.Run("document", func(t *testing.T) { copies[document.Document](t) })
	t.Run("zoo", func(t *testing.T) { copies[zoo.Zoo](t) })
	t.Run("written", func(t *testing.T) { copies[written.Book](t) })
	t.Run("list", func(t *testing.T) { copies[written.BookList](t) })
	t.Run("extra", func(t *testing.T) { copies[written.Extra](t) })
	t.Run("v1", func(t *testing.T) { copies[v1.Beast](t) })
	t.Run("v1beta1", func(t *testing.T) { copies[v1beta1.Beast](t) })
}

// copies checks the deep copy of random values.
func copies[T any, P interface {
	*T
	DeepCopy() *T
	DeepCopyInto(*T)
}](t *testing.T) {
	t.Helper()
	if P(nil).DeepCopy() != nil {
		t.Error("DeepCopy of nil is not nil")
	}
	for seed := range uint64(200) {
		r := &randomizer{rand.New(rand.NewPCG(seed, 0))}
		in := new(T)
		r.fill(reflect.ValueOf(in).Elem(), 0)
		out := P(in).DeepCopy()
		if !reflect.DeepEqual(in, out) {
			t.Fatalf("seed %d: DeepCopy differs (-in +out):\n%s", seed, cmp.Diff(encoded(t, in), encoded(t, out)))
		}
		if path := shared(reflect.ValueOf(in).Elem(), reflect.ValueOf(out).Elem(), "in"); path != "" {
			t.Fatalf("seed %d: %s is shared with the copy", seed, path)
		}
	}
}

// encoded writes a value so that differences can be read.
func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// randomizer makes random values.
type randomizer struct{ *rand.Rand }

// fill sets a value to something: nil, empty and full each have their turn.
func (r *randomizer) fill(v reflect.Value, depth int) {
	if !v.CanSet() {
		return
	}
	switch v.Addr().Interface().(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(1e9), 0)))
		return
	case *resource.Quantity:
		v.Set(reflect.ValueOf(*resource.NewQuantity(r.Int64N(1e9), resource.BinarySI)))
		return
	}
	n := 0
	if depth < 12 {
		n = r.IntN(4) - 1 // -1: nil
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n > 0)
	case reflect.String:
		v.SetString(fmt.Sprint("s", r.IntN(100)))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64N(100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Struct:
		for _, field := range v.Fields() {
			r.fill(field, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i), depth+1)
		}
	case reflect.Pointer:
		if n > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			r.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n+1))
			for i := range n {
				r.fill(v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				r.fill(key, depth+1)
				r.fill(elem, depth+1)
				v.SetMapIndex(key, elem)
			}
		}
	}
}

// shared returns the path of the first thing that two values both refer to, or "".
func shared(a, b reflect.Value, path string) string {
	if a.Type() == reflect.TypeFor[time.Time]() { // its location is shared by all
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if a.IsNil() || a.Kind() == reflect.Slice && a.Cap() == 0 {
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return path
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(a.Elem(), b.Elem(), "*"+path)
	case reflect.Struct:
		for i := range a.NumField() {
			if p := shared(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); p != "" {
				return p
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range a.Len() {
			if p := shared(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i)); p != "" {
				return p
			}
		}
	case reflect.Map:
		for _, key := range a.MapKeys() {
			if p := shared(a.MapIndex(key), b.MapIndex(key), fmt.Sprintf("%s[%v]", path, key)); p != "" {
				return p
			}
		}
	}
	return ""
}

func TestDeepCopyObjectOfNilIsNil(t *testing.T) {
	if got := (*document.Document)(nil).DeepCopyObject(); got != nil {
		t.Errorf("DeepCopyObject of nil = %#v, want an interface that is nil", got)
	}
	if got := (&document.Document{Spec: document.DocumentSpec{Title: "T"}}).DeepCopyObject(); got.(*document.Document).Spec.Title != "T" {
		t.Errorf("DeepCopyObject = %#v, want a copy", got)
	}
}

func TestConstructorAndDescriptorAgree(t *testing.T) {
	doc := document.NewDocument("prod", "web", document.DocumentSpec{Title: "T"})
	if doc.Namespace != "prod" || doc.Name != "web" || doc.Spec.Title != "T" {
		t.Errorf("NewDocument = %+v", doc)
	}
	res, err := core.ResourceOf[document.Document]()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := doc.GroupVersionKind(), res.GroupVersionKind(); got != want {
		t.Errorf("NewDocument makes a %v, KubeResource says %v", got, want)
	}
}
