// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
)

// thing has a field of every shape.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	inner             `json:",inline"`
	Color             string               `json:"color"`
	Code              string               `json:"code,omitempty"`
	Size              int32                `json:"size"`
	Few               uint8                `json:"few,omitempty"`
	Ratio             float64              `json:"ratio,omitempty"`
	Port              intstr.IntOrString   `json:"port"`
	Memory            resource.Quantity    `json:"memory"`
	Since             metav1.Time          `json:"since"`
	At                *metav1.MicroTime    `json:"at,omitempty"`
	Every             metav1.Duration      `json:"every"`
	Raw               runtime.RawExtension `json:"raw"`
	When              *time.Time           `json:"when,omitempty"`
	Bytes             []byte               `json:"bytes,omitempty"`
	Pair              [2]bool              `json:"pair"`
	Names             []string             `json:"names,omitempty"`
	Tags              map[string]inner     `json:"tags,omitempty"`
	Ids               map[int]string       `json:"ids,omitempty"`
	Next              *thing               `json:"next,omitempty"`
	Any               any                  `json:"any,omitempty"`
	Special           special              `json:"special,omitempty"`
	Skipped           string               `json:"-"`
	private           int
}

type inner struct {
	Flag bool `json:"flag,omitempty"`
}

// special decodes itself.
type special struct{ text string }

func (s special) MarshalJSON() ([]byte, error)  { return json.Marshal(s.text) }
func (s *special) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.text) }

type (
	thingV1 struct{ thing }
	thingV2 struct{ thing }
)

func described(version string) core.Resource {
	return core.Resource{Group: "example.com", Version: version, Kind: "Thing", Plural: "things"}
}

func (*thingV1) KubeResource() core.Resource { return described("v1") }
func (*thingV2) KubeResource() core.Resource { return described("v2") }

func converter(t testing.TB, up func(*thingV1) (*thingV2, error)) *conversion.Converter {
	t.Helper()
	c, err := conversion.NewConverter([]conversion.Spoke[thingV2]{
		conversion.Between(up, func(in *thingV2) (*thingV1, error) { return &thingV1{in.thing}, nil }),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func all(in *thingV1) (*thingV2, error) { return &thingV2{in.thing}, nil }

func TestRoundTripKeepsFieldsOfAllShapes(t *testing.T) {
	RoundTrip(t, converter(t, all), &Options{Runs: 50})
}

func FuzzAllForms(f *testing.F) {
	Fuzz(f, converter(f, all), &Options{Definition: bounded()})
}

func TestRoundTripReportsLostFields(t *testing.T) {
	c := converter(t, func(in *thingV1) (*thingV2, error) {
		out := in.thing
		out.Names = nil
		return &thingV2{out}, nil
	})
	for _, p := range pairs(t, c, &Options{}) {
		var err error
		for seed := uint64(0); err == nil && seed < 10; seed++ {
			err = p.roundTrip(seed)
		}
		if err == nil || !strings.Contains(err.Error(), `"names":`) || !strings.Contains(err.Error(), "seed ") {
			t.Errorf("%s to %s: %v, want an error about lost names", p.from, p.to, err)
		}
	}
}

func TestRoundTripReportsFailingFunctions(t *testing.T) {
	c := converter(t, func(*thingV1) (*thingV2, error) { return nil, fmt.Errorf("odd") })
	for _, p := range pairs(t, c, &Options{}) {
		if err := p.roundTrip(3); err == nil || !strings.Contains(err.Error(), "odd\n{") || !strings.Contains(err.Error(), "seed 3: ") {
			t.Errorf("%s to %s: %v", p.from, p.to, err)
		}
	}
}

func TestEqualSeedsMakeEqualObjects(t *testing.T) {
	p := pairs(t, converter(t, all), &Options{})[0]
	var made []string
	for _, seed := range []uint64{1, 1, 2} {
		obj, err := p.object(seed)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, string(obj.Bytes()))
	}
	if made[0] != made[1] || made[0] == made[2] {
		t.Errorf("seeds 1, 1 and 2 make %q", made)
	}
}

func TestMendChangesTheObject(t *testing.T) {
	p := pairs(t, converter(t, all), &Options{MakeValid: func(obj core.Object) { obj.SetName("valid") }})[0]
	obj, err := p.object(1)
	if err != nil || !strings.Contains(string(obj.Bytes()), `"name":"valid"`) {
		t.Errorf("object = %s, %v", obj.Bytes(), err)
	}
}

// bounded returns a definition with every constraint that random values satisfy.
func bounded() *unstructured.Unstructured {
	version := func(name string) map[string]any {
		return map[string]any{"name": name, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type":     "object",
			"required": []any{"names"},
			"properties": map[string]any{
				"color": map[string]any{"type": "string", "enum": []any{"red", "green"}},
				"code":  map[string]any{"type": "string", "pattern": "^[A-Z]{3}$"},
				"size":  map[string]any{"type": "integer", "minimum": int64(10), "exclusiveMinimum": true, "maximum": int64(20), "multipleOf": int64(4)},
				"ratio": map[string]any{"type": "number", "maximum": int64(-5), "default": int64(-7)},
				"names": map[string]any{
					"type": "array", "minItems": int64(4), "maxItems": int64(5),
					"items": map[string]any{"type": "string", "minLength": int64(10), "maxLength": int64(12)},
				},
				"tags": map[string]any{"type": "object", "maxProperties": int64(1), "additionalProperties": map[string]any{"type": "object"}},
				"next": map[string]any{"type": "object"},
			},
		}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "things.example.com"},
		"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Thing"},
			"versions": []any{version("v1"), version("v2")},
		},
	}}
}

