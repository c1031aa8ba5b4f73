// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-go/sdk/client"
	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/wire"
	"github.com/kube-go/sdk/runtime/webhook"
)

const (
	toConvert = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u1",
		"desiredAPIVersion":"example.com/v2","objects":[{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}]}}`
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

// quiet discards the logs of a test.
func quiet(t testing.TB) {
	t.Helper()
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(old) })
}

func post(h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlers(t *testing.T) {
	deny := func(context.Context, *admission.Request) *admission.Response { return admission.Denied("no") }
	quiet(t)
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
			"another review is rejected", webhook.Admission(deny, nil), "application/json", toConvert, 200,
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"","allowed":false,` +
				`"status":{"metadata":{},"status":"Failure","message":"admission review: kind is \"ConversionReview\", ` +
				`want AdmissionReview","reason":"BadRequest","code":400}`,
		},
		{
			"invalid JSON is rejected", webhook.Conversion(convert, nil), "application/json", "{", 200,
			`"apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"","convertedObjects":null,"result":{"metadata":{},` +
				`"status":"Failure","message":"conversion review: is not JSON`,
		},
		{
			"an empty body is rejected", webhook.Admission(deny, nil), "application/json", "", 200,
			`"uid":"","allowed":false,"status":{"metadata":{},"status":"Failure","message":"admission review: is not JSON`,
		},
		{
			"another content type is rejected", webhook.Conversion(convert, nil), "text/plain", toConvert, 200,
			`"uid":"u1","convertedObjects":null,"result":{"metadata":{},"status":"Failure",` +
				`"message":"send reviews as application/json"`,
		},
		{
			"another content type of an admission is rejected", webhook.Admission(deny, nil), "application/yaml", toAdmit, 200,
			`"uid":"u1","allowed":false,"status":{"metadata":{},"status":"Failure",` +
				`"message":"send reviews as application/json","reason":"UnsupportedMediaType","code":415}`,
		},
		{
			"a body of another content type is rejected", webhook.Admission(deny, nil), "application/yaml", "a: b", 200,
			`"uid":"","allowed":false,"status":{"metadata":{},"status":"Failure",` +
				`"message":"send reviews as application/json","reason":"UnsupportedMediaType","code":415}`,
		},
		{
			"a conversion that is too large is rejected",
			webhook.Conversion(convert, &webhook.HandlerOptions{Limits: &wire.Limits{ObjectBytes: 150}}), "application/json",
			toConvert, 200, `"status":"Failure","message":"conversion review: `,
		},
		{
			"a body without a UID that is too large is rejected",
			webhook.Admission(deny, &webhook.HandlerOptions{Limits: &wire.Limits{ObjectBytes: 10}}), "application/json", toAdmit,
			200, `"uid":"","allowed":false,"status":{"metadata":{},"status":"Failure",` +
				`"message":"admission review: body is larger`,
		},
		{
			"an admission that is too large is rejected",
			webhook.Admission(deny, &webhook.HandlerOptions{Limits: &wire.Limits{ObjectBytes: 150}}), "application/json",
			toAdmit, 200, `"reason":"RequestEntityTooLarge","code":413}`,
		},
		{
			"a truncated admission is rejected", webhook.Admission(deny, nil), "application/json", toAdmit[:len(toAdmit)-9], 200,
			`"message":"admission review: is not JSON, or has a duplicate field","reason":"BadRequest","code":400}`,
		},
		{
			"a review of another version is rejected in that version", webhook.Admission(deny, nil), "application/json",
			strings.Replace(toAdmit, "k8s.io/v1", "k8s.io/v1beta1", 1), 200,
			`"apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"u1","allowed":false,`,
		},
		{
			"an unknown version is rejected in v1", webhook.Admission(deny, nil), "application/json",
			strings.Replace(toAdmit, "admission.k8s.io/v1", "x", 1), 200,
			`"apiVersion":"admission.k8s.io/v1","response":{"uid":"u1","allowed":false,`,
		},
		{
			"a callback that returns nil",
			webhook.Admission(func(context.Context, *admission.Request) *admission.Response { return nil }, nil),
			"application/json", toAdmit, 500, "the admission callback returned nil",
		},
		{
			"a callback that panics", webhook.Conversion(func(wire.Packed, string) (core.Object, error) { panic("oh") }, nil),
			"application/json", toConvert, 500, "the webhook panicked, see its log",
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
	quiet(t) // restores the default logger
	var def, own bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&def, nil)))
	for _, tt := range []struct {
		name  string
		in    *webhook.HandlerOptions
		log   *bytes.Buffer
		other *bytes.Buffer
	}{
		{"with default options", nil, &def, &own},
		{"with a logger", &webhook.HandlerOptions{Logger: slog.New(slog.NewTextHandler(&own, nil))}, &own, &def},
	} {
		t.Run(tt.name, func(t *testing.T) {
			def.Reset()
			own.Reset()
			post(webhook.Conversion(func(wire.Packed, string) (core.Object, error) { panic("oh") }, tt.in),
				"application/json", toConvert)
			text := tt.log.String()
			if !strings.Contains(text, "panic=oh") || !strings.Contains(text, "handler_test.go") || tt.other.Len() > 0 {
				t.Errorf("the log is %s, want the panic with its stack; the other one is %s", text, tt.other)
			}
		})
	}
}

