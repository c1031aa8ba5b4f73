// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/derive/generate"
	"github.com/kube-go/sdk/derive/internal/reflected"
	"github.com/kube-go/sdk/derive/internal/structural"
)

// typeMaker makes types of structs, lists, maps and pointers that no source has.
type typeMaker struct{ *rand.Rand }

func (r typeMaker) structType(depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range 1 + r.IntN(5) {
		t := r.typ(depth)
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i),
			Type: t,
			Tag:  reflect.StructTag(fmt.Sprintf(`json:"f%d%s"%s`, i, r.options(t), r.schemaTag(t))),
		})
	}
	return reflect.StructOf(fields)
}

func (r typeMaker) typ(depth int) reflect.Type {
	if depth > 0 {
		switch r.IntN(10) {
		case 0, 1:
			return r.structType(depth - 1)
		case 2:
			return reflect.SliceOf(r.typ(depth - 1))
		case 3:
			return reflect.MapOf(pick(r.Rand, reflect.TypeFor[string](), reflect.TypeFor[netip.Addr]()), r.typ(depth-1))
		case 4:
			return reflect.PointerTo(r.typ(depth - 1))
		case 5:
			return reflect.ArrayOf(1+r.IntN(3), r.typ(depth-1))
		}
	}
	if r.IntN(60) == 0 {
		return pick(r.Rand, reflect.TypeFor[any](), reflect.TypeFor[func()](), reflect.TypeFor[chan int](), reflect.TypeFor[complex128](),
			reflect.TypeFor[map[int]string]())
	}
	return pick(r.Rand,
		reflect.TypeFor[string](), reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int32](),
		reflect.TypeFor[int64](), reflect.TypeFor[uint](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[float32](),
		reflect.TypeFor[float64](), reflect.TypeFor[[]byte](), reflect.TypeFor[[2]byte](), reflect.TypeFor[[]string](),
		reflect.TypeFor[time.Duration](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration](),
		reflect.TypeFor[metav1.LabelSelector](), reflect.TypeFor[metav1.Condition](), reflect.TypeFor[metav1.ObjectMeta](),
		reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[runtime.RawExtension](),
		reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[netip.Addr]())
}

func (r typeMaker) options(t reflect.Type) string {
	if t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 && r.IntN(8) == 0 {
		return pick(r.Rand, ",string", ",omitempty,string")
	}
	return pick(r.Rand, "", "", ",omitempty", ",omitzero")
}

// schemaTag says what changes no value, so that what Go writes stays valid.
func (r typeMaker) schemaTag(t reflect.Type) string {
	if r.IntN(5) > 0 {
		return ""
	}
	list := []string{`jsonschema:"title=T,description=D"`, `jsonschema:"nullable"`, `jsonschema_description:"D"`}
	switch t.Kind() {
	case reflect.String:
		list = append(list, `jsonschema:"minLength=0,maxLength=100000"`, `jsonschema:"pattern=^(.|\\n)*$"`)
	case reflect.Slice:
		list = append(list, `jsonschema:"minItems=0"`, `jsonschema_extras:"x-kubernetes-list-type=atomic"`)
	case reflect.Map:
		list = append(list, `jsonschema_extras:"x-kubernetes-map-type=atomic"`)
	}
	if r.IntN(10) == 0 {
		list = []string{`jsonschema:"minimum=x"`, `jsonschema:"maximun=3"`, `jsonschema_extras:"x-kubernetes-list-typ=set"`, `jsonschema:"minLength=-1"`}
	}
	return " " + pick(r.Rand, list...)
}

// fill makes a value of a type, with something in every place.
func (r typeMaker) fill(v reflect.Value) {
	switch of := v.Addr().Interface().(type) {
	case *metav1.Time:
		of.Time = time.Unix(r.Int64N(1e9), 0).UTC()
		return
	case *metav1.MicroTime:
		of.Time = time.Unix(r.Int64N(1e9), 0).UTC()
		return
	case *metav1.Condition:
		*of = metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.Unix(1, 0)}
		return
	case *metav1.ObjectMeta:
		*of = metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}}
		return
	case *intstr.IntOrString:
		*of = pick(r.Rand, intstr.FromInt32(r.Int32()), intstr.FromString("50%"))
		return
	case *resource.Quantity:
		*of = resource.MustParse(pick(r.Rand, "1", "1.5Gi", "100m", "-3e6"))
		return
	case *runtime.RawExtension:
		of.Raw = []byte(`{"a":1}`)
		return
	case *json.Number:
		*of = pick(r.Rand, json.Number("1"), json.Number("2.5"))
		return
	case *json.RawMessage:
		*of = json.RawMessage(`{"a":[1]}`)
		return
	case *netip.Addr:
		*of = netip.AddrFrom4([4]byte{byte(r.IntN(256)), 1, 2, 3})
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			r.fill(f)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(2), 4))
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			r.fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		r.fill(key)
		r.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(pick(r.Rand, "", "a", "ü\n"))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.IntN(100)) / 8)
	default:
		if v.CanInt() {
			v.SetInt(int64(r.IntN(100)))
		} else {
			v.SetUint(uint64(r.IntN(100)))
		}
	}
}