func TestValuesSatisfyTheDefinition(t *testing.T) {
	p := pairs(t, converter(t, all), &Options{Definition: bounded()})[0]
	for seed := range uint64(200) {
		packed, err := p.object(seed)
		if err != nil {
			t.Fatal(err)
		}
		obj := new(thingV2)
		if err := packed.Decode(obj); err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string]bool{
			"color":   obj.Color != "red" && obj.Color != "green",
			"code":    obj.Code != "",
			"size":    obj.Size != 12 && obj.Size != 16 && obj.Size != 20,
			"ratio":   obj.Ratio > -5,
			"names":   len(obj.Names) < 4 || len(obj.Names) > 5,
			"name":    slices.ContainsFunc(obj.Names, func(s string) bool { return len(s) < 10 || len(s) > 12 }),
			"tags":    len(obj.Tags) > 1,
			"skipped": obj.Skipped != "" || obj.private != 0,
		} {
			if bad {
				t.Errorf("seed %d: %s is out of bounds: %s", seed, what, packed.Bytes())
			}
		}
	}
}

func TestFormattedValuesAreValid(t *testing.T) {
	f := &filler{rand: rand.New(rand.NewPCG(1, 1))}
	for _, format := range []string{"date-time", "date", "duration", "ipv4", "uri", "uuid", "byte"} {
		if text, ok := f.formatted(format); !ok || text == "" {
			t.Errorf("formatted(%s) = %q, %v", format, text, ok)
		}
	}
	var obj struct {
		Code string `json:"code"`
	}
	s := &schema{Required: []string{"code"}, Properties: map[string]*schema{"code": {Pattern: "^[A-Z]$"}}}
	err := f.plain(reflect.ValueOf(&obj).Elem(), s, 1)
	if want := `Code: no random string matches "^[A-Z]$": give the field an enum or a default, or set it in Options.MakeValid`; err == nil || err.Error() != want {
		t.Errorf("fill = %v, want %s", err, want)
	}
	s.Properties["code"].Default = "A"
	if err := f.plain(reflect.ValueOf(&obj).Elem(), s, 1); err != nil || obj.Code != "A" {
		t.Errorf("fill = %v, code %q, want the default", err, obj.Code)
	}
}

func TestSchemaOfAMissingVersionIsAnError(t *testing.T) {
	if _, err := schemaOf(bounded(), "v3"); err == nil || err.Error() != "things.example.com has no version v3" {
		t.Errorf("schemaOf = %v", err)
	}
	broken := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}, "spec": "text"}}
	if _, err := schemaOf(broken, "v1"); err == nil || !strings.Contains(err.Error(), "read x: ") {
		t.Errorf("schemaOf = %v", err)
	}
}

func TestSchemaOfAMapMayBeABoolean(t *testing.T) {
	for _, values := range []any{true, false, map[string]any{"type": "string"}, nil} {
		crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"versions": []any{map[string]any{
			"name": "v1",
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "additionalProperties": values,
			}},
		}}}}}
		s, err := schemaOf(crd, "v1")
		if err != nil {
			t.Errorf("schemaOf() = %v with additionalProperties: %v", err, values)
			continue
		}
		if _, described := values.(map[string]any); (s.values() != nil) != described {
			t.Errorf("the schema of the values is %+v with additionalProperties: %v", s.values(), values)
		}
	}
}

// TestDifferenceIgnoresAnnotationsOfTheConverter checks that only the converter's own annotations are ignored.
func TestDifferenceIgnoresAnnotationsOfTheConverter(t *testing.T) {
	p := pairs(t, converter(t, all), &Options{})[0]
	packed := func(annotations string) wire.Packed {
		return wire.NewPacked(wire.JSON, []byte(`{"metadata":{"name":"a"`+annotations+`}}`))
	}
	for _, tt := range []struct {
		before, after string
		same          bool
	}{
		{"", `,"annotations":{"example.com/conversion-v1":"{}"}`, true},
		{"", `,"annotations":{"example.com/other":"{}"}`, false},
	} {
		if diff, err := p.difference(packed(tt.before), packed(tt.after)); err != nil || (diff == "") != tt.same {
			t.Errorf("difference(%s) = %q, %v", tt.after, diff, err)
		}
	}
	if _, err := p.difference(packed("}"), packed("")); err == nil {
		t.Error("difference of invalid JSON returned no error")
	}
}
