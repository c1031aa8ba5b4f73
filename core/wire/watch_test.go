// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/wire"
)

// change is an event as used by tests.
type change struct {
	Type core.EventType
	Name string
}

// encodeEvent encodes an event as a server does, with apimachinery's types.
func encodeEvent(t testing.TB, encoding wire.Encoding, eventType core.EventType, obj runtime.Object) []byte {
	t.Helper()
	ev := metav1.WatchEvent{Type: string(eventType)}
	kind := obj.GetObjectKind().GroupVersionKind()
	if encoding == wire.JSON {
		raw, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		ev.Object.Raw = raw
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		return append(data, '\n')
	}
	message, err := obj.(generated).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if ev.Object.Raw, err = envelope(kind.GroupVersion().String(), kind.Kind, message); err != nil {
		t.Fatal(err)
	}
	data, err := ev.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

func podEvent(t testing.TB, encoding wire.Encoding, c change) []byte {
	t.Helper()
	return encodeEvent(t, encoding, c.Type, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Annotations: map[string]string{"a": `}{"`}},
	})
}

// readEvents returns the changes in the body of a watch.
func readEvents(r io.Reader, contentType string, limits *wire.Limits) ([]change, error) {
	var changes []change
	for ev, err := range wire.Events(r, contentType, &wire.ReadOptions{Limits: limits}) {
		if err != nil {
			return changes, err
		}
		head, err := ev.Object.Head()
		if err != nil {
			return changes, err
		}
		changes = append(changes, change{ev.Type, head.Ref.Name})
	}
	return changes, nil
}

func someChanges() []change {
	return []change{{core.Added, "a"}, {core.Modified, "b"}, {core.Deleted, "c"}, {core.Bookmark, ""}}
}

func watchBody(t testing.TB, encoding wire.Encoding) (body []byte, ends []int) {
	t.Helper()
	for _, c := range someChanges() {
		body = append(body, podEvent(t, encoding, c)...)
		ends = append(ends, len(body))
	}
	return body, ends
}

// streamType is the content type of a watch.
func streamType(encoding wire.Encoding) string {
	return encoding.MediaType() + ";stream=watch"
}

func TestEventsYieldsEveryEvent(t *testing.T) {
	for encoding := range allEncodings() {
		body, _ := watchBody(t, encoding)
		for name, r := range map[string]io.Reader{
			"at once": bytes.NewReader(body), "byte by byte": iotest.OneByteReader(bytes.NewReader(body)),
			"with the end": iotest.DataErrReader(bytes.NewReader(body)),
		} {
			got, err := readEvents(r, streamType(encoding), nil)
			if diff := cmp.Diff(someChanges(), got); err != nil || diff != "" {
				t.Errorf("%s %s: %v (-want +got):\n%s", encoding, name, err, diff)
			}
		}
	}
}

func TestEventsOfEveryTypeHaveTheWholeObject(t *testing.T) {
	want := new(corev1.Pod)
	if err := json.Unmarshal(podJSON(t), want); err != nil {
		t.Fatal(err)
	}
	for encoding := range allEncodings() {
		body := encodeEvent(t, encoding, core.Modified, want)
		for ev, err := range wire.Events(bytes.NewReader(body), encoding.MediaType(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got := &corev1.Pod{TypeMeta: want.TypeMeta}
			if err := ev.Object.Decode(got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", encoding, diff)
			}
		}
	}
}

// A watch may end between two events. An end within an event must be an error.
func TestWatchThatEndsWithinAnEventIsAnError(t *testing.T) {
	for encoding := range allEncodings() {
		body, ends := watchBody(t, encoding)
		for n := range len(body) + 1 {
			whole, boundary := 0, n == 0
			for _, end := range ends {
				if n >= end {
					whole++
				}
				// In JSON the line break after an event may be missing.
				boundary = boundary || n == end || encoding == wire.JSON && n == end-1
			}
			got, err := readEvents(bytes.NewReader(body[:n]), encoding.MediaType(), nil)
			if boundary != (err == nil) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut to %d bytes: %v, want an error: %t", encoding, n, err, !boundary)
			}
			if len(got) < whole || len(got) > whole+1 {
				t.Errorf("%s cut to %d bytes: %d events, want those %d that are whole", encoding, n, len(got), whole)
			}
			_, err = readEvents(io.MultiReader(bytes.NewReader(body[:n]), failingReader{}), encoding.MediaType(), nil)
			if !errors.Is(err, errBroken) {
				t.Errorf("%s broken after %d bytes: %v, want %v", encoding, n, err, errBroken)
			}
		}
	}
}

