// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/core/wire"
)

// smallList is a list of three pods with all metadata of a list.
func smallList() *corev1.PodList {
	pod := func(name string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", Labels: map[string]string{"a": `"}],[{\`}},
			Spec:       corev1.PodSpec{NodeName: "n"},
		}
	}
	return &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "12", Continue: "more", RemainingItemCount: new(int64(9))},
		Items:    []corev1.Pod{pod("a"), pod("b"), pod("c")},
	}
}

// readPods decodes a body with ReadList.
func readPods(r io.Reader, contentType string, limits *wire.Limits) (*corev1.PodList, error) {
	list := new(corev1.PodList)
	meta, err := wire.ReadList(r, contentType, &wire.ReadOptions{Limits: limits}, func(p wire.Packed) error {
		var pod corev1.Pod
		err := p.Decode(&pod)
		list.Items = append(list.Items, pod)
		return err
	})
	list.ListMeta = meta
	return list, err
}

func allEncodings() iter.Seq[wire.Encoding] {
	return func(yield func(wire.Encoding) bool) { _ = yield(wire.JSON) && yield(wire.Protobuf) }
}

func TestReadListYieldsEveryItem(t *testing.T) {
	for encoding := range allEncodings() {
		for _, list := range []*corev1.PodList{smallList(), {ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, {}} {
			want := list.DeepCopy()
			body, err := encodeList(list, encoding)
			if err != nil {
				t.Fatal(err)
			}
			for name, r := range map[string]io.Reader{
				"at once": bytes.NewReader(body), "byte by byte": iotest.OneByteReader(bytes.NewReader(body)),
				"with the end": iotest.DataErrReader(bytes.NewReader(body)),
			} {
				got, err := readPods(r, encoding.MediaType(), nil)
				if err != nil {
					t.Errorf("%s %s: %v", encoding, name, err)
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s (-want +got):\n%s", encoding, name, diff)
				}
			}
		}
	}
}

// A broken connection must not look like a shorter list.
func TestTruncatedListIsAnError(t *testing.T) {
	for encoding := range allEncodings() {
		body, err := encodeList(smallList(), encoding)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(body) {
			got, err := readPods(bytes.NewReader(body[:n]), encoding.MediaType(), nil)
			if err == nil && encoding == wire.Protobuf && len(got.Items) == 3 && n >= len(body)-4 {
				continue // only the last two fields of the envelope, which are empty, are missing
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut to %d of %d bytes: %v, want io.ErrUnexpectedEOF", encoding, n, len(body), err)
			}
			got, err = readPods(io.MultiReader(bytes.NewReader(body[:n]), failingReader{}), encoding.MediaType(), nil)
			if !errors.Is(err, errBroken) {
				t.Errorf("%s broken after %d of %d bytes: %v with %d items, want %v", encoding, n, len(body), err, len(got.Items), errBroken)
			}
		}
	}
}

func TestReadListHandlesUnusualJSON(t *testing.T) {
	tests := []struct {
		name, body string
		want       int // items
		wantErr    string
	}{
		{"items before the kind", `{"items":[{},{}],"metadata":{"resourceVersion":"5"},"kind":"PodList"}`, 2, ""},
		{"no kind", `{"metadata":{},"items":[{}]}`, 1, ""},
		{"items are null", `{"kind":"PodList","items":null}`, 0, ""},
		{"items are missing", `{"kind":"PodList"}`, 0, ""},
		{"metadata is null", `{"kind":"PodList","metadata":null,"items":[{}]}`, 1, ""},
		{"unknown members", `{"kind":"PodList","x":{"items":[1]},"items":[{}],"y":[[]]}`, 1, ""},
		{"white space", " \n{ \"items\" : [ {} , {} ] , \"kind\" : \"PodList\" } \n ", 2, ""},
		{"a kind that is not a list", `{"kind":"Pod","metadata":{},"items":[{}]}`, 0, `not a list but of kind "Pod"`},
		{"a status", `{"kind":"Status","status":"Success"}`, 0, `not a list but of kind "Status"`},
		{"a table", `{"kind":"Table","rows":[]}`, 0, `not a list but of kind "Table"`},
		{"a kind that is not a string", `{"kind":7,"items":[]}`, 0, "not a list"},
		{"neither kind nor items", `{}`, 0, "not a list"},
		{"an array", `[]`, 0, "want {, not ["},
		{"null", `null`, 0, "want {"},
		{"items are an object", `{"kind":"PodList","items":{}}`, 0, "want [, not {"},
		{"an item is null", `{"kind":"PodList","items":[{},null]}`, 1, "want an object as list item, not null"},
		{"an item is a string", `{"kind":"PodList","items":["a"]}`, 0, "want an object as list item"},
		{"metadata is a string", `{"kind":"PodList","metadata":"a","items":[]}`, 0, "want an object, not a string"},
		{"a syntax error in an item", `{"kind":"PodList","items":[{},{a}]}`, 1, "invalid character"},
		{"more after the end", `{"kind":"PodList","items":[]}{}`, 0, "more after the end"},
		{"invalid data after the end", `{"kind":"PodList","items":[]}x`, 0, "invalid character"},
		{"HTML", `<html>`, 0, "invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items := 0
			_, err := wire.ReadList(strings.NewReader(tt.body), "", nil, func(wire.Packed) error { items++; return nil })
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("ReadList(%s) = %v, want %q", tt.body, err, tt.wantErr)
			}
			if items != tt.want {
				t.Errorf("ReadList(%s) had %d items, want %d", tt.body, items, tt.want)
			}
		})
	}
}

func TestReadListHandlesUnusualProtobuf(t *testing.T) {
	field := func(num protowire.Number, value string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), value))
	}
	kind := field(1, field(1, "v1")+field(2, "PodList"))
	list := field(1, field(2, "5")) + field(2, "") + field(2, "")
	number := string(protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 300))
	fixed32 := string(protowire.AppendFixed32(protowire.AppendTag(nil, 8, protowire.Fixed32Type), 1))
	fixed64 := string(protowire.AppendFixed64(protowire.AppendTag(nil, 8, protowire.Fixed64Type), 1))
	length := func(num protowire.Number, n uint64) string { // the length of a missing field
		return string(protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.BytesType), n))
	}
	tests := []struct {
		name, body string
		want       int // items
		wantErr    string
	}{
		{"a list", "k8s\x00" + kind + field(2, list), 2, ""},
		{"an empty list", "k8s\x00" + kind + field(2, ""), 0, ""},
		{"items before the metadata", "k8s\x00" + kind + field(2, field(2, "")+field(1, "")), 1, ""},
		{"unknown fields", "k8s\x00" + field(7, "x") + kind + number + field(2, number+field(5, "yy")+list+fixed32+fixed64) + fixed64, 2, ""},
		{"a kind that is not a list", "k8s\x00" + field(1, field(2, "Pod")) + field(2, list), 0, `not a list but of kind "Pod"`},
		{"no kind", "k8s\x00" + field(2, list), 0, "not a list"},
		{"an empty kind", "k8s\x00" + field(1, "") + field(2, list), 0, "not a list"},
		{"no list", "k8s\x00" + kind, 0, "without an object"},
		{"only the prefix", "k8s\x00", 0, "without an object"},
		{"another prefix", "k8s\x01", 0, "does not start with"},
		{"JSON", `{"kind":"PodList"}`, 0, "does not start with"},
		{"an item that exceeds the list", "k8s\x00" + kind + field(2, length(2, 100)), 0, "overruns"},
		{"a length near the largest integer", "k8s\x00" + kind + field(2, field(2, "")+length(2, math.MaxInt64)), 1, "overruns"},
		{"a list of an impossible length", "k8s\x00" + kind + length(2, math.MaxUint64), 0, "negative size"},
		{"a tag that exceeds the list", "k8s\x00" + kind + length(2, 1) + "\xf2\x01\x00", 0, "overruns"},
		{"a group", "k8s\x00" + kind + field(2, "\x0b"), 0, "unexpected wire type"},
		{"field zero", "k8s\x00\x02\x00", 0, "out of range"},
		{"a number without an end", "k8s\x00" + strings.Repeat("\xff", 20), 0, "number too long"},
		{"broken metadata", "k8s\x00" + kind + field(2, field(1, "\xff")), 0, "EOF"},
		{"a broken kind", "k8s\x00" + field(1, "\xff"), 0, "EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items := 0
			_, err := wire.ReadList(strings.NewReader(tt.body), wire.MediaTypeProtobuf, nil, func(wire.Packed) error { items++; return nil })
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("ReadList = %v, want %q", err, tt.wantErr)
			}
			if items != tt.want {
				t.Errorf("ReadList had %d items, want %d", items, tt.want)
			}
		})
	}
}

func TestReadListRejectsOtherContentTypes(t *testing.T) {
	_, err := wire.ReadList(strings.NewReader("<html>"), "text/html", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "text/html") {
		t.Errorf("ReadList = %v, want an error that names text/html", err)
	}
}

// An error of the callback ends the read and is returned unchanged, even io.EOF.
func TestErrorOfTheCallbackIsReturnedUnchanged(t *testing.T) {
	for encoding := range allEncodings() {
		body, err := encodeList(smallList(), encoding)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, errBroken} {
			items := 0
			_, err := wire.ReadList(bytes.NewReader(body), encoding.MediaType(), nil, func(wire.Packed) error {
				if items++; items == 2 {
					return want
				}
				return nil
			})
			if err != want || items != 2 {
				t.Errorf("%s: ReadList = %v after %d items, want %v after 2", encoding, err, items, want)
			}
		}
	}
}

// The limit applies to each object, not to the list.
func TestLimitAppliesToEachItem(t *testing.T) {
	for encoding := range allEncodings() {
		list := new(corev1.PodList)
		for i := range 100 {
			list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), UID: "0123456789"}})
		}
		body, err := encodeList(list, encoding)
		if err != nil {
			t.Fatal(err)
		}
		var largest int64
		_, err = wire.ReadList(bytes.NewReader(body), encoding.MediaType(), nil, func(p wire.Packed) error {
			largest = max(largest, int64(p.Len()))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := readPods(bytes.NewReader(body), encoding.MediaType(), &wire.Limits{ObjectBytes: largest})
		if err != nil || len(got.Items) != 100 {
			t.Errorf("%s: with a limit of the largest item, %d: %d items, %v", encoding, largest, len(got.Items), err)
		}
		_, err = readPods(bytes.NewReader(body), encoding.MediaType(), &wire.Limits{ObjectBytes: largest / 2})
		if tooLarge, ok := errors.AsType[*wire.TooLargeError](err); !ok || tooLarge.LimitBytes != largest/2 || tooLarge.What != "list item" {
			t.Errorf("%s: with half of that limit: %v, want a TooLargeError", encoding, err)
		}
	}
}

// endless reads the start of a body, and then the letter a forever.
type endless struct {
	start string
	read  int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.start)
	e.start = e.start[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'a'
	}
	e.read += int64(len(p))
	return len(p), nil
}

func TestEndlessItemIsRejectedInBoundedMemory(t *testing.T) {
	const limit = 1 << 20
	envelope := "k8s\x00" + string(protowire.AppendString([]byte{0x0a}, "\x12\x07PodList"))
	hugeList := protowire.AppendVarint([]byte{0x12}, 1<<50)
	hugeItem := protowire.AppendVarint(append(hugeList, 0x12), 1<<40)
	tests := []struct {
		name, start string
		encoding    wire.Encoding
	}{
		{"a JSON item", `{"kind":"PodList","items":[{"a":"`, wire.JSON},
		{"a JSON member", `{"kind":"PodList","other":"`, wire.JSON},
		{"the first JSON name", `{"`, wire.JSON},
		{"a protobuf item", envelope + string(hugeItem), wire.Protobuf},
		{"the protobuf kind", "k8s\x00" + string(protowire.AppendVarint([]byte{0x0a}, 1<<40)), wire.Protobuf},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := &endless{start: tt.start}
			before := allocated()
			_, err := readPods(body, tt.encoding.MediaType(), &wire.Limits{ObjectBytes: limit})
			if _, ok := errors.AsType[*wire.TooLargeError](err); !ok {
				t.Errorf("ReadList = %v, want a TooLargeError", err)
			}
			if used := allocated() - before; used > 8*limit {
				t.Errorf("ReadList allocated %d bytes under a limit of %d", used, limit)
			}
			if body.read > 2*limit {
				t.Errorf("ReadList read %d bytes under a limit of %d", body.read, limit)
			}
		})
	}
}

// A wrong length must not allocate memory for data that does not arrive.
func TestWrongLengthAllocatesNothing(t *testing.T) {
	body := "k8s\x00" + string(protowire.AppendString([]byte{0x0a}, "\x12\x07PodList"))
	body += string(protowire.AppendVarint([]byte{0x12}, 1<<40)) + string(protowire.AppendVarint([]byte{0x12}, 60<<20))
	frame := binary.BigEndian.AppendUint32(nil, 60<<20)
	before := allocated()
	if _, err := readPods(strings.NewReader(body), wire.MediaTypeProtobuf, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ReadList = %v, want io.ErrUnexpectedEOF", err)
	}
	for _, err := range wire.Events(bytes.NewReader(frame), wire.MediaTypeProtobuf, nil) {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Events = %v, want io.ErrUnexpectedEOF", err)
		}
	}
	if used := allocated() - before; used > 1<<20 {
		t.Errorf("reading allocated %d bytes for a body of %d", used, len(body))
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// An item is yielded before the next one has arrived.
func TestItemsAreYieldedAsTheyArrive(t *testing.T) {
	for encoding := range allEncodings() {
		body, err := encodeList(smallList(), encoding)
		if err != nil {
			t.Fatal(err)
		}
		second := bytes.Index(body, []byte(map[wire.Encoding]string{wire.JSON: `"b"`, wire.Protobuf: "\n\x01b"}[encoding]))
		r, w := io.Pipe()
		items := make(chan struct{}, 3)
		go func() {
			_, _ = w.Write(body[:second])
			<-items // the first item, or the test hangs
			_, _ = w.Write(body[second:])
			_ = w.Close()
		}()
		_, err = wire.ReadList(r, encoding.MediaType(), nil, func(wire.Packed) error { items <- struct{}{}; return nil })
		if err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

func TestPackedItemIsReadAsWrittenByApimachinery(t *testing.T) {
	list := smallList()
	body, err := encodeList(list, wire.Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	_, err = wire.ReadList(bytes.NewReader(body), wire.MediaTypeProtobuf, nil, func(p wire.Packed) error {
		got = append(got, bytes.Clone(p.Bytes()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	for i := range list.Items {
		data, err := list.Items[i].Marshal()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, data)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("items = %x, want %x", got, want)
	}
}
