// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/apitest"
	"github.com/kube-go/sdk/core/wire"
)

func resourceOf(k apitest.Kind) core.Resource {
	return core.Resource{Group: k.Group, Version: k.Version, Kind: k.GroupVersionKind.Kind, Plural: "x"}
}

// generated is the interface of generated protobuf code.
type generated interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// opened returns the message in an envelope, decoded by apimachinery.
func opened(t testing.TB, body []byte) (runtime.Unknown, []byte) {
	t.Helper()
	rest, ok := strings.CutPrefix(string(body), "k8s\x00")
	if !ok {
		t.Fatal("the data is not an envelope")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal([]byte(rest)); err != nil {
		t.Fatal(err)
	}
	return unknown, unknown.Raw
}

func TestProtobufOfEveryKindIsDecodedLikeTheGeneratedCode(t *testing.T) {
	for _, g := range apitest.Goldens(t) {
		_, message := opened(t, g.Protobuf)
		want, got := g.Kind.New(), g.Kind.New()
		if !wire.SupportsProtobuf(got) {
			t.Errorf("%s: SupportsProtobuf = false", g.Name)
			continue
		}
		if err := want.(generated).Unmarshal(message); err != nil {
			t.Fatal(err)
		}
		want.GetObjectKind().SetGroupVersionKind(g.Kind.GroupVersionKind)
		if err := wire.Unmarshal(g.Protobuf, wire.MediaTypeProtobuf, got); err != nil {
			t.Errorf("%s: Unmarshal: %v", g.Name, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s (-generated +wire):\n%s", g.Name, cmp.Diff(want, got))
		}
	}
}

func TestEveryKindSurvivesARoundTrip(t *testing.T) {
	for _, k := range apitest.Kinds(t) {
		for seed := range int64(3) {
			obj := apitest.Random(k, seed)
			for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
				body, err := wire.Marshal(obj, resourceOf(k), encoding)
				if err != nil {
					t.Fatalf("%v %s: Marshal: %v", k.Type, encoding, err)
				}
				got := k.New()
				if err := wire.Unmarshal(body, encoding.MediaType(), got); err != nil {
					t.Fatalf("%v %s: Unmarshal: %v", k.Type, encoding, err)
				}
				want := roundTrip(t, k, obj, encoding)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%v %s seed %d (-others' +ours):\n%s", k.Type, encoding, seed, cmp.Diff(want, got))
				}
			}
		}
	}
}

// roundTrip returns an object after a round trip through the generated code or encoding/json.
func roundTrip(t testing.TB, k apitest.Kind, obj apitest.Object, encoding wire.Encoding) apitest.Object {
	t.Helper()
	back := k.New()
	marshal, unmarshal := json.Marshal, json.Unmarshal
	if encoding == wire.Protobuf {
		marshal = func(v any) ([]byte, error) { return v.(generated).Marshal() }
		unmarshal = func(data []byte, v any) error { return v.(generated).Unmarshal(data) }
	}
	data, err := marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	back.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return back
}

// The result must be valid for apimachinery's serializer, with identical bytes where it writes the same fields.
func TestProtobufEnvelopeMatchesApimachinery(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	res := core.Resource{Version: "v1", Kind: "Pod", Plural: "pods"}
	body, err := wire.Marshal(pod, res, wire.Protobuf)
	if err != nil {
		t.Fatal(err)
	}
	unknown, message := opened(t, body)
	if unknown.APIVersion != "v1" || unknown.Kind != "Pod" {
		t.Errorf("the envelope has %q %q, want v1 Pod", unknown.APIVersion, unknown.Kind)
	}
	want, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if string(message) != string(want) {
		t.Errorf("the message is %x, want %x", message, want)
	}
}

func TestMarshalSetsOnlyAMissingKind(t *testing.T) {
	res := core.Resource{Group: "apps", Version: "v1", Kind: "Deployment", Plural: "deployments"}
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Wrong", APIVersion: "v9"}}
	if _, err := wire.Marshal(d, res, wire.JSON); err != nil {
		t.Fatal(err)
	}
	if want := (metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}); d.TypeMeta != want {
		t.Errorf("TypeMeta = %v, want %v", d.TypeMeta, want)
	}
	// Marshal only reads an object that has its kind, so goroutines may share it: the race detector checks this.
	done := make(chan error)
	for range 2 {
		go func() { _, err := wire.Marshal(d, res, wire.JSON); done <- err }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestUnmarshalRejectsInvalidData(t *testing.T) {
	pod := func() []byte {
		body, err := envelope("v1", "Pod", podProtobuf(t))
		if err != nil {
			t.Fatal(err)
		}
		return body
	}()
	noObject, err := envelope("v1", "Pod", nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name        string
		body        []byte
		contentType string
		into        core.Object
		want        string
	}{
		{"a page of HTML", []byte("<html>"), "text/html", new(corev1.Pod), `content type "text/html"`},
		{"JSON with the content type of protobuf", []byte("{}"), wire.MediaTypeProtobuf, new(corev1.Pod), "does not start with"},
		{"protobuf with the content type of JSON", pod, wire.MediaTypeJSON, new(corev1.Pod), "decode json"},
		{"protobuf for a type without tags", pod, wire.MediaTypeProtobuf, new(freeForm), "ask the server for JSON"},
		{"an envelope that ends early", pod[:len(pod)-20], wire.MediaTypeProtobuf, new(corev1.Pod), "unexpected EOF"},
		{"an envelope without an object", noObject, wire.MediaTypeProtobuf, new(corev1.Pod), "without an object"},
		{"a broken message", []byte("k8s\x00\x12\x01\xff"), wire.MediaTypeProtobuf, new(corev1.Pod), "decode protobuf"},
		{"a broken envelope", []byte("k8s\x00\xff"), wire.MediaTypeProtobuf, new(corev1.Pod), "protobuf: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := wire.Unmarshal(tt.body, tt.contentType, tt.into)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Unmarshal = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestMarshalRejectsTypesThatCannotBeEncoded(t *testing.T) {
	res := core.Resource{Version: "v1", Kind: "Free", Plural: "frees"}
	if _, err := wire.Marshal(new(freeForm), res, wire.Protobuf); err == nil {
		t.Error("a type without protobuf tags was encoded as protobuf")
	}
	if _, err := wire.Pack(new(freeForm), wire.Protobuf); err == nil {
		t.Error("a type without protobuf tags was packed as protobuf")
	}
	bad := &freeForm{Any: func() {}}
	if _, err := wire.Marshal(bad, res, wire.JSON); err == nil {
		t.Error("a function was encoded")
	}
	if _, err := wire.Pack(bad, wire.JSON); err == nil {
		t.Error("a function was packed")
	}
	if _, err := wire.MarshalApply(bad, res, nil); err == nil {
		t.Error("a function was encoded for an apply")
	}
}

func TestEncodingOfParsesMediaTypes(t *testing.T) {
	tests := []struct {
		in   string
		want wire.Encoding
		ok   bool
	}{
		{"", wire.JSON, true},
		{"application/json", wire.JSON, true},
		{"application/json; charset=utf-8", wire.JSON, true},
		{"Application/JSON;stream=watch", wire.JSON, true},
		{"application/vnd.kubernetes.protobuf", wire.Protobuf, true},
		{"application/vnd.kubernetes.protobuf;stream=watch", wire.Protobuf, true},
		{"application/cbor", 0, false},
		{"text/html", 0, false},
		{"application/json-seq", 0, false},
	}
	for _, tt := range tests {
		got, err := wire.EncodingOf(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("EncodingOf(%q) = %v, %v; want %v and ok=%t", tt.in, got, err, tt.want, tt.ok)
		}
	}
	for _, e := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		if back, err := wire.EncodingOf(e.MediaType()); back != e || err != nil {
			t.Errorf("EncodingOf(%q) = %v, %v; want %v", e.MediaType(), back, err, e)
		}
	}
}

func TestUnmarshalStatusRecognisesStatuses(t *testing.T) {
	status := metav1.Status{Status: "Failure", Reason: metav1.StatusReasonConflict, Code: 409}
	message, err := status.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf, err := envelope("v1", "Status", message)
	if err != nil {
		t.Fatal(err)
	}
	aPod, err := envelope("v1", "Pod", podProtobuf(t))
	if err != nil {
		t.Fatal(err)
	}
	inJSON := []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Conflict","code":409}`)
	tests := []struct {
		name        string
		body        []byte
		contentType string
		want        bool
	}{
		{"JSON", inJSON, wire.MediaTypeJSON, true},
		{"protobuf", inProtobuf, wire.MediaTypeProtobuf, true},
		{"a pod in JSON", podJSON(t), wire.MediaTypeJSON, false},
		{"a pod in protobuf", aPod, wire.MediaTypeProtobuf, false},
		{"HTML", []byte("<html>"), "text/html", false},
		{"broken JSON", inJSON[:30], wire.MediaTypeJSON, false},
		{"broken protobuf", inProtobuf[:30], wire.MediaTypeProtobuf, false},
		{"nothing", nil, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := wire.UnmarshalStatus(tt.body, tt.contentType)
			if !tt.want {
				if got != nil {
					t.Errorf("UnmarshalStatus = %v, want nil", got)
				}
				return
			}
			if got == nil || got.Reason != metav1.StatusReasonConflict || got.Code != 409 {
				t.Errorf("UnmarshalStatus = %v, want the conflict", got)
			}
		})
	}
}

func TestReadBodyEnforcesItsLimit(t *testing.T) {
	limits := &wire.Limits{ObjectBytes: 10}
	if body, err := wire.ReadBody(strings.NewReader("0123456789"), limits); err != nil || len(body) != 10 {
		t.Errorf("ReadBody of 10 bytes = %q, %v", body, err)
	}
	_, err := wire.ReadBody(strings.NewReader("0123456789a"), limits)
	if tooLarge, ok := errors.AsType[*wire.TooLargeError](err); !ok || tooLarge.LimitBytes != 10 {
		t.Errorf("ReadBody of 11 bytes = %v, want a TooLargeError", err)
	}
	_, err = wire.ReadBody(io.MultiReader(strings.NewReader("0123"), failingReader{}), nil)
	if !errors.Is(err, errBroken) {
		t.Errorf("ReadBody of a broken stream = %v, want %v", err, errBroken)
	}
}

var errBroken = errors.New("broken")

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }
