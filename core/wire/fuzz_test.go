// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

func oddJSON() []string {
	return []string{
		``, `null`, `{}`, `[]`, `{"a":1,"a":[2.5,-0,1e9,"\ud83d\ude00\ud800",true,false,null,{}]}`, `{"a":01}`, "{\"a\":\"\xff\x01\"}",
		`{"metadata":{"name":"a","managedFields":[{"manager":"m"}],"namespace":"b","uid":"u","resourceVersion":"7"}}`,
		" { \"m\\u0065tadata\" : { \"managedFields\" : [ ] , \"name\" : null } } ", strings.Repeat(`{"a":[`, 20),
	}
}

// Values in empty interfaces must be accepted exactly if encoding/json accepts them, with the same result.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range oddJSON() {
		f.Add([]byte(s))
	}
	f.Add(podJSON(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want map[string]any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		wantErr := dec.Decode(&want)
		if wantErr == nil {
			if _, err := dec.Token(); err != io.EOF {
				wantErr = err
			}
		}
		fits := true
		wantNumbers, _ := numbers(want, &fits).(map[string]any)

		var got map[string]any
		err := wire.UnmarshalJSON(data, &got)
		if (err == nil) != (wantErr == nil && fits && json.Valid(data)) {
			t.Fatalf("UnmarshalJSON = %v, encoding/json says %v", err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, wantNumbers) {
			t.Errorf("(-encoding/json +wire):\n%s", cmp.Diff(wantNumbers, got))
		}

		var free freeForm
		if err := wire.UnmarshalJSON(data, &free); err == nil {
			if _, err := wire.MarshalJSON(&free); err != nil {
				t.Errorf("the decoded value cannot be encoded: %v", err)
			}
		}
	})
}

// numbers replaces each json.Number by the value that an unstructured object has.
func numbers(v any, fits *bool) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = numbers(value, fits)
		}
	case []any:
		for i, value := range v {
			v[i] = numbers(value, fits)
		}
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		number, err := strconv.ParseFloat(v.String(), 64)
		*fits = *fits && err == nil
		return number
	}
	return v
}

// The items of a list must not depend on the sizes of the reads.
func FuzzReadList(f *testing.F) {
	for encoding := range allEncodings() {
		body, err := encodeList(smallList(), encoding)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(encoding), body)
		f.Add(uint8(encoding), body[:len(body)/2])
	}
	f.Add(uint8(wire.JSON), []byte(`{"items":[{},{"a":1}],"kind":"PodList","metadata":{}}`))
	f.Add(uint8(wire.JSON), []byte(`{"kind":"Pod"}`))
	f.Add(fuzzTable, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"}],`+
		`"rows":[{"cells":["a"],"object":{"metadata":{"name":"a"}}}, {"object":{"metadata":null}} ]}`))
	f.Add(uint8(wire.Protobuf), []byte("k8s\x00\x0a\x09\x12\x07PodList\x12\x80\x80\x80\x80\x01"))
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		encoding := encodingOf(n)
		limits := &wire.Limits{ObjectBytes: 1 << 16}
		read := func(r io.Reader) (items []string, meta metav1.ListMeta, failed bool) {
			o := fuzzOptions(n, limits)
			meta, err := wire.ReadList(r, encoding.MediaType(), o, func(p wire.Packed) error {
				items = append(items, string(p.Bytes()))
				return nil
			})
			return items, meta, err != nil
		}
		items, meta, failed := read(bytes.NewReader(body))
		slowItems, slowMeta, slowFailed := read(iotest.OneByteReader(bytes.NewReader(body)))
		if !reflect.DeepEqual(items, slowItems) || failed != slowFailed || !reflect.DeepEqual(meta, slowMeta) {
			t.Errorf("at once: %q, error: %t; byte by byte: %q, error: %t", items, failed, slowItems, slowFailed)
		}
		for _, item := range items {
			if encoding == wire.JSON && !json.Valid([]byte(item)) {
				t.Errorf("item %q is not JSON", item)
			}
		}
	})
}