// An event must not wait for the next bytes, which may arrive much later.
func TestEventIsYieldedBeforeTheNextBytesArrive(t *testing.T) {
	for encoding := range allEncodings() {
		r, w := io.Pipe()
		seen := make(chan change)
		go func() {
			for _, c := range someChanges() {
				body := podEvent(t, encoding, c)
				if encoding == wire.JSON {
					body = bytes.TrimSuffix(body, []byte("}\n")) // without the end of the event itself
				}
				_, _ = w.Write(body)
				if got := <-seen; got != c { // or the test hangs
					t.Errorf("%s: got %v, want %v", encoding, got, c)
				}
				if encoding == wire.JSON {
					_, _ = w.Write([]byte("}\n"))
				}
			}
			_ = w.Close()
		}()
		for ev, err := range wire.Events(r, encoding.MediaType(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			head, err := ev.Object.Head()
			if err != nil {
				t.Fatal(err)
			}
			seen <- change{ev.Type, head.Ref.Name}
		}
	}
}

func TestErrorEventEndsTheWatchWithAStatusError(t *testing.T) {
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   "Failure", Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old resource version: 1 (2)",
	}
	for encoding := range allEncodings() {
		body := podEvent(t, encoding, change{core.Added, "a"})
		body = append(body, encodeEvent(t, encoding, "ERROR", status)...)
		body = append(body, podEvent(t, encoding, change{core.Added, "never seen"})...)
		got, err := readEvents(bytes.NewReader(body), encoding.MediaType(), nil)
		if !errors.Is(err, core.ErrExpired) || len(got) != 1 {
			t.Errorf("%s: %d events, then %v; want one, then core.ErrExpired", encoding, len(got), err)
		}
		if se, ok := errors.AsType[*core.StatusError](err); !ok || se.Status.Message != status.Message {
			t.Errorf("%s: %v does not have the server's message", encoding, err)
		}
	}
}