// TestFailedReviewsAreLogged checks that all failures are logged, also those whose response is a review, but no denials.
func TestFailedReviewsAreLogged(t *testing.T) {
	var log bytes.Buffer
	o := &webhook.HandlerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	fails := func(err error) http.Handler {
		return webhook.Validate(func(context.Context, *webhook.Request[corev1.Pod]) error { return err }, o)
	}
	responds := func(resp *admission.Response) http.Handler {
		return webhook.Admission(func(context.Context, *admission.Request) *admission.Response { return resp }, o)
	}
	nodes := webhook.Validate(func(context.Context, *webhook.Request[corev1.Node]) error { return nil }, o)
	for _, tt := range []struct {
		name       string
		handler    http.Handler
		body, want string
	}{
		{
			"a failed conversion",
			webhook.Conversion(func(wire.Packed, string) (core.Object, error) { return nil, errors.New("odd") }, o),
			toConvert, "convert object 0: Widget a to example.com/v2: odd",
		},
		{"a failed request of a callback", fails(&client.OpError{Err: errors.New("refused")}), toAdmit, "refused"},
		{"a callback that has failed", responds(admission.Errored(errors.New("no quota"))), toAdmit, "no quota"},
		{"a review for another kind", nodes, toAdmit, "this path is for Node of v1"},
		{"an object that does not decode", fails(nil), strings.Replace(toAdmit, `"name":"a"`, `"name":1`, 1), "decode object"},
		{"an invalid review", nodes, "{", "is not JSON"},
		{"a converted object", webhook.Conversion(convert, o), toConvert, ""},
		{"an allowed request", fails(nil), toAdmit, ""},
		{"a denied request", fails(errors.New("no")), toAdmit, ""},
		{"a denied request with a status", fails(apierrors.NewBadRequest("no")), toAdmit, ""},
		{"a denied request without a status", responds(&admission.Response{}), toAdmit, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log.Reset()
			post(tt.handler, "application/json", tt.body)
			text, records := log.String(), 1
			if tt.want == "" {
				records = 0
			}
			if strings.Count(text, `level=WARN msg="the review has failed" path=/ err=`) != records ||
				!strings.Contains(text, tt.want) {
				t.Errorf("the log is %q, want %d record(s) with %q", text, records, tt.want)
			}
		})
	}
}

// FuzzHandlers checks that every body gets a response that an API server understands.
func FuzzHandlers(f *testing.F) {
	for _, body := range []string{toAdmit, toConvert, toAdmit[:200], "{", "", strings.Replace(toAdmit, "/v1", "/v2", 1)} {
		f.Add(body, "application/json")
		f.Add(body, "text/plain")
	}
	quiet(f)
	limits := &webhook.HandlerOptions{Limits: &wire.Limits{ObjectBytes: 1000}}
	allow := func(context.Context, *webhook.Request[corev1.Pod]) error { return nil }
	handlers := []http.Handler{
		webhook.Conversion(convert, limits), webhook.Validate(allow, limits), webhook.Mutate(allow, limits),
	}
	f.Fuzz(func(t *testing.T, body, contentType string) {
		for i, h := range handlers {
			got := post(h, contentType, body)
			switch got.Code {
			case http.StatusOK:
				var review struct {
					Kind     string `json:"kind"`
					Response struct {
						UID *string `json:"uid"`
					} `json:"response"`
				}
				if err := wire.UnmarshalJSON(got.Body.Bytes(), &review); err != nil || review.Response.UID == nil ||
					(review.Kind == "ConversionReview") != (i == 0) {
					t.Errorf("handler %d: response %s, %v", i, got.Body, err)
				}
			default:
				t.Errorf("handler %d: status %d: %s", i, got.Code, got.Body)
			}
		}
	})
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
		return admission.Denied("no pods on " + string(req.Operation))
	}, nil))
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/validate", strings.NewReader(toAdmit))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(strings.Contains(w.Body.String(), "no pods on CREATE"))
	// Output:
	// true
}