// The events must not depend on the sizes of the reads.
func FuzzEvents(f *testing.F) {
	for encoding := range allEncodings() {
		body, ends := watchBody(f, encoding)
		f.Add(uint8(encoding), body)
		f.Add(uint8(encoding), body[:ends[1]+9])
	}
	f.Add(uint8(wire.JSON), []byte(`{"object":{},"type":"ADDED"}{"type":"ERROR","object":{"reason":"Expired"}}`))
	f.Add(fuzzTable, []byte(`{"type":"ADDED","object":{"columnDefinitions":[],"rows":[{"object":{"metadata":{}}}]}}`+
		`{"type":"DELETED","object":{"rows":[ {"cells":[1],"object":{"metadata":{"uid":"u"}}} ],"columnDefinitions":null}}`))
	f.Add(uint8(wire.Protobuf), []byte("\x00\x00\x00\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, n uint8, body []byte) {
		encoding := encodingOf(n)
		limits := &wire.Limits{ObjectBytes: 1 << 16}
		read := func(r io.Reader) (events []change, failed bool) {
			for ev, err := range wire.Events(r, encoding.MediaType(), fuzzOptions(n, limits)) {
				if err != nil {
					return events, true
				}
				if encoding == wire.JSON && !json.Valid(ev.Object.Bytes()) {
					t.Errorf("object %q is not JSON", ev.Object.Bytes())
				}
				events = append(events, change{ev.Type, string(ev.Object.Bytes())})
			}
			return events, false
		}
		events, failed := read(bytes.NewReader(body))
		slowEvents, slowFailed := read(iotest.OneByteReader(bytes.NewReader(body)))
		if !reflect.DeepEqual(events, slowEvents) || failed != slowFailed {
			t.Errorf("at once: %q, error: %t; byte by byte: %q, error: %t", events, failed, slowEvents, slowFailed)
		}
	})
}

// encodingOf returns the encoding that the fuzzer chose.
func encodingOf(n uint8) wire.Encoding { return wire.Encoding(n % 2) }

// fuzzTable is the choice of tables in JSON.
const fuzzTable = 2 + uint8(wire.JSON)

// fuzzOptions returns the options that the fuzzer chose: for tables, or for objects of any kind.
func fuzzOptions(n uint8, limits *wire.Limits) *wire.ReadOptions {
	o := &wire.ReadOptions{Limits: limits}
	if n%4 == fuzzTable {
		o.Kind, o.Rows = metav1.SchemeGroupVersion.WithKind("Table"), wire.NewRows()
	}
	return o
}

// A packed object must return the same metadata as the decoded object. Bytes that are not an object must not cause a
// panic.
func FuzzPacked(f *testing.F) {
	for _, s := range oddJSON() {
		f.Add(uint8(wire.JSON), []byte(s))
	}
	f.Add(uint8(wire.JSON), podJSON(f))
	f.Add(uint8(wire.Protobuf), podProtobuf(f))
	f.Add(uint8(wire.Protobuf), []byte{})
	f.Add(uint8(wire.Protobuf), []byte("\x0a\x07\x0a\x01a\x8a\x01\x01x\x12\x00"))
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		p := wire.NewPacked(encodingOf(n), data)
		head, headErr := p.Head()
		meta, metaErr := p.Metadata()
		compact, compactErr := p.Compact()

		want := new(metav1.PartialObjectMetadata)
		if p.Decode(want) != nil || !unambiguous(p) {
			return
		}
		wantHead := wire.Head{Ref: core.RefOf(want), UID: want.UID, ResourceVersion: want.ResourceVersion}
		if headErr != nil || head != wantHead {
			t.Errorf("Head() = %v, %v; want %v", head, headErr, wantHead)
		}
		labels, labelsErr := p.Labels()
		annotations, annotationsErr := p.Annotations()
		if labelsErr != nil || annotationsErr != nil || !maps.Equal(labels, want.Labels) || !maps.Equal(annotations, want.Annotations) {
			t.Errorf("Labels() = %v, %v, Annotations() = %v, %v; want %v and %v", labels, labelsErr, annotations, annotationsErr, want.Labels, want.Annotations)
		}
		want.ManagedFields, want.TypeMeta = nil, metav1.TypeMeta{}
		if metaErr != nil || !reflect.DeepEqual(*meta, want.ObjectMeta) {
			t.Errorf("Metadata() = %v, %v; want %v", meta, metaErr, want.ObjectMeta)
		}
		got := new(metav1.PartialObjectMetadata)
		if compactErr != nil {
			t.Fatalf("Compact: %v", compactErr)
		}
		if err := compact.Decode(got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Compact() decodes to %v, %v; want %v", got, err, want)
		}
		if p.Encoding() == wire.JSON {
			compareCompact(t, data, compact.Bytes())
		}
	})
}

