// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimejson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/kube-go/sdk/kubetest/internal/typed"
)

// maxBodyBytes is the limit of a real server for the body of a request.
const maxBodyBytes = 3 << 20

// body reads the body of the request, and returns it with its media type.
func (c *call) body() (data []byte, mediaType string, err error) {
	data, err = io.ReadAll(c.Body)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, "", apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", e.Limit))
	}
	if err != nil {
		return nil, "", apierrors.NewBadRequest(err.Error())
	}
	if mediaType = c.Header.Get("Content-Type"); mediaType == "" {
		return data, "application/json", nil
	}
	if parsed, _, err := mime.ParseMediaType(mediaType); err == nil {
		mediaType = parsed
	}
	return data, mediaType, nil
}

// NewName returns the name of the object that a request creates, with prefix* for one that the server generates. It is
// empty for other requests. The body can still be read.
func (s *Server) NewName(r *http.Request) string {
	c, err := s.target(r)
	if err != nil || r.Method != http.MethodPost || c.ref.Name != "" {
		return ""
	}
	read, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), r.Body), r.Body}
	if err != nil {
		return "" // a later read returns the error, too
	}
	body := *r
	body.Body = io.NopCloser(bytes.NewReader(read))
	c.Request, c.w = &body, httptest.NewRecorder()
	obj, err := c.decode(metav1.FieldValidationIgnore)
	switch {
	case err != nil:
		return ""
	case obj.GetName() == "" && obj.GetGenerateName() != "":
		return obj.GetGenerateName() + "*"
	default:
		return obj.GetName()
	}
}

// options decodes the parameters of the request into options of apimachinery, which check validates.
func options[O any](c *call, into *O, kind string, check func(*O) field.ErrorList) error {
	object, ok := any(into).(runtime.Object)
	if !ok {
		panic(fmt.Sprintf("%T is not a runtime.Object", into))
	}
	if err := scheme.ParameterCodec.DecodeParameters(c.query, metav1.SchemeGroupVersion, object); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return valid(into, kind, check)
}

// valid returns an error if check finds options invalid.
func valid[O any](o *O, kind string, check func(*O) field.ErrorList) error {
	if errs := check(o); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return nil
}

// decode decodes the object in the body of a request. validation is the field validation.
func (c *call) decode(validation string) (*unstructured.Unstructured, error) {
	data, mediaType, err := c.body()
	if err != nil {
		return nil, err
	}
	gvk := c.kind.GroupVersionKind()
	if !c.kind.typed() {
		return c.decodeCustom(data, mediaType, validation)
	}
	obj, unknown, err := typed.Decode(data, mediaType, gvk, validation != metav1.FieldValidationIgnore)
	if err != nil {
		return nil, err
	}
	refused := func(err error) error { return typed.Refused(err, &gvk, gvk, data) }
	if err := c.strict(unknown, validation, refused); err != nil {
		return nil, err
	}
	return obj, c.matchKind(obj)
}

// strict reports unknown and duplicate fields as warnings or, with the field validation Strict, as an error.
func (c *call) strict(unknown []string, validation string, refused func(error) error) error {
	switch validation {
	case metav1.FieldValidationIgnore:
	case metav1.FieldValidationStrict:
		if len(unknown) > 0 {
			return refused(errors.New("strict decoding error: " + strings.Join(unknown, ", ")))
		}
	default:
		for _, text := range unknown {
			c.warn(text)
		}
	}
	return nil
}

// decodeCustom decodes an object whose kind has no Go type.
func (c *call) decodeCustom(data []byte, mediaType, validation string) (*unstructured.Unstructured, error) {
	gvk, content := c.kind.GroupVersionKind(), map[string]any(nil)
	switch mediaType {
	case "application/yaml":
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil, typed.Refused(err, nil, gvk, data)
		}
		data = converted
	case "application/json":
	default:
		return nil, typed.UnknownFormat()
	}
	if _, err := runtimejson.DefaultMetaFactory.Interpret(data); err != nil {
		return nil, typed.Refused(err, nil, gvk, data)
	}
	duplicates, err := json.UnmarshalStrict(data, &content, json.DisallowDuplicateFields)
	if err != nil {
		return nil, typed.Refused(err, nil, gvk, data)
	}
	obj := &unstructured.Unstructured{Object: content}
	if obj.GetKind() == "" {
		err := runtime.NewMissingKindErr(string(data))
		return nil, typed.Refused(err, nil, gvk, data)
	}
	if err := c.matchVersion(obj); err != nil {
		return nil, err
	}
	got := obj.GroupVersionKind()
	refused := func(err error) error { return typed.Refused(err, &got, gvk, data) }
	obj, unknown, err := c.kind.complete(obj)
	if err != nil {
		return nil, refused(err)
	}
	for i, duplicate := range duplicates {
		unknown = slices.Insert(unknown, i, duplicate.Error())
	}
	return obj, c.strict(unknown, validation, refused)
}

// matchVersion returns an error if an object has another API version than the request.
func (c *call) matchVersion(obj *unstructured.Unstructured) error {
	if obj.GetAPIVersion() == c.kind.APIVersion() {
		return nil
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API "+
		"version (%s)", obj.GetAPIVersion(), c.kind.APIVersion()))
}

// matchKind returns an error if an object of a built-in kind has another kind than the request.
func (c *call) matchKind(obj *unstructured.Unstructured) error {
	if obj.GetKind() == c.kind.Kind {
		return c.matchVersion(obj)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: converting (%s) to (%s): unknown "+
		"conversion", obj.GetKind(), c.kind.Version, c.kind.Kind, obj.GetKind(), c.kind.Kind))
}

// warn adds a warning to the response, unless the response has it.
func (c *call) warn(text string) {
	header := `299 - "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	if text != "" && !slices.Contains(c.w.Header()["Warning"], header) {
		c.w.Header().Add("Warning", header)
	}
}
