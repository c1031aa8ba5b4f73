// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/conversion"
	"github.com/kube-go/sdk/core/wire"
)

const asked = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u1","desiredAPIVersion":"example.com/v2","objects":[
	{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"prod","uid":"1"},"size":1},
	{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","uid":"2"},"size":2}]}}`

// widget is the kind in version v2.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              string `json:"size"`
}

func convert(obj wire.Packed, _ string) (core.Object, error) {
	old := new(unstructured.Unstructured)
	if err := obj.Decode(old); err != nil {
		return nil, err
	}
	meta, err := obj.Metadata()
	if err != nil {
		return nil, err
	}
	size, _, err := unstructured.NestedInt64(old.Object, "size")
	return &widget{ObjectMeta: *meta, Size: fmt.Sprint(size, "cm")}, err
}

// read returns the request of the review that is asked.
func read(t testing.TB) *conversion.Request {
	t.Helper()
	req, err := conversion.Read(strings.NewReader(asked), nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestConvertConvertsEveryObject(t *testing.T) {
	req := read(t)
	body, err := conversion.Convert(req, convert).Encode(req)
	want := `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u1","convertedObjects":[` +
		`{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"a","namespace":"prod","uid":"1"},"size":"1cm"},` +
		`{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"b","uid":"2"},"size":"2cm"}],` +
		`"result":{"metadata":{},"status":"Success"}}}`
	if err != nil || string(body) != want {
		t.Errorf("the response is %s, %v, want\n%s", body, err, want)
	}
}

func TestFailedConversionFailsTheReview(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*widget)
		err    error
		want   string
	}{
		{"the function fails", nil, errors.New("size is odd"), "convert object 0: Widget prod/a to example.com/v2: size is odd"},
		{"the function returns nothing", nil, nil, "the function has returned nothing"},
		{"the name has changed", func(w *widget) { w.Name = "c" }, nil, "the result is prod/c; keep metadata.name and metadata.namespace"},
		{"the UID has changed", func(w *widget) { w.UID = "" }, nil, "metadata.uid has changed; copy all metadata"},
		{"the version is wrong", func(w *widget) { w.APIVersion, w.Kind = "example.com/v3", "Widget" }, nil, "the result is a Widget of example.com/v3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := read(t)
			resp := conversion.Convert(req, func(obj wire.Packed, to string) (core.Object, error) {
				if tc.change == nil {
					return nil, tc.err
				}
				got, err := convert(obj, to)
				tc.change(got.(*widget))
				return got, err
			})
			if resp.Err == nil || !strings.Contains(resp.Err.Error(), tc.want) {
				t.Fatalf("error %v, want %s", resp.Err, tc.want)
			}
			body, err := resp.Encode(req)
			if err != nil || !strings.Contains(string(body), `"status":"Failure"`) || strings.Contains(string(body), `"convertedObjects":[`) {
				t.Errorf("the response is %s, %v", body, err)
			}
		})
	}
}

func TestANilPointerIsNoResult(t *testing.T) {
	resp := conversion.Convert(read(t), func(wire.Packed, string) (core.Object, error) {
		var none *widget
		return none, nil
	})
	const want = "convert object 0: Widget prod/a to example.com/v2: the function has returned nothing"
	if resp.Err == nil || resp.Err.Error() != want {
		t.Errorf("error %v, want %s", resp.Err, want)
	}
}

func TestEncodeRejectsAnotherNumberOfObjects(t *testing.T) {
	if _, err := new(conversion.Response).Encode(read(t)); err == nil || !strings.Contains(err.Error(), "has 0 objects for a request of 2") {
		t.Errorf("error %v", err)
	}
}

func TestReadRejectsInvalidReviews(t *testing.T) {
	for _, tc := range []struct{ name, in, wantErr string }{
		{"invalid JSON", `{`, "is not JSON, or has a duplicate field"},
		{"a duplicate field", strings.Replace(asked, `"size":1`, `"size":1,"size":2`, 1), "has a duplicate field"},
		{"another kind", `{"kind":"Pod","apiVersion":"v1"}`, `kind is "Pod", want ConversionReview`},
		{"an old version", strings.Replace(asked, "k8s.io/v1", "k8s.io/v1beta1", 1), "set conversionReviewVersions: [v1]"},
		{"a review without a request", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, "request is missing"},
		{"a request without a uid", strings.Replace(asked, `"uid":"u1"`, `"Uid":"u1"`, 1), "request.uid is missing"},
		{"a request for no version", strings.Replace(asked, "desiredAPIVersion", "desiredApiVersion", 1), "request.desiredAPIVersion is missing"},
		{"an item that is not an object", strings.Replace(asked, `"objects":[`, `"objects":[1,`, 1), "request.objects[0] is not an object"},
		{"a request with a field of the wrong type", strings.Replace(asked, `"objects":[`, `"objects":1,"x":[`, 1), "conversion review: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := conversion.Read(strings.NewReader(tc.in), nil); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s", err, tc.wantErr)
			}
		})
	}
	_, err := conversion.Read(strings.NewReader(asked), &wire.Limits{ObjectBytes: 100})
	if _, ok := errors.AsType[*wire.TooLargeError](err); !ok {
		t.Errorf("Read of a review above the limit = %v, want a TooLargeError", err)
	}
}

// large returns a review with n values in place of its objects.
func large(value string, n int) string {
	start, end, _ := strings.Cut(asked, `"objects":[`)
	_, end, _ = strings.Cut(end, `]`)
	return start + `"objects":[` + value + strings.Repeat(","+value, n-1) + `]` + end
}

func TestReadBoundsTheNumberOfObjects(t *testing.T) {
	_, err := conversion.Read(strings.NewReader(large("{}", 800_000)), nil)
	if big, ok := errors.AsType[*wire.TooLargeError](err); !ok || big.LimitValues == 0 {
		t.Errorf("Read of too many objects = %v, want a TooLargeError with LimitValues", err)
	}
	if invalid, ok := errors.AsType[*conversion.ReviewError](err); !ok || invalid.UID != "u1" {
		t.Errorf("Read of too many objects = %v, want a ReviewError with the UID", err)
	}
	object := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"items":[0` + strings.Repeat(`,[]`, 10_000) + `]}`
	if req, err := conversion.Read(strings.NewReader(large(object, 80)), nil); err != nil || len(req.Objects) != 80 {
		t.Errorf("Read of 80 objects with 10000 values each = %v", err)
	}
}

// FuzzRead checks that Read does not panic, and that every decoded review can be converted.
func FuzzRead(f *testing.F) {
	f.Add(asked)
	f.Fuzz(func(t *testing.T, text string) {
		req, err := conversion.Read(strings.NewReader(text), nil)
		if err != nil {
			return // not an input of the function
		}
		if _, err := conversion.Convert(req, convert).Encode(req); err != nil {
			t.Error(err)
		}
	})
}

func ExampleConvert() {
	req, err := conversion.Read(strings.NewReader(asked), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp := conversion.Convert(req, convert)
	for _, obj := range resp.Objects {
		fmt.Println(core.RefOf(obj), obj.GetObjectKind().GroupVersionKind().Version, obj.(*widget).Size)
	}
	body, err := resp.Encode(req)
	fmt.Println(len(body) > 0, err)
	// Output:
	// prod/a v2 1cm
	// b v2 2cm
	// true <nil>
}
