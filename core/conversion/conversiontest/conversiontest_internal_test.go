// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversiontest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
	Sizes             []int32              `json:"sizes,omitempty"`
	Ports             []port               `json:"ports,omitempty"`
	Tags              map[string]inner     `json:"tags,omitempty"`
	Ids               map[int]string       `json:"ids,omitempty"`
	Next              *thing               `json:"next,omitempty"`
	Any               any                  `json:"any,omitempty"`
	Special           special              `json:"special,omitempty"`
	Level             level                `json:"level,omitempty"`
	Addr              netip.Addr           `json:"addr,omitzero"`
	Skipped           string               `json:"-"`
	private           int
}

type inner struct {
	Flag bool `json:"flag,omitempty"`
}

type port struct {
	Name     string `json:"name,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Number   int32  `json:"number"`
}

// special decodes itself.
type special struct{ text string }

func (s special) MarshalJSON() ([]byte, error)  { return json.Marshal(s.text) }
func (s *special) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.text) }

// level is an integer that decodes itself from a string.
type level int

func (l level) MarshalText() ([]byte, error) {
	if l != 0 && l != 1 {
		return nil, errors.New("unknown level")
	}
	return []byte([]string{"low", "high"}[l]), nil
}

func (l *level) UnmarshalText(text []byte) error {
	*l = level(slices.Index([]string{"low", "high"}, string(text)))
	if *l < 0 {
		return errors.New("unknown level")
	}
	return nil
}

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

// complete sets the fields of an object that can't be filled.
func complete(obj core.Object) {
	var in *thing
	switch obj := obj.(type) {
	case *thingV1:
		in = &obj.thing
	case *thingV2:
		in = &obj.thing
	}
	in.Special, in.Any, in.Ids = special{"s"}, "a", map[int]string{1: "i"}
	in.Level, in.Addr = 1, netip.AddrFrom4([4]byte{10, 0, 0, 1})
}

func TestRoundTripKeepsFieldsOfAllShapes(t *testing.T) {
	RoundTrip(t, converter(t, all), &Options{Runs: 50, MakeValid: complete})
}

// TestFieldsThatCannotBeFilledAreReported checks that a test does not pass without values of all fields.
func TestFieldsThatCannotBeFilledAreReported(t *testing.T) {
	cut := func(obj core.Object) {
		complete(obj)
		if v1, ok := obj.(*thingV1); ok {
			v1.Special = special{}
		}
	}
	fields := []string{"thing.addr", "thing.any", "thing.ids", "thing.level", "thing.special"}
	for _, tt := range []struct {
		name string
		make func(core.Object)
		want map[string][]string
	}{
		{"nothing sets them", nil, map[string][]string{"v1": fields, "v2": fields}},
		{"MakeValid sets them", complete, map[string][]string{}},
		{"MakeValid sets all but one", cut, map[string][]string{"v1": {"thing.special"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := pairs(t, converter(t, all), &Options{MakeValid: tt.make})
			for _, p := range all {
				for seed := range uint64(20) {
					if err := p.roundTrip(seed); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(tt.want, untested(all)); diff != "" {
				t.Errorf("fields that are not tested (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoundTripWithoutObjectsIsAnError(t *testing.T) {
	if n, err := new(Options).runs(); n != 200 || err != nil {
		t.Errorf("runs = %d, %v, want the default", n, err)
	}
	const want = "Options.Runs is -1: set a positive number, or none for the default"
	if _, err := (&Options{Runs: -1}).runs(); err == nil || err.Error() != want {
		t.Errorf("runs = %v, want %s", err, want)
	}
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

// TestDefaultsOfTheOtherVersionAreSet checks that a function that omits a field with a default fails the test, although
// the converter keeps lost fields: the server sets the default, and so the kept value counts as changed.
func TestDefaultsOfTheOtherVersionAreSet(t *testing.T) {
	for _, tt := range []struct {
		name, unknown, want string // the color in v1 of one that v1 does not have
	}{
		{"the function omits the field", "", `string("blue")`},
		{"the function sets the default", "red", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := conversion.NewConverter([]conversion.Spoke[lampV2]{conversion.Between(
				func(in *lampV1) (*lampV2, error) { return &lampV2{lamp: in.lamp}, nil },
				func(in *lampV2) (*lampV1, error) {
					out := &lampV1{lamp: in.lamp}
					if in.Color == "blue" {
						out.Color = tt.unknown
					}
					return out, nil
				},
			)}, &conversion.ConverterOptions{KeepLost: true})
			if err != nil {
				t.Fatal(err)
			}
			o := &Options{Definition: lamps()}
			failed := false
			for _, p := range pairs(t, c, o) {
				for seed := range uint64(20) {
					err := p.roundTrip(seed)
					failed = failed || err != nil
					if err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
						t.Errorf("%s to %s: %v", p.from, p.to, err)
					}
				}
			}
			if failed != (tt.want != "") {
				t.Errorf("failed: %v", failed)
			}
		})
	}
}

// lamp has a color, which is red by default. The version v1 has no blue.
type lamp struct {
	Color string `json:"color,omitempty"`
}

type (
	lampV1 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		lamp              `json:",inline"`
	}
	lampV2 struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		lamp              `json:",inline"`
	}
)

func lampResource(version string) core.Resource {
	return core.Resource{Group: "example.com", Version: version, Kind: "Lamp", Plural: "lamps"}
}

func (*lampV1) KubeResource() core.Resource { return lampResource("v1") }
func (*lampV2) KubeResource() core.Resource { return lampResource("v2") }

func lamps() *unstructured.Unstructured {
	version := func(name string, colors ...any) map[string]any {
		return map[string]any{"name": name, "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type":       "object",
			"properties": map[string]any{"color": map[string]any{"type": "string", "enum": colors, "default": "red"}},
		}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "lamps.example.com"},
		"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Lamp"},
			"versions": []any{version("v1", "red", "green"), version("v2", "red", "green", "blue")},
		},
	}}
}

func TestDefaultsAreSetAsByServers(t *testing.T) {
	for _, tt := range []struct{ name, schema, in, want string }{
		{"a missing field", `{"properties":{"a":{"default":1}}}`, `{}`, `{"a":1}`},
		{"a field with a value", `{"properties":{"a":{"default":1}}}`, `{"a":0}`, `{"a":0}`},
		{"null", `{"properties":{"a":{"default":1}}}`, `{"a":null}`, `{"a":1}`},
		{"null where it is a value", `{"properties":{"a":{"default":1,"nullable":true}}}`, `{"a":null}`, `{"a":null}`},
		{"a field of a missing object", `{"properties":{"o":{"properties":{"a":{"default":1}}}}}`, `{}`, `{}`},
		{"a field of a default", `{"properties":{"o":{"default":{},"properties":{"a":{"default":1}}}}}`, `{}`, `{"o":{"a":1}}`},
		{"items", `{"properties":{"l":{"items":{"properties":{"a":{"default":1}}}}}}`, `{"l":[{},{"a":2}]}`, `{"l":[{"a":1},{"a":2}]}`},
		{"values of a map", `{"additionalProperties":{"properties":{"a":{"default":1}}}}`, `{"x":{}}`, `{"x":{"a":1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s schema
			var in, want any
			err := errors.Join(
				wire.UnmarshalJSON([]byte(tt.schema), &s),
				wire.UnmarshalJSON([]byte(tt.in), &in),
				wire.UnmarshalJSON([]byte(tt.want), &want),
			)
			if err != nil {
				t.Fatal(err)
			}
			s.setDefaults(in)
			if diff := cmp.Diff(want, in); diff != "" {
				t.Errorf("with defaults (-want +got):\n%s", diff)
			}
		})
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
				"sizes": map[string]any{
					"type": "array", "x-kubernetes-list-type": "set",
					"items": map[string]any{"type": "integer", "minimum": int64(1), "maximum": int64(4)},
				},
				"ports": map[string]any{
					"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name", "protocol"},
					"items": map[string]any{"type": "object", "required": []any{"name"}, "properties": map[string]any{
						"name":     map[string]any{"type": "string", "enum": []any{"web"}},
						"protocol": map[string]any{"type": "string", "enum": []any{"TCP", "UDP"}, "default": "TCP"},
					}},
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
			"code":    obj.Code != "" && !regexp.MustCompile("^[A-Z]{3}$").MatchString(obj.Code),
			"size":    obj.Size != 12 && obj.Size != 16 && obj.Size != 20,
			"ratio":   obj.Ratio > -5,
			"names":   len(obj.Names) < 4 || len(obj.Names) > 5,
			"name":    slices.ContainsFunc(obj.Names, func(s string) bool { return len(s) < 10 || len(s) > 12 }),
			"tags":    len(obj.Tags) > 1,
			"sizes":   len(slices.Compact(slices.Sorted(slices.Values(obj.Sizes)))) != len(obj.Sizes),
			"ports":   len(obj.Ports) > 2 || len(obj.Ports) == 2 && obj.Ports[0].Protocol == obj.Ports[1].Protocol,
			"skipped": obj.Skipped != "" || obj.private != 0,
		} {
			if bad {
				t.Errorf("seed %d: %s is out of bounds: %s", seed, what, packed.Bytes())
			}
		}
	}
}

