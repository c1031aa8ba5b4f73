// Copyright The kube authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
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
			"operations": []any{"*"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"*"},
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

// respond returns a handler that responds to each review with JSON, in which $uid is the UID of the review.
func respond(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "$uid", string(review.Request.UID)))
	}
}

// response returns the JSON of a review with the fields of a response.
func response(fields string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$uid",` + fields + `}}`
}

// removal has the patch [{"op":"remove","path":"/x"}].
const removal = `"allowed":true,"patch":"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL3gifV0=","patchType":"JSONPatch"`

func TestInvalidResponsesAreErrors(t *testing.T) {
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
		"no JSON":      {handler: respond("ok"), want: failed + at + "the response is not a review: "},
		"no response":  {handler: respond(`{}`), want: failed + invalid + "webhook response was absent"},
		"another UID":  {handler: respond(`{"response":{"uid":"x"}}`), want: `got "x"`},
		"another kind": {handler: respond(`{"kind":"Pod","response":{"uid":"$uid"}}`), want: "got /, Kind=Pod"},
		"a field in the wrong case": {
			handler: respond(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","Response":{"uid":"$uid"}}`),
			want:    invalid + "webhook response was absent",
		},
		"no patch type": {
			handler: respond(response(`"allowed":true,"patch":"W10="`)),
			want:    invalid + "webhook returned response.patch but not response.patchType",
		},
		"no patch": {
			handler: respond(response(`"allowed":true,"patchType":"JSONPatch"`)),
			want:    invalid + "webhook returned response.patchType but not response.patch",
		},
		"another type of patch": {
			handler: respond(response(`"allowed":true,"patch":"W10=","patchType":"Merge"`)),
			want:    `unsupported patch type "Merge"`,
		},
		"a broken patch": {
			handler: respond(response(`"allowed":true,"patch":"W1==","patchType":"JSONPatch"`)),
			want:    "received undecodable patch in webhook response",
		},
		"a patch that does not apply": {
			handler: respond(response(removal)),
			want:    "Unable to remove nonexistent key: x",
		},
		"another version of reviews": {
			handler: respond(""), fields: map[string]any{"admissionReviewVersions": []any{"v1beta1"}},
			want: `admissionReviewVersions are ["v1beta1"], and kubetest sends reviews of v1`,
		},
		"conditions": {
			handler: respond(""),
			fields:  map[string]any{"matchConditions": []any{map[string]any{"name": "a", "expression": "true"}}},
			want:    "has matchConditions, which kubetest does not have: use a real cluster",
		},
		"no address": {
			handler: respond(""), fields: map[string]any{"clientConfig": map[string]any{}},
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
	h := respond(response(`"allowed":true,"patch":"W10=","patchType":"JSONPatch"`))
	err := webhook.Validate(t.Context(), h, hooks(t, nil), newRequest(), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "validating webhook may not return response.patch") {
		t.Errorf("Validate = %v", err)
	}
}

func TestDeletionHasNothingToPatch(t *testing.T) {
	h := respond(response(removal))
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

func TestRequestOfAClientThatHasGoneFails(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() })
	fields := map[string]any{"failurePolicy": "Ignore"}
	err := webhook.Mutate(ctx, h, hooks(t, fields), newRequest(), func(string) {})
	if !apierrors.IsTimeout(err) {
		t.Errorf("Mutate = %v, want a timeout", err)
	}
}

func TestNamespaceWithoutNameIsSelectedByItsLabels(t *testing.T) {
	r := newRequest()
	r.Namespace, r.Name = "", ""
	r.Versions[0].Resource.Resource = "namespaces"
	called := errors.New("the webhook is called")
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(called) })
	fields := map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"shop": "yes"}}}
	if err := webhook.Mutate(t.Context(), h, hooks(t, fields), r, func(string) {}); err != nil {
		t.Errorf("without the label: %v", err)
	}
	r.Object.SetLabels(map[string]string{"shop": "yes"})
	err := webhook.Mutate(t.Context(), h, hooks(t, fields), r, func(string) {})
	if err == nil || !strings.Contains(err.Error(), called.Error()) {
		t.Errorf("with the label, Mutate = %v, want %q", err, called)
	}
}

func TestInvalidConversionsAreErrors(t *testing.T) {
	review := func(fields string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"$uid",` + fields + `}}`
	}
	converted := func(object string) string {
		return review(`"result":{"status":"Success"},"convertedObjects":[` + object + `]`)
	}
	for name, tt := range map[string]struct{ body, want string }{
		"another kind": {`{"kind":"Pod"}`, "is a Pod of , and not a ConversionReview of apiextensions.k8s.io/v1"},
		"no response":  {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, "the review has no response"},
		"another UID":  {strings.ReplaceAll(review(`"result":{}`), "$uid", "x"), `the response has the uid "x"`},
		"a failure":    {review(`"result":{"status":"Failure","message":"too old"}`), "too old"},
		"a failure without a message": {
			review(`"result":{"status":"Failure"}`), `response.result.status is "Failure", and not "Success"`,
		},
		"no object": {review(`"result":{"status":"Success"}`), "the response has 0 objects for one of the request"},
		"another version": {
			converted(`{"apiVersion":"v1","kind":"Gear","metadata":{"name":"a"}}`),
			"the response has a Gear of v1, and not a Gear of example.com/v2",
		},
		"a label that is a number": {
			converted(`{"apiVersion":"example.com/v2","kind":"Gear","metadata":{"name":"a","labels":{"size":1}}}`),
			"metadata.labels",
		},
		"another name": {
			converted(`{"apiVersion":"example.com/v2","kind":"Gear","metadata":{"name":"b"}}`),
			"another name, namespace or uid in metadata",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := webhook.NewConverter(respond(tt.body), map[string]any{
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
