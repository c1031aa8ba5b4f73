// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client/webhook"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/wire"
)

const (
	toConvert = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u1","desiredAPIVersion":"example.com/v2",
		"objects":[{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}]}}`
	toAdmit = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1","operation":"CREATE",
		"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}}}`
)

func convert(obj wire.Packed, _ string) (core.Object, error) {
	out := &metav1.PartialObjectMetadata{}
	if err := obj.Decode(out); err != nil {
		return nil, err
	}
	out.TypeMeta = metav1.TypeMeta{}
	return out, nil
}

func post(h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlers(t *testing.T) {
	deny := func(context.Context, *admission.Request) *admission.Response { return admission.Deny("no") }
	for _, tt := range []struct {
		name              string
		handler           http.Handler
		contentType, body string
		code              int
		want              string
	}{
		{
			"objects are converted", webhook.Conversion(convert, nil), "application/json", toConvert, 200,
			`"apiVersion":"example.com/v2"`,
		},
		{
			"parameters of the content type are ignored", webhook.Conversion(convert, nil), "application/json; charset=utf-8",
			toConvert, 200, `"status":"Success"`,
		},
		{
			"a failed conversion is a response",
			webhook.Conversion(func(wire.Packed, string) (core.Object, error) { return nil, fmt.Errorf("odd") }, nil),
			"application/json", toConvert, 200,
			`"status":"Failure","message":"convert object 0: Widget a to example.com/v2: odd"`,
		},
		{"requests are reviewed", webhook.Admission(deny, nil), "application/json", toAdmit, 200, `"allowed":false`},
		{
			"another review is rejected", webhook.Admission(deny, nil), "application/json", toConvert, 400,
			`kind is "ConversionReview", want AdmissionReview`,
		},
		{"invalid JSON is rejected", webhook.Conversion(convert, nil), "application/json", "{", 400, "is not JSON"},
		{
			"another content type is rejected", webhook.Conversion(convert, nil), "text/plain", toConvert, 415,
			"send reviews as application/json",
		},
		{
			"an object that is too large is rejected",
			webhook.Conversion(convert, &webhook.Options{Limits: &wire.Limits{ObjectBytes: 10}}), "application/json", toConvert,
			413, "conversion review: ",
		},
		{
			"a callback that returns nil",
			webhook.Admission(func(context.Context, *admission.Request) *admission.Response { return nil }, nil),
			"application/json", toAdmit, 500, "the admission callback returned nil",
		},
		{
			"a callback that panics", webhook.Conversion(func(wire.Packed, string) (core.Object, error) { panic("oh") }, nil),
			"application/json", toConvert, 500, "panic: oh",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := post(tt.handler, tt.contentType, tt.body)
			if got.Code != tt.code || !strings.Contains(got.Body.String(), tt.want) {
				t.Errorf("response = %d %s, want %d with %s", got.Code, got.Body, tt.code, tt.want)
			}
			if isJSON := got.Header().Get("Content-Type") == "application/json"; isJSON != (tt.code == 200) {
				t.Errorf("the response has content type %q", got.Header().Get("Content-Type"))
			}
		})
	}
}

func TestOnlyPOST(t *testing.T) {
	w := httptest.NewRecorder()
	webhook.Conversion(convert, nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET: response = %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestPanicsAreLogged(t *testing.T) {
	var log bytes.Buffer
	o := &webhook.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	post(webhook.Conversion(func(wire.Packed, string) (core.Object, error) { panic("oh") }, o), "application/json",
		toConvert)
	if text := log.String(); !strings.Contains(text, "panic=oh") || !strings.Contains(text, "webhook_test.go") {
		t.Errorf("the log is %s, want the panic with its stack", text)
	}
}

func ExampleConversion() {
	mux := http.NewServeMux()
	mux.Handle("/convert", webhook.Conversion(convert, nil))
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/convert", strings.NewReader(toConvert))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "example.com/v2"))
	// Output:
	// 200 true
}

func ExampleAdmission() {
	mux := http.NewServeMux()
	mux.Handle("/validate", webhook.Admission(func(_ context.Context, req *admission.Request) *admission.Response {
		return admission.Deny("no pods on " + string(req.Operation))
	}, nil))
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/validate", strings.NewReader(toAdmit))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(strings.Contains(w.Body.String(), "no pods on CREATE"))
	// Output:
	// true
}