func TestNumbersFitIntoTheirType(t *testing.T) {
	f := &filler{rand: rand.New(rand.NewPCG(1, 1))}
	bounds := []*schema{nil, {Minimum: new(-1e30), Maximum: new(1e30)}}
	for _, least := range []float64{-130, 100, 250, math.MaxInt32 - 1, math.MaxInt64, math.MaxUint64} {
		bounds = append(bounds, &schema{Minimum: &least})
	}
	for range 100 {
		for _, s := range bounds {
			for low, high := range map[float64]float64{-128: 128, 0: 256, -math.Exp2(63): math.Exp2(63)} {
				if s != nil && s.Minimum != nil && *s.Minimum >= high {
					continue // the schema contradicts the type
				}
				if n := f.number(s, low, high); n < low || n >= high || n != math.Trunc(n) {
					t.Fatalf("a number from %v to %v with the schema %+v is %v", low, high, s, n)
				}
			}
		}
	}
}

// TestStringsHaveTheFormatOfTheirSchema checks the formats that servers check, with dashes in their names or without.
func TestStringsHaveTheFormatOfTheirSchema(t *testing.T) {
	parses := func(layout string) func(string) bool {
		return func(s string) bool { _, err := time.Parse(layout, s); return err == nil }
	}
	valid := map[string]func(string) bool{
		"date-time":      parses(time.RFC3339),
		"datetime":       parses(time.RFC3339),
		"date":           parses(time.DateOnly),
		"duration":       func(s string) bool { _, err := time.ParseDuration(s); return err == nil },
		"ipv4":           func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is4() },
		"ipv6":           func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is6() },
		"cidr":           func(s string) bool { p, err := netip.ParsePrefix(s); return err == nil && p == p.Masked() },
		"mac":            func(s string) bool { _, err := net.ParseMAC(s); return err == nil },
		"uri":            func(s string) bool { _, err := url.ParseRequestURI(s); return err == nil },
		"email":          func(s string) bool { _, err := mail.ParseAddress(s); return err == nil },
		"hostname":       regexp.MustCompile(`^[a-z]+\.example\.com$`).MatchString,
		"k8s-long-name":  regexp.MustCompile(`^[a-z]+\.example\.com$`).MatchString,
		"k8s-short-name": regexp.MustCompile(`^[a-z]+$`).MatchString,
		"bsonobjectid":   regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString,
		"ssn":            regexp.MustCompile(`^\d{3}-\d{2}-\d{4}$`).MatchString,
		"hexcolor":       regexp.MustCompile(`^#[0-9a-f]{6}$`).MatchString,
		"rgbcolor":       regexp.MustCompile(`^rgb\(\d{1,3},\d{1,3},\d{1,3}\)$`).MatchString,
		"byte":           func(s string) bool { _, err := base64.StdEncoding.DecodeString(s); return err == nil },
		"password":       regexp.MustCompile(`^[a-z]+$`).MatchString,
		"another":        regexp.MustCompile(`^[a-z]+$`).MatchString,
	}
	for format, version := range map[string]string{"uuid": "4", "uuid3": "3", "uuid4": "4", "uuid5": "5"} {
		valid[format] = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-` + version + `[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString
	}
	f := &filler{rand: rand.New(rand.NewPCG(1, 1)), gaveUp: map[string]bool{}}
	for format, ok := range valid {
		different := map[string]bool{}
		for range 50 {
			var s string
			if err := f.text(reflect.ValueOf(&s).Elem(), &schema{Format: format}); err != nil || !ok(s) {
				t.Errorf("a string of the format %s is %q, %v", format, s, err)
			}
			different[s] = true
		}
		if len(different) < 20 {
			t.Errorf("strings of the format %s have only the values %v", format, different)
		}
	}
	if len(f.gaveUp) > 0 {
		t.Error("a format can't be made")
	}
}