// unambiguous reports whether an object has no duplicate fields, and only values that all decoders accept.
func unambiguous(p wire.Packed) bool {
	if p.Encoding() == wire.JSON {
		return jsontext.Value(p.Bytes()).IsValid()
	}
	metadata, ok := fieldsOnce(p.Bytes(), 1)
	if !ok {
		return false
	}
	_, ok = fieldsOnce(metadata, 1, 3, 5, 6)
	return ok
}

// fieldsOnce reports whether a message has each of these fields at most once, and returns the first one.
func fieldsOnce(data []byte, nums ...protowire.Number) (first []byte, ok bool) {
	seen := map[protowire.Number]bool{}
	for len(data) > 0 {
		num, typ, size := protowire.ConsumeField(data)
		if size < 0 || seen[num] && slices.Contains(nums, num) {
			return nil, false
		}
		if num == nums[0] && typ == protowire.BytesType {
			_, _, n := protowire.ConsumeTag(data)
			first, _ = protowire.ConsumeBytes(data[n:])
		}
		seen[num] = true
		data = data[size:]
	}
	return first, true
}

func compareCompact(t *testing.T, data, compact []byte) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(compact, &got); err != nil {
		t.Fatalf("Compact() = %q: %v", compact, err)
	}
	delete(want, "kind")
	delete(want, "apiVersion")
	if meta, ok := want["metadata"].(map[string]any); ok {
		delete(meta, "managedFields")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Compact() (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// An envelope must be accepted exactly if apimachinery accepts it, with three exceptions that are rejected: an envelope
// without an object, map entries whose keys or values have another wire type, and field numbers that protobuf does not
// have, which generated code truncates: https://protobuf.dev/programming-guides/proto3/#assigning.
func FuzzEnvelope(f *testing.F) {
	body, err := envelope("v1", "Pod", podProtobuf(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(body[:len(body)/2])
	f.Add([]byte("k8s\x00\x12\x00"))
	f.Add([]byte("k8s\x00\x0a\x00\x12\x00\x1a\x00\x22\x00"))
	f.Add([]byte("k8s\x00\n\x00\x12\x00\xa8\xa8\xa8\xa8\xa8\xa8\xa8\x1a\x00"))
	f.Add([]byte("k8s\x00\n\x00\x12\x00\xa8\xa8\xa8\xa8\xa8\xa8\xa8\xa8\xa8\x1a\xa8\xa8\x1a"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := new(corev1.Pod)
		err := wire.Unmarshal(body, wire.MediaTypeProtobuf, got)
		wire.UnmarshalStatus(body, wire.MediaTypeProtobuf)

		rest, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
		var unknown runtime.Unknown
		want := new(corev1.Pod)
		ok = ok && unknown.Unmarshal(rest) == nil && unknown.Raw != nil && want.Unmarshal(unknown.Raw) == nil
		if err != nil && strings.Contains(err.Error(), "invalid field number") {
			return
		}
		if err != nil && strings.Contains(err.Error(), "variable length integer overflow") {
			return // apimachinery ignores the bits above 64
		}
		if err != nil && strings.Contains(err.Error(), "invalid map entry or quantity: wrong wire type") {
			return // apimachinery ignores the wire types in map entries
		}
		if ok && err != nil {
			t.Fatalf("Unmarshal = %v, but apimachinery accepts the envelope", err)
		}
		if ok && !reflect.DeepEqual(got.ObjectMeta, want.ObjectMeta) {
			t.Errorf("(-apimachinery +wire):\n%s", cmp.Diff(want, got))
		}
	})
}
