// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/internal/reviews"
	"github.com/kube-go/sdk/core/wire"
)

const (
	group      = "apiextensions.k8s.io/"
	apiVersion = group + "v1"
	kind       = "ConversionReview"
)

// Request is a conversion request: objects to convert to another version.
type Request struct {
	UID        types.UID
	APIVersion string // of the results, such as example.com/v2
	Objects    []wire.Packed
}

// Func converts an object to another version. The result needs no TypeMeta.
type Func func(obj wire.Packed, apiVersion string) (core.Object, error)

// Response is the response to a request.
type Response struct {
	Objects []core.Object // in the order of the request
	Err     error         // the reason for a failure; its message is shown to the user
}

// review is the JSON of a ConversionReview.
type review struct {
	metav1.TypeMeta `              json:",inline"`
	Request         *requestBody  `json:"request,omitempty"`
	Response        *responseBody `json:"response,omitempty"`
}

type requestBody struct {
	UID               types.UID        `json:"uid"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []jsontext.Value `json:"objects"`
}

type responseBody struct {
	UID              types.UID     `json:"uid"`
	ConvertedObjects []core.Object `json:"convertedObjects"`
	Result           metav1.Status `json:"result"`
}

// Read reads the review of an HTTP request's body. The limits bound the body; nil means defaults. A server may send all
// objects of a list in one review. The number of objects is bounded, as that of the values in an object.
//
// Errors: [*wire.TooLargeError]; a [*ReviewError] if the UID of the review could be read.
func Read(r io.Reader, limits *wire.Limits) (*Request, error) {
	body, head, err := reviews.Read(r, limits)
	var req *Request
	if err == nil {
		req, err = decode(body)
	}
	if err == nil {
		return req, nil
	}
	err = fmt.Errorf("conversion review: %w", err)
	if head.Kind == kind && head.UID != "" {
		err = &ReviewError{UID: head.UID, APIVersion: head.APIVersion, Err: err}
	}
	return nil, err
}

// decode decodes a review.
func decode(body []byte) (*Request, error) {
	var in review
	if err := wire.UnmarshalJSON(body, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Kind != kind:
		return nil, fmt.Errorf("kind is %q, want %s", in.Kind, kind)
	case in.APIVersion != apiVersion:
		return nil, fmt.Errorf("apiVersion is %q, want %s; "+
			"set conversionReviewVersions: [v1] in the CustomResourceDefinition", in.APIVersion, apiVersion)
	case in.Request == nil:
		return nil, errors.New("request is missing")
	case in.Request.UID == "":
		return nil, errors.New("request.uid is missing")
	case in.Request.DesiredAPIVersion == "":
		return nil, errors.New("request.desiredAPIVersion is missing")
	}
	req := &Request{UID: in.Request.UID, APIVersion: in.Request.DesiredAPIVersion}
	for i, object := range in.Request.Objects {
		if object.Kind() != '{' {
			return nil, fmt.Errorf("request.objects[%d] is not an object", i)
		}
		req.Objects = append(req.Objects, wire.NewPacked(wire.JSON, object))
	}
	return req, nil
}

// Convert converts the objects of a request, one after the other, and sets their TypeMeta. The conversion must not
// change the kind, name, namespace or UID of an object, which a server would refuse.
func Convert(req *Request, convert Func) *Response {
	resp := &Response{Objects: make([]core.Object, 0, len(req.Objects))}
	for i, packed := range req.Objects {
		obj, err := convertOne(packed, req.APIVersion, convert)
		if err != nil {
			return &Response{Err: fmt.Errorf("convert object %d: %w", i, err)}
		}
		resp.Objects = append(resp.Objects, obj)
	}
	return resp
}

func convertOne(packed wire.Packed, to string, convert Func) (core.Object, error) {
	var old metav1.PartialObjectMetadata
	if err := packed.Decode(&old); err != nil {
		return nil, err
	}
	ref := core.RefOf(&old)
	obj, err := convert(packed, to)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s to %s: %w", old.Kind, ref, to, err)
	case isNil(obj):
		return nil, fmt.Errorf("%s %s to %s: the function has returned nothing", old.Kind, ref, to)
	case core.RefOf(obj) != ref:
		return nil, fmt.Errorf(
			"%s %s to %s: the result is %s; keep metadata.name and metadata.namespace",
			old.Kind,
			ref,
			to,
			core.RefOf(obj),
		)
	case obj.GetUID() != old.UID:
		return nil, fmt.Errorf("%s %s to %s: metadata.uid has changed; copy all metadata", old.Kind, ref, to)
	}
	want := schema.FromAPIVersionAndKind(to, old.Kind)
	if got := obj.GetObjectKind().GroupVersionKind(); !got.Empty() && got != want {
		return nil, fmt.Errorf("%s %s to %s: the result is a %s of %s", old.Kind, ref, to, got.Kind, got.GroupVersion())
	}
	obj.GetObjectKind().SetGroupVersionKind(want)
	return obj, nil
}

// isNil reports whether an object is nil, or a nil pointer of its type.
func isNil(obj core.Object) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Encode returns the body of the HTTP response to a request. Its content type is application/json.
func (r *Response) Encode(req *Request) ([]byte, error) {
	body := &responseBody{UID: req.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	switch {
	case r.Err != nil:
		body.Result = metav1.Status{Status: metav1.StatusFailure, Message: r.Err.Error()}
	case len(r.Objects) != len(req.Objects):
		return nil, fmt.Errorf("conversion response: has %d objects for a request of %d", len(r.Objects), len(req.Objects))
	default:
		body.ConvertedObjects = r.Objects
	}
	return body.encode(apiVersion)
}

func (b *responseBody) encode(version string) ([]byte, error) {
	out := review{TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: kind}, Response: b}
	data, err := wire.MarshalJSON(out)
	if err != nil {
		return nil, fmt.Errorf("conversion response: %w", err)
	}
	return data, nil
}

// ReviewError is the error of an invalid review, with what the response to it needs.
type ReviewError struct {
	UID        types.UID // empty if it can't be read; then the server rejects the response, and shows an error of its own
	APIVersion string    // of the review
	Err        error
}

// Error returns the message of Err.
func (e *ReviewError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReviewError) Unwrap() error { return e.Err }

// Encode returns the body of the HTTP response: a failure with the error as its message. It has the version of the
// review, since a server does not understand another one. The status of the HTTP response is 200.
func (e *ReviewError) Encode() ([]byte, error) {
	version := e.APIVersion
	if !strings.HasPrefix(version, group) {
		version = apiVersion
	}
	result := metav1.Status{Status: metav1.StatusFailure, Message: e.Error()}
	return (&responseBody{UID: e.UID, Result: result}).encode(version)
}