// TestAFieldWhoseFormatHasACheckDigitStaysEmpty checks a format that the filler does not make.
func TestAFieldWhoseFormatHasACheckDigitStaysEmpty(t *testing.T) {
	f := &filler{rand: rand.New(rand.NewPCG(1, 1)), field: "book.isbn", gaveUp: map[string]bool{}}
	var s string
	v, book := reflect.ValueOf(&s).Elem(), &schema{Format: "isbn13"}
	if err := f.text(v, book); err != nil || s != "" || !f.gaveUp["book.isbn"] {
		t.Errorf("the string is %q, %v, could not fill %v", s, err, f.gaveUp)
	}
	book.Default = "9780321751041"
	if err := f.text(v, book); err != nil || s == "" {
		t.Errorf("the string is %q, %v, want the default", s, err)
	}
}

// TestPatternsAreMatched checks the random strings for the patterns of common fields.
func TestPatternsAreMatched(t *testing.T) {
	condition := `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?` +
		`(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	for _, tt := range []struct {
		pattern     string
		least, most int
	}{
		{`^[a-z]+$`, 0, 99},
		{`^[a-z]+$`, 40, 41},
		{`^[A-Z]{3}$`, 3, 3},
		{`^v[0-9]+\.[0-9]+(-(alpha|beta))?$`, 0, 99},
		{condition, 1, 316},
		{`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 0, 2},
		{`[^,]`, 0, 99},
		{`^\d{1,3}%?$`, 0, 99},
		{`(?i)^x.y$|^\p{Greek}$`, 1, 3},
		{`^((a*)*)*b$`, 0, 99},
		{``, 0, 99},
	} {
		s := &schema{Pattern: regexp.MustCompile(tt.pattern), MinLength: &tt.least, MaxLength: &tt.most}
		different := map[string]bool{}
		for seed := range uint64(50) {
			f := &filler{rand: rand.New(rand.NewPCG(seed, 1))}
			text, ok := f.matching(s)
			n := utf8.RuneCountInString(text)
			if !ok || !s.Pattern.MatchString(text) || n < tt.least || n > tt.most {
				t.Fatalf("matching(%s) = %q, %v, want a match of %d to %d characters", tt.pattern, text, ok, tt.least, tt.most)
			}
			different[text] = true
		}
		if tt.pattern != "" && len(different) < 5 {
			t.Errorf("matching(%s) finds only %v", tt.pattern, different)
		}
	}
}

