// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCBORIsEncodedAsApimachineryDoes(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		obj := apitest.Random(k, 7)
		got, err := wire.Marshal(obj, resourceOf(k), wire.CBOR)
		if err != nil {
			t.Fatalf("%v: Marshal: %v", k.Type, err)
		}
		want, err := inCBOR(obj)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v: Marshal = %.60x…, want %.60x…", k.Type, got, want)
		}
	}
}

func TestUnstructuredObjectsAreTheSameInCBORAndJSON(t *testing.T) {
	for _, g := range apitest.Goldens(t) {
		want := new(unstructured.Unstructured)
		if err := want.UnmarshalJSON(g.JSON); err != nil {
			t.Fatal(err)
		}
		body, err := inCBOR(want)
		if err != nil {
			t.Fatal(err)
		}
		got := new(unstructured.Unstructured)
		if err := wire.Unmarshal(body, wire.MediaTypeCBOR, got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v (-want +got):\n%s", g.Name, err, cmp.Diff(want, got))
		}
		again, err := wire.Marshal(got, resourceOf(g.Kind), wire.CBOR)
		if err != nil || !bytes.Equal(again, body) {
			t.Errorf("%s: Marshal of what was decoded is another body, %v", g.Name, err)
		}
	}
}

// cborValues are what a value can be in CBOR, as the member a of a map.
func cborValues() []struct {
	name, hex string
	want      any
	wantErr   string
} {
	return []struct {
		name, hex string
		want      any
		wantErr   string
	}{
		{"a small integer", "17", int64(23), ""},
		{"integers of each size", "86 1818 19ffff 1affffffff 1b7fffffffffffffff 20 3b7fffffffffffffff", []any{int64(24), int64(65535), int64(math.MaxUint32), int64(math.MaxInt64), int64(-1), int64(math.MinInt64)}, ""},
		{"an integer that fits only if it had no sign", "1b8000000000000000", nil, "does not fit 64 bits"},
		{"an integer below the smallest", "3b8000000000000000", nil, "does not fit 64 bits"},
		{"a big number", "c249010000000000000000", nil, "does not fit 64 bits"},
		{"floats of each size", "84 f93c00 f90001 fa47c35000 fb3ff199999999999a", []any{1.0, 5.960464477539063e-8, 100000.0, 1.1}, ""},
		{"floats below zero", "82 f9c400 f98000", []any{-4.0, math.Copysign(0, -1)}, ""},
		{"a float without end", "f97c00", nil, "not finite"},
		{"no number", "fb7ff8000000000000", nil, "not finite"},
		{"literals", "83 f4 f5 f6", []any{false, true, nil}, ""},
		{"undefined", "f7", nil, "simple value"},
		{"another simple value", "f8ff", nil, "simple value"},
		{"a byte string", "43616263", "abc", ""},
		{"a text string", "63616263", "abc", ""},
		{"a text string that is not UTF-8", "61ff", nil, "not UTF-8"},
		{"a byte string that is not UTF-8", "4361ff62", "a\ufffdb", ""},
		{"strings in chunks", "82 5f41614162ff 7f616160ff", []any{"ab", "a"}, ""},
		{"chunks of another type", "5f6161ff", nil, "chunks"},
		{"chunks in chunks", "5f5f4161ffff", nil, "chunks"},
		{"bytes for base64", "d64401020304", "AQIDBA==", ""},
		{"bytes for base64 of URLs", "d542fbff", "-_8", ""},
		{"bytes for base16", "d7420aff", "0AFF", ""},
		{"a tag that means nothing to bytes", "d66161", "a", ""},
		{"a time as text", "c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z", ""},
		{"a time as a number", "82 c11a514b67b0 c1fb41d452d9ec200000", []any{"2013-03-21T20:04:00Z", "2013-03-21T20:04:00.5Z"}, ""},
		{"a time as something else", "c1f5", nil, "no number"},
		{"a time before the first year", "c13b0000100000000000", nil, "outside the years"},
		{"a tag nobody knows", "d9270f01", int64(1), ""},
		{"arrays and maps", "82 80 a1 4162 81 a0", []any{[]any{}, map[string]any{"b": []any{map[string]any{}}}}, ""},
		{"arrays and maps without a count", "9f 01 bf 6162 9f ff ff ff", []any{int64(1), map[string]any{"b": []any{}}}, ""},
		{"a name that is no string", "a1 01 01", nil, "no string"},
		{"a duplicate name", "a2 4162 01 6162 02", nil, "duplicate"},
		{"a break where none can be", "ff", nil, "malformed"},
		{"a break after a name", "bf 4162 ff", nil, "malformed"},
		{"reserved bits", "1c", nil, "malformed"},
		{"an integer without an end", "1f", nil, "malformed"},
		{"an array larger than any", "9bffffffffffffffff", nil, "malformed"},
		{"an array that lies", "9a7fffffff", nil, "unexpected EOF"},
		{"a map that lies", "ba7fffffff", nil, "unexpected EOF"},
		{"a string that lies", "5b7fffffffffffffff", nil, "unexpected EOF"},
	}
}

