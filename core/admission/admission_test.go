// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-go/sdk/core"
	"github.com/kube-go/sdk/core/admission"
	"github.com/kube-go/sdk/core/internal/patchtest"
	"github.com/kube-go/sdk/core/patch"
	"github.com/kube-go/sdk/core/request"
	"github.com/kube-go/sdk/core/wire"
)

// asked is a review of a pod that has a field unknown to the Go type.
const asked = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u1",
	"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
	"name":"web","namespace":"prod","operation":"CREATE","userInfo":{"username":"jane","uid":"7","groups":["dev"],"extra":{"a":["b"]}},
	"object":` + pod + `,"oldObject":null,"dryRun":true,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`

const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"prod","creationTimestamp":null},` +
	`"spec":{"futureField":1,"containers":[{"name":"side","image":"side:1","future":[1]},{"name":"main","image":"main:1","future":{"x":null}}]},"status":{}}`

func read(t testing.TB, text string) *admission.Request {
	t.Helper()
	req, err := admission.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// answer returns a response as decoded into the server's type.
func answer(t *testing.T, resp *admission.Response) *admissionv1.AdmissionResponse {
	t.Helper()
	body, err := resp.Encode(read(t, asked))
	if err != nil {
		t.Fatal(err)
	}
	var out admissionv1.AdmissionReview
	if err := wire.UnmarshalJSON(body, &out); err != nil {
		t.Fatal(err)
	}
	if out.APIVersion != "admission.k8s.io/v1" || out.Kind != "AdmissionReview" || out.Request != nil || out.Response == nil || out.Response.UID != "u1" {
		t.Fatalf("the response is %s", body)
	}
	return out.Response
}

func TestReadReturnsTheRequest(t *testing.T) {
	req := read(t, asked)
	want := &admission.Request{
		UID:           "u1",
		Kind:          metav1.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:      metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		RequestedKind: metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, RequestedResource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Operation: admission.Create, Ref: core.ObjectRef{Namespace: "prod", Name: "web"},
		User:   admission.User{Name: "jane", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"a": {"b"}}},
		DryRun: true,
		Object: wire.NewPacked(wire.JSON, []byte(pod)), Options: wire.NewPacked(wire.JSON, []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)),
	}
	bytesOf := cmp.Comparer(func(a, b wire.Packed) bool { return string(a.Bytes()) == string(b.Bytes()) })
	if diff := cmp.Diff(want, req, bytesOf); diff != "" {
		t.Errorf("Read (-want +got):\n%s", diff)
	}
}

// TestRefOfANamespaceHasNoNamespace checks requests for which API servers set the namespace to the name.
func TestRefOfANamespaceHasNoNamespace(t *testing.T) {
	for _, tc := range []struct {
		resource metav1.GroupVersionResource
		want     core.ObjectRef
	}{
		{metav1.GroupVersionResource{Version: "v1", Resource: "namespaces"}, core.ObjectRef{Name: "prod"}},
		{metav1.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "namespaces"}, core.ObjectRef{Namespace: "prod", Name: "prod"}},
	} {
		body, err := wire.MarshalJSON(admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
			Request:  &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Update, Resource: tc.resource, Namespace: "prod", Name: "prod"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, string(body)).Ref; got != tc.want {
			t.Errorf("Ref of %s = %v, want %v", tc.resource, got, tc.want)
		}
	}
}

// The review is encoded by the server's types, with all fields set.
func TestReadDecodesEveryFieldOfAReview(t *testing.T) {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u2", Operation: admissionv1.Update, SubResource: "status", RequestSubResource: "status",
			RequestKind:     &metav1.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"},
			RequestResource: &metav1.GroupVersionResource{Group: "apps", Version: "v1beta1", Resource: "deployments"},
			Object:          runtime.RawExtension{Raw: []byte(`{"a":1}`)}, OldObject: runtime.RawExtension{Raw: []byte(`{"a":2}`)},
			DryRun: new(false),
		},
	}
	body, err := wire.MarshalJSON(review)
	if err != nil {
		t.Fatal(err)
	}
	req := read(t, string(body))
	if req.Operation != admission.Update || req.Subresource != "status" || req.RequestedSubresource != "status" || req.DryRun {
		t.Errorf("Read = %+v", req)
	}
	if req.RequestedKind.Version != "v1beta1" || req.RequestedResource.Resource != "deployments" {
		t.Errorf("the original request is of %v, %v", req.RequestedKind, req.RequestedResource)
	}
	if got := string(req.Object.Bytes()) + string(req.OldObject.Bytes()); got != `{"a":1}{"a":2}` {
		t.Errorf("the objects are %s", got)
	}
}