// TestAFieldWhosePatternIsNotMatchedStaysEmpty checks a field with a pattern and a length that exclude each other.
func TestAFieldWhosePatternIsNotMatchedStaysEmpty(t *testing.T) {
	type object struct {
		Code string `json:"code"`
	}
	var obj object
	code := &schema{Pattern: regexp.MustCompile("^[A-Z]$"), MinLength: new(2)}
	s := &schema{Required: []string{"code"}, Properties: map[string]*schema{"code": code}}
	f := &filler{rand: rand.New(rand.NewPCG(1, 1)), gaveUp: map[string]bool{}}
	if err := f.plain(reflect.ValueOf(&obj).Elem(), s, 1); err != nil || obj.Code != "" || !f.gaveUp["object.code"] {
		t.Errorf("fill = %v, code %q, could not fill %v", err, obj.Code, f.gaveUp)
	}
	code.Default = "A"
	if err := f.plain(reflect.ValueOf(&obj).Elem(), s, 1); err != nil || obj.Code != "A" {
		t.Errorf("fill = %v, code %q, want the default", err, obj.Code)
	}
}

// TestRoundTripFindsALostFieldWithAPattern checks an optional field, whose value is not any string.
func TestRoundTripFindsALostFieldWithAPattern(t *testing.T) {
	c := converter(t, func(in *thingV1) (*thingV2, error) {
		out := in.thing
		out.Code = ""
		return &thingV2{out}, nil
	})
	p := pairs(t, c, &Options{Definition: bounded()})[0]
	for seed := range uint64(20) {
		if err := p.roundTrip(seed); err != nil {
			if !strings.Contains(err.Error(), `"code":`) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("no object has a code")
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
