// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

func TestJSONOfEveryKindIsDecodedLikeEncodingJSON(t *testing.T) {
	for _, g := range apitest.Goldens(t) {
		want, got := g.Kind.New(), g.Kind.New()
		if err := json.Unmarshal(g.JSON, want); err != nil {
			t.Fatal(err)
		}
		if err := wire.UnmarshalJSON(g.JSON, got); err != nil {
			t.Errorf("%s: UnmarshalJSON: %v", g.Name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s (-encoding/json +wire):\n%s", g.Name, cmp.Diff(want, got))
		}
	}
}

func TestRandomObjectsOfEveryKindAreCodedLikeEncodingJSON(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		for seed := range int64(5) {
			obj := apitest.Random(k, seed)
			want, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			data, err := wire.MarshalJSON(obj)
			if err != nil {
				t.Errorf("%v seed %d: MarshalJSON: %v", k.Type, seed, err)
			} else if !bytes.Equal(data, want) {
				t.Errorf("%v seed %d (-encoding/json +wire):\n%s", k.Type, seed, cmp.Diff(string(want), string(data)))
			}
			wantBack, gotBack := k.New(), k.New()
			if err := json.Unmarshal(want, wantBack); err != nil {
				t.Fatal(err)
			}
			if err := wire.UnmarshalJSON(data, gotBack); err != nil {
				t.Errorf("%v seed %d: UnmarshalJSON: %v", k.Type, seed, err)
			} else if !reflect.DeepEqual(gotBack, wantBack) {
				t.Errorf("%v seed %d (-encoding/json +wire):\n%s", k.Type, seed, cmp.Diff(wantBack, gotBack))
			}
		}
	}
}

func TestUnstructuredObjectsAreDecodedLikeApimachinery(t *testing.T) {
	for _, g := range apitest.Goldens(t) {
		want, got := new(unstructured.Unstructured), new(unstructured.Unstructured)
		if err := want.UnmarshalJSON(g.JSON); err != nil {
			t.Fatal(err)
		}
		if err := wire.Unmarshal(g.JSON, wire.MediaTypeJSON, got); err != nil {
			t.Errorf("%s: Unmarshal: %v", g.Name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s (-apimachinery +wire):\n%s", g.Name, cmp.Diff(want, got))
		}
	}
}

// Exact case is the only difference from encoding/json in matching the fields of structs.
func TestFieldNamesMatchByExactCase(t *testing.T) {
	body := []byte(`{"metadata":{"Name":"loud","name":"quiet","NAME":"shouted"},"SPEC":{"nodeName":"n"}}`)
	var std, ours corev1.Pod
	if err := json.Unmarshal(body, &std); err != nil {
		t.Fatal(err)
	}
	if err := wire.UnmarshalJSON(body, &ours); err != nil {
		t.Fatal(err)
	}
	if std.Name != "shouted" || std.Spec.NodeName != "n" {
		t.Errorf("encoding/json decodes %q and %q: the difference no longer exists", std.Name, std.Spec.NodeName)
	}
	if ours.Name != "quiet" || ours.Spec.NodeName != "" {
		t.Errorf("UnmarshalJSON decodes name %q and nodeName %q, want quiet and an empty one", ours.Name, ours.Spec.NodeName)
	}
}

// freeForm is a kind of a CRD that preserves unknown fields.
type freeForm struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Any  any            `json:"any"`
	Map  map[string]any `json:"map"`
	List []any          `json:"list"`
	Time metav1.Time    `json:"time"`
}