func TestReadRejectsInvalidReviews(t *testing.T) {
	for _, tc := range []struct{ name, in, wantErr string }{
		{"invalid JSON", `{`, "is not JSON, or has a duplicate field"},
		{"a duplicate field", strings.Replace(asked, `"uid":"u1"`, `"uid":"u1","uid":"u2"`, 1), "is not JSON, or has a duplicate field"},
		{"a duplicate field of an object", strings.Replace(asked, `"image":"main:1"`, `"image":"main:1","image":"x"`, 1), "has a duplicate field"},
		{"another kind", `{"kind":"Pod","apiVersion":"v1"}`, `kind is "Pod", want AdmissionReview`},
		{"an old version", strings.Replace(asked, "k8s.io/v1", "k8s.io/v1beta1", 1), "set admissionReviewVersions: [v1]"},
		{"a review without a request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, "request is missing"},
		{"a misspelled request", strings.Replace(asked, `"request"`, `"Request"`, 1), "request is missing"},
		{"a request without a uid", strings.Replace(asked, `"uid":"u1"`, `"UID":"u1"`, 1), "request.uid is missing"},
		{"a request with a field of the wrong type", strings.Replace(asked, `"name":"web"`, `"name":1`, 1), "admission review: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := admission.Read(strings.NewReader(tc.in), nil); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s", err, tc.wantErr)
			}
		})
	}
	_, err := admission.Read(strings.NewReader(asked), &wire.Limits{ObjectBytes: 100})
	if _, ok := errors.AsType[*wire.TooLargeError](err); !ok {
		t.Errorf("Read of a review above the limit = %v, want a TooLargeError", err)
	}
}

func TestReadBoundsTheValuesOfAReview(t *testing.T) {
	large := strings.Replace(asked, `"extra":{`, `"extra":{"x":[`+strings.Repeat("null,", 800_000)+`null],`, 1)
	_, err := admission.Read(strings.NewReader(large), nil)
	if big, ok := errors.AsType[*wire.TooLargeError](err); !ok || big.LimitValues == 0 {
		t.Errorf("Read of a review of too many values = %v, want a TooLargeError with LimitValues", err)
	}
	containers := strings.Repeat(`{},`, 800_000)
	object := strings.Replace(strings.Replace(asked, `"containers":[`, `"containers":[`+containers, 1), `"oldObject":null`, `"oldObject":`+pod, 1)
	if req, err := admission.Read(strings.NewReader(object), nil); err != nil || req.Object.Len() < len(containers) {
		t.Errorf("Read of a review of a large object = %v", err)
	}
}