func TestEventsHandlesUnusualJSON(t *testing.T) {
	tests := []struct {
		name, body string
		want       []change
		wantErr    string
	}{
		{"nothing", ``, nil, ""},
		{"only white space", "\n \n", nil, ""},
		{"the object before the type", `{"object":{"metadata":{"name":"a"}},"type":"ADDED"}{"object":{"metadata":{"name":"b"}},"x":[{}],"type":"DELETED"}`, []change{{core.Added, "a"}, {core.Deleted, "b"}}, ""},
		{"unknown members", `{"x":{"type":1},"type":"ADDED","y":[],"object":{"metadata":{"name":"a"}},"z":"}"}`, []change{{core.Added, "a"}}, ""},
		{"no line breaks", `{"type":"ADDED","object":{}}{"type":"ADDED","object":{}}`, []change{{core.Added, ""}, {core.Added, ""}}, ""},
		{"an unknown type", `{"type":"MOVED","object":{}}`, nil, `unknown type "MOVED"`},
		{"no type", `{"object":{}}`, nil, `unknown type ""`},
		{"a type that is not a string", `{"type":1,"object":{}}`, nil, `unknown type ""`},
		{"no object", `{"type":"ADDED"}`, nil, "ADDED without an object"},
		{"an object that is null", `{"type":"ADDED","object":null}`, nil, "is not a JSON object"},
		{"a status instead of events", `{"kind":"Status","status":"Failure","code":403}`, nil, `unknown type ""`},
		{"an array", `[]`, nil, "want {, not ["},
		{"invalid data after an event", `{"type":"ADDED","object":{}}x`, []change{{core.Added, ""}}, "invalid character"},
		{"a syntax error at the end of an event", `{"type":"ADDED","object":{},}`, []change{{core.Added, ""}}, "invalid character"},
		{"an error without a status", `{"type":"ERROR","object":{"code":"x"}}`, nil, "decode watch error event"},
		{"an error with no reason", `{"type":"ERROR","object":{"code":500}}`, nil, "internal error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readEvents(strings.NewReader(tt.body), wire.MediaTypeJSON, nil)
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("Events(%s) = %v, want %q", tt.body, err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Events(%s) (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestEventsHandlesUnusualProtobuf(t *testing.T) {
	field := func(num protowire.Number, value string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), value))
	}
	frame := func(message string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
	}
	object := field(2, field(1, "k8s\x00"+field(2, "")))
	tests := []struct {
		name, body string
		want       []change
		wantErr    string
	}{
		{"nothing", "", nil, ""},
		{"an event", frame(field(1, "ADDED") + object), []change{{core.Added, ""}}, ""},
		{"the object before the type", frame(object + field(1, "ADDED")), []change{{core.Added, ""}}, ""},
		{"unknown fields", frame("\x48\x01" + field(1, "ADDED") + field(7, "x") + object), []change{{core.Added, ""}}, ""},
		{"an empty frame", frame(""), nil, `unknown type ""`},
		{"an unknown type", frame(field(1, "MOVED") + object), nil, `unknown type "MOVED"`},
		{"no object", frame(field(1, "ADDED")), nil, "ADDED without an object"},
		{"an object without bytes", frame(field(1, "ADDED") + field(2, "")), nil, "ADDED without an object"},
		{"an object without an envelope", frame(field(1, "ADDED") + field(2, field(1, "{}"))), nil, "does not start with"},
		{"an envelope without an object", frame(field(1, "ADDED") + field(2, field(1, "k8s\x00"))), nil, "without an object"},
		{"a broken frame", frame("\xff"), nil, "protobuf: "},
		{"JSON", `{"type":"ADDED","object":{}}`, nil, "larger than the limit"},
		{"an error without a status", frame(field(1, "ERROR") + field(2, field(1, "k8s\x00"+field(2, "\xff")))), nil, "decode watch error event"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readEvents(strings.NewReader(tt.body), wire.MediaTypeProtobuf, nil)
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("Events = %v, want %q", err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventsRejectsOtherContentTypes(t *testing.T) {
	if _, err := readEvents(strings.NewReader("<html>"), "text/html", nil); err == nil || !strings.Contains(err.Error(), "text/html") {
		t.Errorf("Events = %v, want an error that names text/html", err)
	}
}

// The limit applies to each event, not to the stream.
func TestLimitAppliesToEachEvent(t *testing.T) {
	for encoding := range allEncodings() {
		event := podEvent(t, encoding, change{core.Added, "a"})
		size := int64(len(event))
		body := bytes.Repeat(event, 100)
		got, err := readEvents(bytes.NewReader(body), encoding.MediaType(), &wire.Limits{ObjectBytes: size})
		if err != nil || len(got) != 100 {
			t.Errorf("%s: with a limit of one event: %d events, %v", encoding, len(got), err)
		}
		_, err = readEvents(bytes.NewReader(body), encoding.MediaType(), &wire.Limits{ObjectBytes: size / 2})
		if tooLarge, ok := errors.AsType[*wire.TooLargeError](err); !ok || tooLarge.What != "watch event" {
			t.Errorf("%s: with half of that limit: %v, want a TooLargeError", encoding, err)
		}
		before := allocated()
		endlessEvent := &endless{start: `{"type":"ADDED","object":{"a":"`}
		if encoding == wire.Protobuf {
			endlessEvent.start = "\xff\xff\xff\xff"
		}
		_, err = readEvents(endlessEvent, encoding.MediaType(), &wire.Limits{ObjectBytes: 1 << 20})
		if _, ok := errors.AsType[*wire.TooLargeError](err); !ok {
			t.Errorf("%s: an endless event: %v, want a TooLargeError", encoding, err)
		}
		if used := allocated() - before; used > 8<<20 {
			t.Errorf("%s: an endless event allocated %d bytes under a limit of 1 MiB", encoding, used)
		}
	}
}

func TestEventsEndsAtBreak(t *testing.T) {
	for encoding := range allEncodings() {
		body, _ := watchBody(t, encoding)
		events := 0
		for _, err := range wire.Events(bytes.NewReader(body), encoding.MediaType(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			events++
			break
		}
		if events != 1 {
			t.Errorf("%s: %d events, want 1", encoding, events)
		}
	}
}