func TestNumbersInEmptyInterfacesAreIntegersWhenTheyFit(t *testing.T) {
	body := []byte(`{"any":{"n":1},"map":{"i":-7,"f":1.0,"big":9223372036854775808,"max":9223372036854775807},"list":[1,2.5,[3]]}`)
	want := freeForm{
		Any:  map[string]any{"n": int64(1)},
		Map:  map[string]any{"i": int64(-7), "f": 1.0, "big": float64(math.MaxInt64), "max": int64(math.MaxInt64)},
		List: []any{int64(1), 2.5, []any{int64(3)}},
	}
	var got freeForm
	if err := wire.UnmarshalJSON(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnstructuredValuesAreDecoded(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want map[string]any
	}{
		{"null is not an object", `null`, nil},
		{"the empty object", ` { } `, map[string]any{}},
		{"literals", `{"t":true,"f":false,"n":null}`, map[string]any{"t": true, "f": false, "n": nil}},
		{"integers", `{"z":0,"m":-0,"n":-12}`, map[string]any{"z": int64(0), "m": int64(0), "n": int64(-12)}},
		{"floats", `{"a":1.5,"b":1e3,"c":-2.5E-1}`, map[string]any{"a": 1.5, "b": 1000.0, "c": -0.25}},
		{"an integer that does not fit", `{"a":-9223372036854775809}`, map[string]any{"a": -9223372036854775808.0}},
		{"escapes", `{"a\"b":"\u00e9\n\ud83d\ude00"}`, map[string]any{`a"b`: "é\n😀"}},
		{"text that is not ASCII", `{"é":"日本"}`, map[string]any{"é": "日本"}},
		{"bad UTF-8 is replaced", "{\"a\":\"x\xffy\"}", map[string]any{"a": "x\ufffdy"}},
		{"half a surrogate pair is replaced", `{"a":"\ud800"}`, map[string]any{"a": "\ufffd"}},
		{"empty containers and strings", `{"a":[],"o":{},"":""}`, map[string]any{"a": []any{}, "o": map[string]any{}, "": ""}},
		{"the last of two equal names is kept", `{"a":1,"a":2}`, map[string]any{"a": int64(2)}},
		{"white space anywhere", "\t{ \"a\" :\r\n[ 1 , {\"b\" : 2} ] } \n", map[string]any{"a": []any{int64(1), map[string]any{"b": int64(2)}}}},
		{"a string too long to be shared", `{"a":"` + strings.Repeat("x", 100) + `"}`, map[string]any{"a": strings.Repeat("x", 100)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]any{"old": true}
			if err := wire.UnmarshalJSON([]byte(tt.in), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("UnmarshalJSON(%s) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestErrorsInJSONHaveTheirPosition(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"an array", `[]`, "want an object, not"},
		{"a string", `"a"`, "want an object, not"},
		{"more after the end", `{} {}`, "after top-level value"},
		{"a zero byte after the end", "{}\x00", "after top-level value"},
		{"a trailing comma", `{"a":1,}`, "offset 7"},
		{"a missing comma", `{"a":1 "b":2}`, `'"'`},
		{"a missing colon", `{"a" 1}`, "/a"},
		{"a name that is not a string", `{a:1}`, "invalid character 'a'"},
		{"a trailing comma in an array", `{"a":[1,]}`, "/a/1"},
		{"brackets that do not match", `{"a":[1}}`, "/a"},
		{"a misspelled literal", `{"a":nul}`, "/a"},
		{"a control character in a string", "{\"a\":\"\n\"}", "/a"},
		{"an unknown escape", `{"a":"\x"}`, "/a"},
		{"a leading zero", `{"a":01}`, "offset 6"},
		{"a plus", `{"a":+1}`, "/a"},
		{"a point without digits", `{"a":1.}`, "/a"},
		{"a point without digits before the exponent", `{"a":1.e5}`, "/a"},
		{"a minus alone", `{"a":-}`, "/a"},
		{"a number out of the range of float64", `{"a":1e999}`, "1e999 does not fit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m map[string]any
			err := wire.UnmarshalJSON([]byte(tt.in), &m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("UnmarshalJSON(%s) = %v, want an error with %q", tt.in, err, tt.want)
			}
		})
	}
}

func TestProtobufThatIsSaidToBeJSONIsNamed(t *testing.T) {
	body, err := wire.Marshal(&corev1.Pod{}, core.Resource{Version: "v1", Kind: "Pod"}, wire.Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range []core.Object{&corev1.Pod{}, &unstructured.Unstructured{}} {
		const want = "the data is protobuf"
		if err := wire.Unmarshal(body, "application/json", obj); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Unmarshal into %T = %v, want an error with %q", obj, err, want)
		}
	}
}

func TestTypeErrorsNameTheirField(t *testing.T) {
	err := wire.UnmarshalJSON([]byte(`{"spec":{"containers":[{"name":7}]}}`), new(corev1.Pod))
	if err == nil || err.Error() != "spec.containers[0].name: want a string, not a number" {
		t.Errorf("UnmarshalJSON = %v, want an error that names spec.containers[0].name", err)
	}
}

func TestTruncatedJSONIsAnUnexpectedEOF(t *testing.T) {
	body := podJSON(t)
	for _, n := range []int{0, 1, 10, len(body) / 2, len(body) - 1} {
		var m map[string]any
		if err := wire.UnmarshalJSON(body[:n], &m); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("first %d bytes into a map: %v, want io.ErrUnexpectedEOF", n, err)
		}
		if err := wire.UnmarshalJSON(body[:n], new(corev1.Pod)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("first %d bytes into a pod: %v, want io.ErrUnexpectedEOF", n, err)
		}
	}
}

// A body must not exhaust the stack.
func TestNestingIsBounded(t *testing.T) {
	nested := func(n int) []byte {
		return fmt.Appendf(nil, `{"any":%s%s}`, strings.Repeat("[", n), strings.Repeat("]", n))
	}
	for _, into := range []any{new(map[string]any), new(freeForm)} {
		if err := wire.UnmarshalJSON(nested(9999), into); err != nil {
			t.Errorf("10000 levels into %T: %v", into, err)
		}
		err := wire.UnmarshalJSON(nested(5_000_000), into)
		if err == nil || !strings.Contains(err.Error(), "depth") {
			t.Errorf("5000001 levels into %T: %v, want an error about the depth", into, err)
		}
	}
}

// A decoded object must not share memory with the bytes that it was decoded from.
func TestDecodedObjectsOwnTheirMemory(t *testing.T) {
	for _, obj := range []apitest.Object{new(corev1.Pod), new(unstructured.Unstructured)} {
		data := bytes.Clone(podJSON(t))
		if err := wire.NewPacked(wire.JSON, data).Decode(obj); err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		for i := range data {
			data[i] = 'x'
		}
		after, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, after) {
			t.Errorf("%T changed with the bytes it was decoded from:\n%s", obj, cmp.Diff(string(before), string(after)))
		}
	}
	data := podProtobuf(t)
	pod := new(corev1.Pod)
	if err := wire.NewPacked(wire.Protobuf, data).Decode(pod); err != nil {
		t.Fatal(err)
	}
	want := pod.DeepCopy()
	clear(data)
	if !reflect.DeepEqual(pod, want) {
		t.Error("a pod changed with the protobuf bytes it was decoded from")
	}
}

// decoders has fields of types with decoders of their own.
type decoders struct {
	Duration  metav1.Duration `json:"duration"`
	Addresses []netip.Addr    `json:"addresses"`
	Level     slog.Level      `json:"level"`
	Number    ownNumber       `json:"number"`
}

// ownNumber decodes a number in a string.
type ownNumber int

func (n *ownNumber) UnmarshalText(text []byte) (err error) {
	*(*int)(n), err = strconv.Atoi(string(text))
	return err
}

// The value of a string may be a secret.
func TestErrorsNameThePathButNoString(t *testing.T) {
	const secret = "hunter2"
	tests := []struct {
		name, in string
		obj      any
		want     string
	}{
		{"a number out of range", `{"spec":{"priority":99999999999}}`, new(corev1.Pod), "spec.priority: want an int32, not 99999999999"},
		{"a number with a fraction", `{"spec":{"priority":1.5}}`, new(corev1.Pod), "spec.priority: want an int32, not 1.5"},
		{"a string for a number", `{"spec":{"containers":[{},{"ports":[{"hostPort":"hunter2"}]}]}}`, new(corev1.Pod), "spec.containers[1].ports[0].hostPort: want an int32, not a string"},
		{"a string for an object", `{"spec":"hunter2"}`, new(corev1.Pod), "spec: want an object, not a string"},
		{"a string for a time", `{"metadata":{"creationTimestamp":"hunter2"}}`, new(corev1.Pod), "metadata.creationTimestamp: want a time such as 2006-01-02T15:04:05Z"},
		{"a string for bytes", `{"data":{"password":"hunter2!"}}`, new(corev1.Secret), "data.password: illegal base64 data at input byte 7"},
		{"a string for a quantity", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"hunter2"}}}]}}`, new(corev1.Pod), "spec.containers[0].resources.limits.cpu: quantities must match the regular expression"},
		{"a string for a duration", `{"duration":"hunter2"}`, new(decoders), "duration: want a valid v1.Duration"},
		{"a string for a type that reads text", `{"addresses":["::1","hunter2"]}`, new(decoders), "addresses[1]: want a valid netip.Addr"},
		{"a string for a type that reads JSON", `{"level":"hunter2"}`, new(decoders), "level: want a valid slog.Level"},
		{"a number in a string for a type that reads itself", `{"number":"hunter2"}`, new(decoders), "number: want a valid wire_test.ownNumber"},
		{"a number for a label", `{"metadata":{"labels":{"app.io/a":1}}}`, new(corev1.Pod), `metadata.labels["app.io/a"]: want a string, not a number`},
		{"a number out of the range of float64 in a map", `{"spec":{"a":[1,{"b":1e999}]}}`, new(map[string]any), "spec.a[1].b: 1e999 does not fit a float64"},
		{"a number out of the range of float64 in a field", `{"map":{"a":[1,{"b":1e999}]}}`, new(freeForm), "map.a[1].b: 1e999 does not fit a float64"},
		{"a very long number", `{"spec":{"priority":` + strings.Repeat("9", 5000) + `}}`, new(corev1.Pod), "spec.priority: want an int32, not " + strings.Repeat("9", 40)},
		{"a quantity with a huge exponent", `{"spec":{"overhead":{"cpu":"1e-99999999"}}}`, new(corev1.Pod), "spec.overhead.cpu: a quantity whose exponent has more than three digits"},
		{"a quantity without quotes", `{"spec":{"overhead":{"cpu":1E999999999}}}`, new(corev1.Pod), "spec.overhead.cpu: a quantity whose exponent has more than three digits"},
		{"a very long quantity", `{"spec":{"overhead":{"cpu":"` + strings.Repeat("9", 5000) + `"}}}`, new(corev1.Pod), "spec.overhead.cpu: a quantity of more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.UnmarshalJSON([]byte(tt.in), tt.obj)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), secret) || len(err.Error()) > 300 {
				t.Errorf("UnmarshalJSON = %v, want %s", err, tt.want)
			}
		})
	}
}

// Many strings have an e before digits, and a quantity may have an exponent.
func TestQuantitiesAreDecodedLikeEncodingJSON(t *testing.T) {
	for _, quantity := range []string{`"1e3"`, `"100m"`, `"1.5Gi"`, `5`, `" 5 "`, `null`, `"1E2"`, `"12e-3"`, `1e2`} {
		body := []byte(`{"metadata":{"uid":"1e1234567"},"spec":{"overhead":{"cpu":` + quantity + `}}}`)
		var want, got corev1.Pod
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if err := wire.UnmarshalJSON(body, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (-encoding/json +wire):\n%s", quantity, err, cmp.Diff(want, got))
		}
	}
}

func TestTagsThatEncodingJSONAcceptsAreAccepted(t *testing.T) {
	field := func(name string, v any, tag reflect.StructTag) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeOf(v), Tag: tag}
	}
	same := reflect.New(reflect.StructOf([]reflect.StructField{ // go vet refuses these tags in the source
		field("A", "", `json:"x"`), field("B", "", `json:"x"`), field("Other", 0, ""),
	})).Elem()
	full := reflect.StructOf([]reflect.StructField{
		field("Space", "", `json:"space, omitempty"`), field("Twice", 0, `json:"twice,omitempty,omitempty"`),
		field("Quoted", 0, `json:"'q'"`), field("Same", same.Interface(), `json:"same"`), field("Any", map[string]any{}, `json:"any"`),
		field("Number", json.Number(""), `json:"number"`), field("Hidden", struct{ n int }{}, `json:"hidden"`),
		field("Int", 0, `json:"int,string"`), field("Bool", false, `json:"bool,string"`),
	})
	const in = `{"space":"a","twice":2,"Quoted":3,"same":{"Other":5},"any":{"n":1},"number":1.50,"hidden":{},` +
		`"int":"7","bool":"true"}`
	out, want := reflect.New(full), reflect.New(full)
	if err := wire.UnmarshalJSON([]byte(in), out.Interface()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(in), want.Interface()); err != nil {
		t.Fatal(err)
	}
	want.Elem().FieldByName("Any").Set(reflect.ValueOf(map[string]any{"n": int64(1)}))
	if !reflect.DeepEqual(want.Interface(), out.Interface()) {
		t.Errorf("UnmarshalJSON = %+v, want %+v", out, want)
	}
	if got, err := wire.MarshalJSON(out.Interface()); err != nil || string(got) != in {
		t.Errorf("MarshalJSON = %s, %v, want %s", got, err, in)
	}
	for text, want := range map[string]string{
		`{"twice":"hunter2"}`: "twice: want an int, not string", `{"number":"hunter2"}`: "a value is invalid",
		`{"same":{"Other":true}}`: "same.Other: want an int, not bool", `{`: "unexpected end of JSON input",
		`{"int":"hunter2"}`: "int: want an int, not number", `{"bool":"hunter2"}`: "bool: want a boolean, not string",
	} {
		if err := wire.UnmarshalJSON([]byte(text), out.Interface()); err == nil || err.Error() != want {
			t.Errorf("UnmarshalJSON(%s) = %v, want %s", text, err, want)
		}
	}
}

// selfReading is a struct with a decoder whose errors have texts like those of the JSON library.
type selfReading struct{ N int }

func (r *selfReading) UnmarshalJSON(data []byte) error {
	type plain selfReading
	return json.Unmarshal(data, (*plain)(r))
}

func TestErrorsOfDecodersAreNotTakenForTagErrors(t *testing.T) {
	var out struct {
		X selfReading `json:"x"`
	}
	err := wire.UnmarshalJSON([]byte(`{"x":{"N":"hunter2"}}`), &out)
	if err == nil || err.Error() != "x: want a valid wire_test.selfReading" {
		t.Errorf("UnmarshalJSON = %v", err)
	}
}

func TestJSONNumbersInStringsAreNumbers(t *testing.T) {
	for _, text := range []string{`"1.50"`, `"-0"`, `"1e3"`, `"\u0031"`, `"abc"`, `""`, `" 1"`, `"1 "`, `"01"`, `"1,2"`, `"NaN"`, `"null"`, `null`, `true`, `[1]`} {
		var got, want json.Number
		err, wantErr := wire.UnmarshalJSON([]byte(text), &got), json.Unmarshal([]byte(text), &want)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("UnmarshalJSON(%s) = %q, %v, want %q, %v", text, got, err, want, wantErr)
		}
		if err != nil && strings.Contains(err.Error(), "abc") {
			t.Errorf("the error %q quotes the string", err)
		}
	}
}

// The JSON library treats a json.Number as a string.
func TestJSONNumbersKeepTheirSpelling(t *testing.T) {
	type numbers struct {
		Field json.Number            `json:"field,omitempty"`
		Map   map[string]json.Number `json:"map,omitempty"`
		Any   any                    `json:"any,omitempty"`
	}
	for _, in := range []numbers{
		{Field: "1.50", Map: map[string]json.Number{"a": "1e3"}, Any: json.Number("12345678901234567890")},
		{Map: map[string]json.Number{"empty": ""}},
	} {
		want, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.MarshalJSON(in)
		if err != nil || string(got) != string(want) {
			t.Errorf("MarshalJSON = %s, %v, want %s", got, err, want)
		}
	}
	for _, body := range []string{`{"field":1.50}`, `{"field":"7"}`, `{"field":null,"map":{"a":-0}}`} {
		var want, got numbers
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		if err := wire.UnmarshalJSON([]byte(body), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (-encoding/json +wire):\n%s", body, err, cmp.Diff(want, got))
		}
	}
	if body, err := wire.MarshalJSON(map[string]any{"n": json.Number("hunter2")}); err == nil {
		t.Errorf("MarshalJSON = %s, want an error for an invalid number", body)
	}
}