func TestValuesInCBOR(t *testing.T) {
	for _, tt := range cborValues() {
		t.Run(tt.name, func(t *testing.T) {
			p := wire.NewPacked(wire.CBOR, append(unhex(t, "d9d9f7 a1 43616e79"), unhex(t, tt.hex)...))
			for name, obj := range map[string]core.Object{"of any kind": new(unstructured.Unstructured), "typed": new(freeForm)} {
				err := p.Decode(obj)
				if tt.wantErr != "" {
					if name == "typed" && tt.hex == "1b8000000000000000" {
						continue // a typed field may be unsigned
					}
					if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
						t.Errorf("%s: Decode = %v, want an error with %q", name, err, tt.wantErr)
					}
					continue
				}
				var got any
				switch obj := obj.(type) {
				case *unstructured.Unstructured:
					got = obj.Object["any"]
				case *freeForm:
					got = obj.Any
				}
				if err != nil || !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%s: Decode = %#v, %v; want %#v", name, got, err, tt.want)
				}
			}
		})
	}
}

func TestCBOROfOddObjects(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"an array", "\x80", "want an object, not an array"},
		{"a string", "\x61a", "want an object, not a string"},
		{"more after the end", "\xa0\xa0", "more after the end"},
		{"nothing", "", "unexpected EOF"},
		{"only a tag", "\xd9\xd9\xf7", "unexpected EOF"},
		{"nesting without end", strings.Repeat("\x81", 20000), "deeper than"},
		{"tags without end", strings.Repeat("\xc6", 20000), "deeper than"},
	} {
		for _, obj := range []core.Object{new(unstructured.Unstructured), new(freeForm)} {
			if err := wire.NewPacked(wire.CBOR, []byte(tt.data)).Decode(obj); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s into a %T: %v, want an error with %q", tt.name, obj, err, tt.want)
			}
		}
	}
}

func TestReadListOfOddCBOR(t *testing.T) {
	tests := []struct {
		name, hex string
		want      int // items
		wantErr   string
	}{
		{"a list", "a2 446b696e64 47506f644c697374 456974656d73 82 a0 d9d9f7a0", 2, ""},
		{"without counts", "bf 456974656d73 9f a0 a0 ff ff", 2, ""},
		{"items are null", "a1 456974656d73 f6", 0, ""},
		{"names in text", "a1 656974656d73 81a0", 1, ""},
		{"no list", "a1 446b696e64 43506f64", 0, `of kind "Pod"`},
		{"neither kind nor items", "a0", 0, "not a list"},
		{"an array", "80", 0, "not a list"},
		{"items are a map", "a1 456974656d73 a0", 0, "want an array"},
		{"an item is null", "a1 456974656d73 82 a0 f6", 1, "want a map"},
		{"a name that is no string", "a1 01 01", 0, "no string"},
		{"a break in a map with a count", "a1 ff", 0, "malformed"},
		{"an item with a mistake", "a1 456974656d73 82 a0 a1 4161 1c", 1, "malformed"},
		{"metadata is a string", "a2 486d65746164617461 4161 456974656d73 80", 0, "want an object"},
		{"more after the end", "a1 456974656d73 80 80", 0, "more after the end"},
		{"JSON", hex.EncodeToString([]byte(`{"kind":"PodList"}`)), 0, "not a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items := 0
			_, err := wire.ReadList(bytes.NewReader(unhex(t, tt.hex)), wire.MediaTypeCBOR, nil, func(wire.Packed) error { items++; return nil })
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("ReadList = %v, want %q", err, tt.wantErr)
			}
			if items != tt.want {
				t.Errorf("ReadList had %d items, want %d", items, tt.want)
			}
		})
	}
}