func TestEncodeWritesTheResponse(t *testing.T) {
	failure := func(code int32, reason metav1.StatusReason, message string) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{UID: "u1", Result: &metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: message}}
	}
	warned := admission.Allowed()
	warned.Warnings, warned.AuditAnnotations = []string{"old"}, map[string]string{"why": "because"}
	for _, tc := range []struct {
		name string
		resp *admission.Response
		want *admissionv1.AdmissionResponse
	}{
		{"allowed", admission.Allowed(), &admissionv1.AdmissionResponse{UID: "u1", Allowed: true}},
		{"allowed with a warning", warned, &admissionv1.AdmissionResponse{
			UID: "u1", Allowed: true, Warnings: []string{"old"}, AuditAnnotations: map[string]string{"why": "because"},
		}},
		{"denied", admission.Denied("no team"), failure(403, metav1.StatusReasonForbidden, "no team")},
		{"an error", admission.Errored(errors.New("lost")), failure(500, metav1.StatusReasonInternalError, "lost")},
		{
			"an error of a server", admission.Errored(fmt.Errorf("get quota: %w", &core.StatusError{
				Status: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: "no quota"},
			})),
			failure(404, metav1.StatusReasonNotFound, "get quota: not found: server said: no quota"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := answer(t, tc.resp)
			if tc.want.Result != nil {
				want := *tc.want.Result
				if diff := cmp.Diff(want, *got.Result); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Encode (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEncodeRejectsInvalidResponses(t *testing.T) {
	op := []request.Op{{Op: "remove", Path: "/a"}}
	for _, tc := range []struct {
		name    string
		resp    *admission.Response
		wantErr string
	}{
		{"a patch of a denied request", &admission.Response{Patch: op}, "has a Patch, but is not allowed"},
		{"a status of an allowed request", &admission.Response{Allowed: true, Status: &metav1.Status{Status: "Failure"}}, "is allowed, but has a Status"},
		{"an annotation with a prefix", &admission.Response{Allowed: true, AuditAnnotations: map[string]string{"a/b": ""}}, `AuditAnnotations: "a/b" must be`},
		{"an annotation that ends with a dot", &admission.Response{Allowed: true, AuditAnnotations: map[string]string{"a.": ""}}, `"a." must be`},
		{"a long annotation", &admission.Response{Allowed: true, AuditAnnotations: map[string]string{strings.Repeat("a", 64): ""}}, `must be 1 to 63`},
		{"a patch that can't be encoded", &admission.Response{Allowed: true, Patch: []request.Op{{Op: "add", Path: "/a", Value: func() {}}}}, "Patch: patch: "},
		{"an unknown operation", &admission.Response{Allowed: true, Patch: []request.Op{{Op: "set", Path: "/a"}}}, `Patch: patch operation 0: "set" is not valid`},
		{"an operation without its value", &admission.Response{Allowed: true, Patch: []request.Op{op[0], {Op: "add", Path: "/a"}}}, "Patch: patch operation 1: add needs a Value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := tc.resp.Encode(read(t, asked)); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %s", err, tc.wantErr)
			}
		})
	}
}

func TestPatchedReturnsTheDifference(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string // how the patch changes the JSON of the pod: old => new
	}{
		{"nothing", func(*corev1.Pod) {}, ""},
		{"a field", func(p *corev1.Pod) { p.Spec.Containers[1].Image = "main:2" }, `main:1 => main:2`},
		{"a label", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, `"name":"web", => "labels":{"a":"b"},"name":"web",`},
		{
			"a new first container",
			func(p *corev1.Pod) {
				p.Spec.Containers = append([]corev1.Container{{Name: "new", Image: "new:1"}}, p.Spec.Containers...)
			},
			`"containers":[ => "containers":[{"image":"new:1","name":"new","resources":{}},`,
		},
		{
			"a removed container", func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[1:] },
			`{"name":"side","image":"side:1","future":[1]}, => `,
		},
		{
			"a field of a missing object",
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "c"}}
			},
			`"future":[1] => "future":[1],"resources":{"claims":[{"name":"c"}]}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := read(t, asked)
			obj := new(corev1.Pod)
			if err := req.Object.Decode(obj); err != nil {
				t.Fatal(err)
			}
			tc.change(obj)
			resp := admission.Patched(req, obj)
			if !resp.Allowed || (len(resp.Patch) == 0) != (tc.want == "") {
				t.Fatalf("Patched = %+v", resp)
			}
			got, err := patchtest.ApplyJSON(pod, resp.Patch)
			if err != nil {
				t.Fatal(err)
			}
			old, changed, _ := strings.Cut(tc.want, " => ")
			if left, err := patch.DiffJSON(strings.Replace(pod, old, changed, 1), got, nil); err != nil || len(left) > 0 {
				t.Errorf("error %v; the patched pod is %s, which differs by %v", err, got, left)
			}
		})
	}
}

// The server receives the patch as base64, not as JSON.
func TestPatchOnTheWire(t *testing.T) {
	req := read(t, asked)
	obj := new(unstructured.Unstructured)
	if err := req.Object.Decode(obj); err != nil {
		t.Fatal(err)
	}
	obj.SetLabels(map[string]string{"a": "b"})
	got := answer(t, admission.Patched(req, obj))
	if want := `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`; string(got.Patch) != want || *got.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("the patch is %s of type %v, want %s", got.Patch, got.PatchType, want)
	}
}

func TestPatchedRejectsInvalidObjects(t *testing.T) {
	gone := read(t, strings.Replace(strings.Replace(asked, `"object":`, `"oldObject":`, 1), `"oldObject":null,`, "", 1))
	if resp := admission.Patched(gone, new(corev1.Pod)); resp.Allowed || !strings.Contains(resp.Status.Message, "has no object to change") {
		t.Errorf("Patched without an object = %+v", resp)
	}
	strange := read(t, strings.Replace(asked, `"containers":[`, `"containers":[1,`, 1))
	if resp := admission.Patched(strange, new(corev1.Pod)); resp.Allowed || !strings.Contains(resp.Status.Message, "decode the object") {
		t.Errorf("Patched of an object that is not a pod = %+v", resp)
	}
	if resp := admission.Patched(read(t, asked), (*corev1.Pod)(nil)); resp.Allowed || !strings.Contains(resp.Status.Message, "is nil") {
		t.Errorf("Patched with nil = %+v", resp)
	}
}

// FuzzRead checks that Read does not panic, and that a patch of a decoded review is correct.
func FuzzRead(f *testing.F) {
	f.Add(asked)
	f.Add(strings.Replace(asked, `"object":`, `"object":null,"x":`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		req, err := admission.Read(strings.NewReader(text), nil)
		if err != nil {
			return // not a review
		}
		obj := new(corev1.Pod)
		if req.Object.Len() == 0 || req.Object.Decode(obj) != nil {
			return // not a pod
		}
		obj.Annotations = map[string]string{"seen": "yes"}
		resp := admission.Patched(req, obj)
		if !resp.Allowed {
			t.Fatal(resp.Status.Message)
		}
		if _, err := patchtest.ApplyJSON(req.Object.Bytes(), resp.Patch); err != nil {
			t.Errorf("the patch of %s does not apply: %v", req.Object.Bytes(), err)
		}
		if _, err := resp.Encode(req); err != nil {
			t.Error(err)
		}
	})
}
