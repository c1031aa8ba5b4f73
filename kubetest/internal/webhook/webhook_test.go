// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-go/sdk/kubetest/internal/webhook"
)

// hooks returns the webhooks of a configuration with one, whose fields can be replaced.
func hooks(t *testing.T, fields map[string]any) []*webhook.Hook {
	t.Helper()
	hook := map[string]any{
		"name": "a.example.com", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail", "matchPolicy": "Exact",
		"timeoutSeconds": int64(10), "reinvocationPolicy": "Never", "sideEffects": "None",
		"namespaceSelector": map[string]any{}, "objectSelector": map[string]any{},
		"clientConfig": map[string]any{"service": map[string]any{
			"namespace": "shop", "name": "hooks", "path": "a", "port": int64(8443),
		}},
		"rules": []any{map[string]any{
			"operations": []any{"*"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
			"scope": "*",
		}},
	}
	maps.Copy(hook, fields)
	all, err := webhook.Hooks([]*unstructured.Unstructured{{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": map[string]any{"name": "a"}, "webhooks": []any{hook},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// newRequest returns the request that creates a config map.
func newRequest() *webhook.Request {
	same := func(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) { return obj, nil }
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"color": "blue"}}}
	obj.SetGroupVersionKind(gvk)
	return &webhook.Request{
		Operation: admissionv1.Create, Namespace: "shop", Name: "a", Object: obj,
		Versions: []webhook.Version{{
			Kind: gvk, Resource: gvk.GroupVersion().WithResource("configmaps"), Convert: same, Complete: same,
		}},
	}
}

// answer returns a handler that answers each review with a JSON text, in which $uid is the UID of the review.
func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "$uid", string(review.Request.UID)))
	}
}

// response returns the JSON of a review with the fields of a response.
func response(fields string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$uid",` + fields + `}}`
}

// removal has the patch [{"op":"remove","path":"/x"}].
const removal = `"allowed":true,"patch":"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL3gifV0=","patchType":"JSONPatch"`

func TestWrongAnswersAreErrors(t *testing.T) {
	const failed = `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: `
	const invalid = "received invalid webhook response: "
	const at = "POST https://hooks.shop.svc:8443/a?timeout=10s: "
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		fields  map[string]any
		want    string
	}{
		"a code": {handler: http.NotFound, want: failed + at + "the response has the code 404: 404 page not found"},
		"a panic": {
			handler: func(http.ResponseWriter, *http.Request) { panic("broken") },
			want:    failed + at + "the handler has panicked: broken",
		},
		"no JSON":      {handler: answer("ok"), want: failed + at + "the response is not a review: "},
		"no response":  {handler: answer(`{}`), want: failed + invalid + "webhook response was absent"},
		"another UID":  {handler: answer(`{"response":{"uid":"x"}}`), want: `got "x"`},
		"another kind": {handler: answer(`{"kind":"Pod","response":{"uid":"$uid"}}`), want: "got /, Kind=Pod"},
		"no patch type": {
			handler: answer(response(`"allowed":true,"patch":"W10="`)),
			want:    invalid + "webhook returned response.patch but not response.patchType",
		},
		"no patch": {
			handler: answer(response(`"allowed":true,"patchType":"JSONPatch"`)),
			want:    invalid + "webhook returned response.patchType but not response.patch",
		},
		"another type of patch": {
			handler: answer(response(`"allowed":true,"patch":"W10=","patchType":"Merge"`)),
			want:    `unsupported patch type "Merge"`,
		},
		"a broken patch": {
			handler: answer(response(`"allowed":true,"patch":"W1==","patchType":"JSONPatch"`)),
			want:    "received undecodable patch in webhook response",
		},
		"a patch that does not apply": {
			handler: answer(response(removal)),
			want:    "Unable to remove nonexistent key: x",
		},
		"another version of reviews": {
			handler: answer(""), fields: map[string]any{"admissionReviewVersions": []any{"v1beta1"}},
			want: `admissionReviewVersions are ["v1beta1"], and kubetest sends reviews of v1`,
		},
		"conditions": {
			handler: answer(""),
			fields:  map[string]any{"matchConditions": []any{map[string]any{"name": "a", "expression": "true"}}},
			want:    "has matchConditions, which kubetest does not have: use a real cluster",
		},
		"no address": {
			handler: answer(""), fields: map[string]any{"clientConfig": map[string]any{}},
			want: "its clientConfig has neither a service nor a url",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRequest()
			err := webhook.Mutate(t.Context(), tt.handler, hooks(t, tt.fields), r, func(string) {})
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Mutate = %v, want %q", err, tt.want)
			}
			if color, _, _ := unstructured.NestedString(r.Object.Object, "data", "color"); color != "blue" {
				t.Errorf("the object is %v, want it unchanged", r.Object)
			}
		})
	}
}

func TestPatchIsOnlyForMutatingHooks(t *testing.T) {
	h := answer(response(`"allowed":true,"patch":"W10=","patchType":"JSONPatch"`))
	err := webhook.Validate(t.Context(), h, hooks(t, nil), newRequest(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "validating webhook may not return response.patch") {
		t.Errorf("Validate = %v", err)
	}
}

func TestDeletionHasNothingToPatch(t *testing.T) {
	h := answer(response(removal))
	r := newRequest()
	r.Operation, r.Old, r.Object = admissionv1.Delete, r.Object, nil
	err := webhook.Mutate(t.Context(), h, hooks(t, nil), r, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "attempted to modify the object, which is not supported") {
		t.Errorf("Mutate = %v", err)
	}
}

func TestSlowHookFailsAfterItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		err := webhook.Mutate(t.Context(), h, hooks(t, nil), newRequest(), func(string) {})
		if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") || time.Since(start) != 10*time.Second {
			t.Errorf("Mutate = %v after %s, want a failure after 10 s", err, time.Since(start))
		}
	})
}

func TestWrongConversionsAreErrors(t *testing.T) {
	review := func(fields string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"$uid",` + fields + `}}`
	}
	converted := func(object string) string {
		return review(`"result":{"status":"Success"},"convertedObjects":[` + object + `]`)
	}
	for name, tt := range map[string]struct{ answer, want string }{
		"another kind": {`{"kind":"Pod"}`, "is a Pod of , and not a ConversionReview of apiextensions.k8s.io/v1"},
		"no response":  {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, "the review has no response"},
		"another UID":  {strings.ReplaceAll(review(`"result":{}`), "$uid", "x"), `the response has the uid "x"`},
		"a failure":    {review(`"result":{"status":"Failure","message":"too old"}`), "too old"},
		"no object":    {review(`"result":{"status":"Success"}`), "the response has 0 objects for one of the request"},
		"another version": {
			converted(`{"apiVersion":"v1","kind":"Gear","metadata":{"name":"a"}}`),
			"the response has a Gear of v1, and not a Gear of example.com/v2",
		},
		"another name": {
			converted(`{"apiVersion":"example.com/v2","kind":"Gear","metadata":{"name":"b"}}`),
			"another name, namespace or uid in metadata",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := webhook.NewConverter(answer(tt.answer), map[string]any{
				"clientConfig": map[string]any{"url": "https://localhost/convert"}, "conversionReviewVersions": []any{"v1"},
			})
			if err != nil {
				t.Fatal(err)
			}
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Gear", "metadata": map[string]any{"name": "a"},
			}}
			if _, err := c.Convert(obj, "example.com/v2"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Convert = %v, want %q", err, tt.want)
			}
		})
	}
}