// describeRandom returns the schema of a type; it is nil when the type is refused.
func describeRandom(t *testing.T, of reflect.Type) *structural.Schema {
	t.Helper()
	doc, errs := reflected.Describe(of)
	if len(errs) > 0 {
		for _, err := range errs {
			if !strings.Contains(err.Error(), ": ") {
				t.Errorf("%s: %v, want a place and what is wrong there", of, err)
			}
		}
		return nil
	}
	s, err := structural.Rewrite(doc)
	if err != nil {
		t.Fatalf("%s: %v", of, err)
	}
	return s
}

// What Go writes of a type is valid by the type's schema.
func FuzzSchemaAcceptsWhatGoWrites(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := typeMaker{rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // chance that can be repeated
		of := r.structType(4)
		s := describeRandom(t, of)
		if s == nil {
			return
		}
		v := reflect.New(of)
		r.fill(v.Elem())
		text, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if err := s.Accepts(value); err != nil {
			t.Errorf("%s\n%s\n%v", of, text, err)
		}
	})
}

// The source of a type says the same as the type itself, of types that nobody has thought of.
func TestRandomTypesAreOneInSourceAndReflection(t *testing.T) {
	const batch = 200
	var types []reflect.Type
	src := `package thing

import (
	"encoding/json"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	_ json.Number
	_ netip.Addr
	_ time.Time
	_ resource.Quantity
	_ v1.Time
	_ runtime.RawExtension
	_ intstr.IntOrString
)
`
	lines := strings.Count(src, "\n")
	for seed := range batch {
		r := typeMaker{rand.New(rand.NewPCG(uint64(seed), 1))} //nolint:gosec // chance that can be repeated
		of := r.structType(4)
		types = append(types, of)
		name := fmt.Sprintf("Thing%d", seed)
		src += fmt.Sprintf("//kube:resource group=random.example.com version=v1 kind=%s\ntype %sSpec %s\n", name, name, of)
	}
	dir := newModule(t, &txtar.Archive{Files: []txtar.File{{Name: "thing/types.go", Data: []byte(src)}}})
	refused := map[int]bool{}
	files, err := generate.CRDs(t.Context(), []string{"./thing"}, &generate.Options{Dir: dir})
	if e, ok := errors.AsType[*generate.SourceError](err); ok {
		for _, p := range e.Problems {
			refused[(p.Position.Line-lines-1)/2] = true
		}
		src = remove(src, refused, lines)
		writeFile(t, dir+"/thing/types.go", src)
		files, err = generate.CRDs(t.Context(), []string{"./thing"}, &generate.Options{Dir: dir})
	}
	if err != nil {
		t.Fatal(err)
	}
	fromSource := map[string]any{}
	for _, f := range files.Files {
		name, schema := specOf(t, f.Content)
		fromSource[name] = schema
	}
	good := 0
	for i, of := range types {
		s := describeRandom(t, of)
		if (s == nil) != refused[i] {
			t.Errorf("%s: refused by source: %t, by reflection: %t", of, refused[i], s == nil)
		}
		if s == nil || refused[i] {
			continue
		}
		good++
		source, reflection := fromSource[fmt.Sprintf("Thing%d", i)], plain(t, s)
		align(source, reflection)
		if diff := cmp.Diff(source, reflection); diff != "" {
			t.Errorf("%s (-source +reflection):\n%s", of, diff)
		}
	}
	if good < batch/2 || good == batch {
		t.Errorf("%d of %d types are good, which tests too little of the one or the other", good, batch)
	}
}

// remove takes the kinds out of a source that are refused. Each is on two lines.
func remove(src string, refused map[int]bool, before int) string {
	var kept []string
	for i, line := range strings.Split(src, "\n") {
		if i < before || !refused[(i-before)/2] {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// specOf returns the name of a kind and the schema of its spec.
func specOf(t *testing.T, definition []byte) (kind string, schema any) {
	t.Helper()
	var crd struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties map[string]any
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Names.Kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
}

// plain is a schema as it is in a file.
func plain(t *testing.T, s *structural.Schema) any {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