func TestEventsOfOddCBOR(t *testing.T) {
	tests := []struct{ name, hex, want string }{
		{"a type nobody knows", "a2 4474797065 41 4d 466f626a656374 a0", `unknown type "M"`},
		{"no object", "a1 4474797065 454144444544", "ADDED without an object"},
		{"an object that is null", "a2 4474797065 454144444544 466f626a656374 f6", "something else than an object"},
		{"an array", "80", "malformed"},
		{"JSON", hex.EncodeToString([]byte(`{"type":"ADDED","object":{}}`)), "watch event"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readEvents(bytes.NewReader(unhex(t, tt.hex)), streamType(wire.CBOR), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Events = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A map whose count shrinks across the edge of a head must stay a map.
func TestCompactCBORCutsOneMember(t *testing.T) {
	for n := range 30 {
		meta := map[string]any{"managedFields": []any{map[string]any{"manager": "m"}}}
		for i := range n {
			meta[strings.Repeat("x", i+1)] = int64(i)
		}
		data, err := direct.Marshal(map[string]any{"kind": "A", "metadata": meta, "spec": map[string]any{"managedFields": true}})
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"with the tag": append([]byte("\xd9\xd9\xf7"), data...), "without": data} {
			got, err := wire.NewPacked(wire.CBOR, data).Compact()
			if err != nil {
				t.Fatal(err)
			}
			delete(meta, "managedFields")
			want, err := direct.Marshal(map[string]any{"kind": "A", "metadata": meta, "spec": map[string]any{"managedFields": true}})
			if err != nil || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d members %s: Compact = %x, want %x, %v", n, name, got.Bytes(), want, err)
			}
		}
	}
	indefinite := "\xbf\x48metadata\xbf\x4dmanagedFields\x80\x44name\x41a\xff\xff"
	got, err := wire.NewPacked(wire.CBOR, []byte(indefinite)).Compact()
	if want := "\xbf\x48metadata\xbf\x44name\x41a\xff\xff"; err != nil || string(got.Bytes()) != want {
		t.Errorf("Compact = %x, %v; want %x", got.Bytes(), err, want)
	}
}

func TestTranscode(t *testing.T) {
	const text = `{"a":[1,-2,2.5,"x",true,null],"kind":"A","f":1.0}`
	p, err := wire.NewPacked(wire.JSON, []byte(text)).Transcode(wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	back, err := p.Transcode(wire.JSON)
	if want := `{"a":[1,-2,2.5,"x",true,null],"f":1.0,"kind":"A"}`; err != nil || string(back.Bytes()) != want {
		t.Errorf("Transcode and back = %s, %v; want %s", back.Bytes(), err, want)
	}
	if same, err := back.Transcode(wire.JSON); err != nil || !bytes.Equal(same.Bytes(), back.Bytes()) {
		t.Errorf("Transcode to the same = %s, %v", same.Bytes(), err)
	}
	for _, p := range []wire.Packed{wire.NewPacked(wire.Protobuf, podProtobuf(t)), wire.NewPacked(wire.JSON, []byte("[]"))} {
		if _, err := p.Transcode(wire.CBOR); err == nil {
			t.Errorf("Transcode of %s %.10q = nil", p.Encoding(), p.Bytes())
		}
	}
	if _, err := p.Transcode(wire.Protobuf); err == nil || !strings.Contains(err.Error(), "takes a type") {
		t.Errorf("Transcode to protobuf = %v", err)
	}
}

// What is decoded of CBOR must be what apimachinery makes of it, and the same in the two ways it is done.
func FuzzCBOR(f *testing.F) {
	for _, tt := range cborValues() {
		f.Add(append(unhex(f, "a1 43616e79"), unhex(f, tt.hex)...))
	}
	f.Add(podCBOR(f).Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p := wire.NewPacked(wire.CBOR, data)
		got, typed := new(unstructured.Unstructured), new(freeForm)
		err, typedErr := p.Decode(got), p.Decode(typed)
		text, textErr := p.Transcode(wire.JSON)
		if textErr == nil && !json.Valid(text.Bytes()) {
			t.Fatalf("Transcode = %s, which is not JSON", text.Bytes())
		}
		if err == nil && textErr != nil {
			t.Errorf("Transcode = %v of what is decoded", textErr)
		}
		if err == nil && typedErr == nil && got.Object != nil {
			if value, ok := got.Object["any"]; ok && !reflect.DeepEqual(value, typed.Any) {
				t.Errorf("the member any is %#v in a map, %#v in a struct", value, typed.Any)
			}
		}
		var want any
		wantErr := direct.Unmarshal(data, &want)
		object, isObject := want.(map[string]any)
		if err == nil && errors.Is(wantErr, io.EOF) || wantErr != nil || !isObject && want != nil || differs(data) {
			return // we take what they refuse, such as tags of other types
		}
		if err != nil {
			t.Fatalf("Decode = %v, apimachinery takes it", err)
		}
		if !reflect.DeepEqual(got.Object, object) {
			t.Errorf("(-apimachinery +wire):\n%s", cmp.Diff(object, got.Object))
		}
	})
}

// differs reports whether there may be what we read otherwise: tags of times, and byte strings that are not UTF-8.
func differs(data []byte) bool {
	return bytes.ContainsAny(data, "\xc0\xc1") || !bytes.Equal(bytes.ToValidUTF8(data, nil), data)
}

func TestTheErrorsOfCBORKeepTheEnd(t *testing.T) {
	data := podCBOR(t).Bytes()
	for _, n := range []int{0, 1, 10, len(data) / 2, len(data) - 1} {
		for _, obj := range []core.Object{new(unstructured.Unstructured), new(corev1.Pod)} {
			if err := wire.NewPacked(wire.CBOR, data[:n]).Decode(obj); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("first %d bytes into a %T: %v, want io.ErrUnexpectedEOF", n, obj, err)
			}
		}
	}
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Reason: metav1.StatusReasonConflict, Code: 409}
	body, err := inCBOR(status)
	if err != nil {
		t.Fatal(err)
	}
	if got := wire.UnmarshalStatus(body, wire.MediaTypeCBOR); got == nil || got.Reason != metav1.StatusReasonConflict {
		t.Errorf("UnmarshalStatus = %v, want the conflict", got)
	}
}
